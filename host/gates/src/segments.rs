//! From a payload to the subject that policies judge: every string that the model may see, with its place and role.

pub(crate) mod binary;
pub(crate) mod definition;
pub(crate) mod place;
pub(crate) mod walk;
mod words;

use std::sync::Arc;

use portcullis_model::json::{Object, Value};
use portcullis_model::{
    CallKind, CallSubject, ConfigSubject, EnvironmentSubject, ItemKind, Offered, Platform, RequestSubject, ResultKind,
    ResultSubject, Role, Subject,
};

use crate::{Call, Environment, Launching, ServerMessage, ServerRequest};
pub(crate) use place::Place;
pub(crate) use walk::{Collected, TooLarge, collect, collect_whole};

/// A subject, and what is needed to write edits of it back into the document.
#[derive(Debug)]
pub(crate) struct Segmented {
    /// What policies judge.
    pub(crate) subject: Subject,
    /// Indices of the segments that are base64 in the document.
    pub(crate) encoded: Vec<usize>,
}

impl Segmented {
    fn plain(subject: Subject) -> Self {
        Self { subject, encoded: Vec::new() }
    }
}

/// Builds the subject of the config gate.
pub(crate) fn launching(launching: &Launching) -> Result<Segmented, TooLarge> {
    let collected = collect(&launching.entry.document, Place::Free(Role::Entry))?;
    Ok(Segmented::plain(Subject::Config(ConfigSubject {
        entry: Arc::clone(&launching.entry),
        occasion: launching.occasion,
        segments: collected.segments,
    })))
}

/// Builds the subject of the environment gate: names only.
pub(crate) fn environment(environment: &Environment) -> Result<Segmented, TooLarge> {
    let collected = collect(&environment.entry.document, Place::Free(Role::Entry))?;
    let offered = environment
        .variables
        .iter()
        .map(|(name, _)| Offered { name: name.clone(), tagged: environment.tagged.contains(name) })
        .collect();
    Ok(Segmented::plain(Subject::Environment(EnvironmentSubject {
        config: ConfigSubject {
            entry: Arc::clone(&environment.entry),
            occasion: portcullis_model::Occasion::Start,
            segments: collected.segments,
        },
        platform: Platform::current(),
        offered,
    })))
}

/// Builds the subject of the call gate.
pub(crate) fn call(call: &Call) -> Result<Segmented, TooLarge> {
    let arguments = arguments(call.kind, &call.params);
    let place = match call.kind {
        CallKind::Tool | CallKind::Prompt => Place::Free(Role::Argument),
        CallKind::Resource => Place::Reading,
        CallKind::Completion => Place::Completing,
    };
    let collected = collect_whole(&arguments, place)?;
    Ok(Segmented::plain(Subject::Call(CallSubject {
        server: call.server.clone(),
        kind: call.kind,
        name: call.name.clone(),
        utility: call.utility,
        annotations: call.annotations.clone(),
        pin: call.pin,
        definition: call.definition,
        arguments,
        segments: collected.segments,
    })))
}

/// Returns what a kind of call counts as its arguments: `arguments` of a tool or prompt, the whole of a resource or
/// completion, `_meta` left out. An empty object where there are none.
pub(crate) fn arguments(kind: CallKind, params: &Value) -> Value {
    match kind {
        CallKind::Tool | CallKind::Prompt => {
            params.get("arguments").cloned().unwrap_or_else(|| Value::Object(Object::new()))
        }
        CallKind::Resource | CallKind::Completion => {
            let mut whole = params.clone();
            if let Some(object) = whole.as_object_mut() {
                object.remove("_meta");
            }
            whole
        }
    }
}

/// Returns where the document of a message stands.
pub(crate) fn message_place(kind: ResultKind) -> Place {
    match kind {
        ResultKind::Result => Place::Result,
        ResultKind::Error => Place::Error,
        ResultKind::Progress => Place::Progress,
        ResultKind::Log => Place::Log,
        ResultKind::Stderr => Place::Free(Role::Log),
    }
}

/// Builds the subject of the result gate.
pub(crate) fn message(message: &ServerMessage) -> Result<Segmented, TooLarge> {
    let Collected { segments, descriptors, encoded, size: _ } =
        collect(&message.document, message_place(message.kind))?;
    // Of a task that ended it is its result that says so.
    let says_error = |pointer: &str| message.document.pointer(pointer).and_then(Value::as_bool) == Some(true);
    let is_error = message.kind == ResultKind::Error || says_error("/isError") || says_error("/result/isError");
    let subject = Subject::Result(ResultSubject {
        server: message.server.clone(),
        kind: message.kind,
        name: message.name.clone(),
        is_error,
        segments,
        descriptors,
    });
    Ok(Segmented { subject, encoded })
}

/// Builds the subject of the request gate. A binary in its document is replaced by its digest: a policy can do nothing
/// with an image but wait for it to be copied.
pub(crate) fn request(request: &ServerRequest) -> Result<Segmented, TooLarge> {
    let Collected { segments, encoded, descriptors, size: _ } = collect_whole(&request.document, Place::Request)?;
    let mut document = request.document.clone();
    for descriptor in descriptors {
        if let Some(place) = document.pointer_mut(&descriptor.pointer) {
            *place = Value::from(format!("sha256:{}", descriptor.digest));
        }
    }
    let subject = Subject::Request(RequestSubject {
        server: request.server.clone(),
        kind: request.kind.clone(),
        document,
        segments,
    });
    Ok(Segmented { subject, encoded })
}

/// Returns where the document of a listed item stands.
pub(crate) fn item_place(kind: ItemKind) -> Place {
    match kind {
        ItemKind::Tool | ItemKind::Prompt | ItemKind::Resource | ItemKind::ResourceTemplate => Place::Item,
        ItemKind::Instructions => Place::Free(Role::Instructions),
    }
}

#[cfg(test)]
mod tests;
