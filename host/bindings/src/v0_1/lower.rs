//! From the vocabulary of the host to what a guest is called with. Texts are borrowed all the way: they are copied
//! once, into the guest's memory.

mod call;
mod entry;
mod facts;
mod listing;
mod request;
mod result;

use portcullis_model::{Annotations, PinState, Role, Segment};

pub(crate) use call::Call;
pub(crate) use entry::Entry;
pub(crate) use facts::Facts;
pub(crate) use listing::Batch;
pub(crate) use request::Request;
pub(crate) use result::Shown;

use crate::v0_1::generated::portcullis::policy::types;

/// What stands for a document that a policy does not need.
const LEFT_OUT: &str = "null";

fn role(role: Role) -> types::Role {
    match role {
        Role::Name => types::Role::Name,
        Role::Title => types::Role::Title,
        Role::Description => types::Role::Description,
        Role::Schema => types::Role::Schema,
        Role::Annotation => types::Role::Annotation,
        Role::Instructions => types::Role::Instructions,
        Role::Argument => types::Role::Argument,
        Role::Text => types::Role::Text,
        Role::Structured => types::Role::Structured,
        Role::Meta => types::Role::Meta,
        Role::Error => types::Role::Error,
        Role::Uri => types::Role::Uri,
        Role::Log => types::Role::Log,
        Role::Entry => types::Role::Entry,
        Role::Other => types::Role::Other,
    }
}

fn segments(segments: &[Segment]) -> Vec<types::Segment<'_>> {
    segments
        .iter()
        .map(|segment| types::Segment {
            pointer: &segment.pointer,
            role: role(segment.role),
            key: segment.key,
            text: &segment.text,
        })
        .collect()
}

fn annotations(annotations: &Annotations) -> types::Annotations<'_> {
    types::Annotations {
        title: annotations.title.as_deref(),
        read_only: annotations.read_only,
        destructive: annotations.destructive,
        idempotent: annotations.idempotent,
        open_world: annotations.open_world,
    }
}

fn pin(pin: PinState) -> types::PinState {
    match pin {
        PinState::Unpinned => types::PinState::Unpinned,
        PinState::Approved => types::PinState::Approved,
        PinState::Drifted => types::PinState::Drifted,
    }
}
