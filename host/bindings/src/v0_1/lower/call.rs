use portcullis_model::{CallKind, CallSubject};

use super::LEFT_OUT;
use crate::v0_1::generated::exports::portcullis::policy::call_gate;
use crate::v0_1::generated::portcullis::policy::types;

/// A call with what the guest's view borrows.
pub(crate) struct Call<'a> {
    subject: &'a CallSubject,
    arguments: String,
    definition: String,
    segments: Vec<types::Segment<'a>>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(subject: &'a CallSubject, payload: bool) -> Self {
        Self {
            subject,
            arguments: if payload { subject.arguments.to_json() } else { LEFT_OUT.to_owned() },
            definition: subject.definition.map(|digest| digest.to_string()).unwrap_or_default(),
            segments: if payload { super::segments(&subject.segments) } else { Vec::new() },
        }
    }

    pub(crate) fn view(&self) -> call_gate::Call<'_> {
        call_gate::Call {
            server: self.subject.server.as_str(),
            kind: match self.subject.kind {
                CallKind::Tool => call_gate::Kind::Tool,
                CallKind::Prompt => call_gate::Kind::Prompt,
                CallKind::Resource => call_gate::Kind::Resource,
                CallKind::Completion => call_gate::Kind::Completion,
            },
            name: &self.subject.name,
            utility: self.subject.utility,
            annotations: super::annotations(&self.subject.annotations),
            pin: super::pin(self.subject.pin),
            definition: &self.definition,
            arguments: &self.arguments,
            segments: &self.segments,
        }
    }
}
