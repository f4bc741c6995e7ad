use portcullis_model::{ResultKind, ResultSubject};

use crate::v0_1::generated::exports::portcullis::policy::result_gate;
use crate::v0_1::generated::portcullis::policy::types;

/// Something on its way to the model with what the guest's view borrows.
pub(crate) struct Shown<'a> {
    subject: &'a ResultSubject,
    segments: Vec<types::Segment<'a>>,
    digests: Vec<String>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(subject: &'a ResultSubject, payload: bool) -> Self {
        Self {
            subject,
            segments: if payload { super::segments(&subject.segments) } else { Vec::new() },
            digests: subject.descriptors.iter().map(|descriptor| descriptor.digest.to_string()).collect(),
        }
    }

    pub(crate) fn descriptors(&self) -> Vec<types::Descriptor<'_>> {
        self.subject
            .descriptors
            .iter()
            .zip(&self.digests)
            .map(|(descriptor, digest)| types::Descriptor {
                pointer: &descriptor.pointer,
                mime: &descriptor.mime,
                length: descriptor.length,
                digest,
            })
            .collect()
    }

    pub(crate) fn view<'b>(&'b self, descriptors: &'b [types::Descriptor<'b>]) -> result_gate::Subject<'b> {
        result_gate::Subject {
            server: self.subject.server.as_str(),
            kind: match self.subject.kind {
                ResultKind::Result => result_gate::Kind::Result,
                ResultKind::Error => result_gate::Kind::Error,
                ResultKind::Progress => result_gate::Kind::Progress,
                ResultKind::Log => result_gate::Kind::Log,
                ResultKind::Stderr => result_gate::Kind::Stderr,
            },
            name: &self.subject.name,
            is_error: self.subject.is_error,
            segments: &self.segments,
            descriptors,
        }
    }
}
