use portcullis_model::{RequestKind, RequestSubject};

use super::LEFT_OUT;
use crate::v0_1::generated::exports::portcullis::policy::request_gate::{self, FormField};
use crate::v0_1::generated::portcullis::policy::types;

/// A request of a server with what the guest's view borrows.
pub(crate) struct Request<'a> {
    subject: &'a RequestSubject,
    document: String,
    models: Vec<&'a str>,
    fields: Vec<FormField<'a>>,
    segments: Vec<types::Segment<'a>>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(subject: &'a RequestSubject, payload: bool) -> Self {
        let (models, fields) = match &subject.kind {
            RequestKind::Sampling(sampling) => (sampling.models.iter().map(String::as_str).collect(), Vec::new()),
            RequestKind::ElicitationForm(fields) => (Vec::new(), fields.iter().map(field).collect()),
            RequestKind::ElicitationUrl(_) | RequestKind::Roots => (Vec::new(), Vec::new()),
        };
        Self {
            subject,
            document: if payload { subject.document.to_json() } else { LEFT_OUT.to_owned() },
            models,
            fields,
            segments: if payload { super::segments(&subject.segments) } else { Vec::new() },
        }
    }

    pub(crate) fn view(&self) -> request_gate::Request<'_> {
        request_gate::Request {
            server: self.subject.server.as_str(),
            kind: match &self.subject.kind {
                RequestKind::Sampling(sampling) => request_gate::Kind::Sampling(request_gate::Sampling {
                    max_tokens: sampling.max_tokens,
                    models: &self.models,
                    tools: sampling.tools,
                }),
                RequestKind::ElicitationForm(_) => request_gate::Kind::ElicitationForm(&self.fields),
                RequestKind::ElicitationUrl(url) => request_gate::Kind::ElicitationUrl(url),
                RequestKind::Roots => request_gate::Kind::Roots,
            },
            document: &self.document,
            segments: &self.segments,
        }
    }
}

fn field(field: &portcullis_model::FormField) -> FormField<'_> {
    FormField {
        name: &field.name,
        title: &field.title,
        description: &field.description,
        type_: &field.kind,
        format: &field.format,
        required: field.required,
    }
}
