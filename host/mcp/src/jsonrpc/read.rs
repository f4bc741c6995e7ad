//! From a text to what it is.

use portcullis_model::json::{Object, Value, parse};

use super::{
    ErrorObject, Id, Incoming, Malformed, MalformedReason, Message, Notification, Recovery, Request, Response, Side,
};

/// Reads one text of the wire. Never fails: what cannot be read is [`Incoming::Malformed`] or [`Incoming::Noise`].
pub fn read(text: &[u8]) -> Incoming {
    match parse(text) {
        Ok(value) => classify(value),
        Err(error) => {
            let mut recovery = Recovery::default();
            recovery.feed(text);
            recovery.finish().into_incoming(MalformedReason::Text(error))
        }
    }
}

/// Tells what a value is.
pub fn classify(value: Value) -> Incoming {
    match value {
        Value::Object(object) => classify_object(object),
        Value::Array(items) => {
            // Batches do not nest, so an element that is an array is noise.
            let elements: Vec<_> = items
                .into_iter()
                .filter_map(|item| match item {
                    Value::Object(object) => Some(classify_object(object)),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
                })
                .filter(|element| *element != Incoming::Noise)
                .collect();
            if elements.is_empty() { Incoming::Noise } else { Incoming::Batch(elements) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Incoming::Noise,
    }
}

#[derive(Default)]
struct Members {
    /// True where the member is there at all: peers exist that leave it out of responses.
    jsonrpc: bool,
    id: Option<Value>,
    method: Option<Value>,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
}

fn classify_object(object: Object) -> Incoming {
    let mut members = Members::default();
    for (key, value) in object {
        match key.as_str() {
            "jsonrpc" => members.jsonrpc = true,
            "id" => members.id = Some(value),
            "method" => members.method = Some(value),
            "params" => members.params = Some(value),
            "result" => members.result = Some(value),
            // Beside a result, `"error": null` says that there is none.
            "error" => members.error = Some(value).filter(|value| !value.is_null()),
            _ => {}
        }
    }
    match members.method.take() {
        // Logs of HTTP servers have a `method` as well; a message says what it is.
        Some(_) if !members.jsonrpc => Incoming::Noise,
        Some(method) => ask(method, members),
        None => answer(members),
    }
}

fn malformed(id: Option<Id>, side: Side, reason: &'static str) -> Incoming {
    Incoming::Malformed(Malformed { id, side, reason: MalformedReason::Envelope(reason) })
}

fn ask(method: Value, members: Members) -> Incoming {
    let is_notification = members.id.is_none();
    let id = members.id.and_then(Id::from_value);
    let Value::String(method) = method else {
        return malformed(id, Side::Request, "the method is not a string");
    };
    let params = match members.params {
        None | Some(Value::Null) => None,
        Some(params @ (Value::Object(_) | Value::Array(_))) => Some(params),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            return malformed(id, Side::Request, "the parameters are neither an object nor an array");
        }
    };
    match id {
        Some(id) => Incoming::Message(Message::Request(Request { id, method, params })),
        None if is_notification => Incoming::Message(Message::Notification(Notification { method, params })),
        None => malformed(None, Side::Request, "the id is neither a number nor a string"),
    }
}

fn answer(members: Members) -> Incoming {
    let id = members.id.and_then(Id::from_value);
    match (members.result, members.error) {
        (None, None) if members.jsonrpc => malformed(id, Side::Unknown, "it has no method, no result and no error"),
        (None, None) => Incoming::Noise,
        // Logs have members of these names as well; without an id or a version there is nothing to go by.
        _ if id.is_none() && !members.jsonrpc => Incoming::Noise,
        (Some(result), Some(_)) if !result.is_null() => {
            malformed(id, Side::Response, "it has both a result and an error")
        }
        (_, Some(error)) => match (id, ErrorObject::from_value(error)) {
            (Some(id), Some(error)) => Incoming::Message(Message::Response(Response { id, outcome: Err(error) })),
            (None, Some(error)) => Incoming::Unattributed(error),
            (id, None) => malformed(id, Side::Response, "the error is no object with an integral code"),
        },
        (Some(result), None) => match id {
            Some(id) => Incoming::Message(Message::Response(Response { id, outcome: Ok(result) })),
            None => malformed(None, Side::Response, "the result has no id"),
        },
    }
}
