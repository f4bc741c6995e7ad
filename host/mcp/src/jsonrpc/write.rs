//! From a message to its text: the envelope is written around values that are only borrowed.

use portcullis_model::json::{Object, Value, write_string};

use super::{ErrorObject, Id};

/// What the envelope changes in the parameters of a request or in a result: names, tokens and era fields, nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rewrite<'a> {
    /// Members of the parameters that are set, or left out where there is no value: in their place where they exist, else
    /// at the end.
    pub members: &'a [(&'a str, Option<&'a Value>)],
    /// Members of `_meta` that are set, or left out where there is no value. Where any is set, a `_meta` that is no object
    /// gives way.
    pub meta: &'a [(&'a str, Option<&'a Value>)],
}

impl Rewrite<'_> {
    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.meta.is_empty()
    }

    fn sets_members(&self) -> bool {
        self.members.iter().any(|(_, value)| value.is_some())
    }

    fn sets_meta(&self) -> bool {
        self.meta.iter().any(|(_, value)| value.is_some())
    }
}

/// Appends a request.
pub fn write_request(buffer: &mut Vec<u8>, id: &Id, method: &str, params: Option<&Value>, rewrite: Rewrite<'_>) {
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.append(buffer);
    append_method(buffer, method, params, rewrite);
}

/// Appends a notification.
pub fn write_notification(buffer: &mut Vec<u8>, method: &str, params: Option<&Value>) {
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    append_method(buffer, method, params, Rewrite::default());
}

/// Appends a response with a result.
pub fn write_result(buffer: &mut Vec<u8>, id: &Id, result: &Value) {
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.append(buffer);
    buffer.extend_from_slice(b",\"result\":");
    result.write_to(buffer);
    buffer.push(b'}');
}

/// Appends a response with a result whose members are rewritten: those of the era. A result that is no object stays as it
/// is.
pub fn write_result_with(buffer: &mut Vec<u8>, id: &Id, result: &Value, rewrite: Rewrite<'_>) {
    let Value::Object(members) = result else {
        return write_result(buffer, id, result);
    };
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.append(buffer);
    buffer.extend_from_slice(b",\"result\":");
    append_params(members, rewrite, buffer);
    buffer.push(b'}');
}

/// Appends a response with an error. Without an id it says that the request could not be read: `"id":null`.
pub fn write_error(buffer: &mut Vec<u8>, id: Option<&Id>, error: &ErrorObject) {
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    match id {
        Some(id) => id.append(buffer),
        None => buffer.extend_from_slice(b"null"),
    }
    buffer.extend_from_slice(b",\"error\":");
    error.append(buffer);
    buffer.push(b'}');
}

fn append_method(buffer: &mut Vec<u8>, method: &str, params: Option<&Value>, rewrite: Rewrite<'_>) {
    buffer.extend_from_slice(b",\"method\":");
    write_string(method, buffer);
    match params {
        None if !rewrite.sets_members() && !rewrite.sets_meta() => {}
        None => {
            buffer.extend_from_slice(b",\"params\":");
            append_params(&Object::new(), rewrite, buffer);
        }
        Some(Value::Object(params)) if !rewrite.is_empty() => {
            buffer.extend_from_slice(b",\"params\":");
            append_params(params, rewrite, buffer);
        }
        Some(params) => {
            buffer.extend_from_slice(b",\"params\":");
            params.write_to(buffer);
        }
    }
    buffer.push(b'}');
}

pub(super) fn append_object<'a>(members: impl Iterator<Item = (&'a str, &'a Value)>, buffer: &mut Vec<u8>) {
    let mut writer = ObjectWriter::open(buffer);
    members.for_each(|(key, value)| writer.member(key, value));
    writer.close();
}

fn append_params(params: &Object, rewrite: Rewrite<'_>, buffer: &mut Vec<u8>) {
    let mut writer = ObjectWriter::open(buffer);
    let mut has_meta = false;
    let empty = Object::new();
    for (key, value) in params.iter() {
        let replaced = rewrite.members.iter().find(|(name, _)| *name == key);
        match (replaced, value) {
            (Some((_, Some(replacement))), _) => writer.member(key, replacement),
            (Some((_, None)), _) => {}
            (None, Value::Object(meta)) if key == "_meta" && !rewrite.meta.is_empty() => {
                append_meta(&mut writer, meta, rewrite.meta);
            }
            (None, _) if key == "_meta" && rewrite.sets_meta() => append_meta(&mut writer, &empty, rewrite.meta),
            (None, _) => writer.member(key, value),
        }
        has_meta |= key == "_meta";
    }
    for (key, value) in rewrite.members.iter().filter(|(key, _)| !params.contains_key(key)) {
        if let Some(value) = value {
            writer.member(key, value);
        }
    }
    if !has_meta && rewrite.sets_meta() {
        append_meta(&mut writer, &empty, rewrite.meta);
    }
    writer.close();
}

fn append_meta(writer: &mut ObjectWriter<'_>, meta: &Object, changes: &[(&str, Option<&Value>)]) {
    let kept = meta.iter().filter(|(key, _)| !changes.iter().any(|(name, _)| name == key));
    let set = changes.iter().filter_map(|(key, value)| value.map(|value| (*key, value)));
    let mut members = kept.chain(set).peekable();
    // Where only a token was there and it is left out, an empty `_meta` would be an invention.
    if members.peek().is_some() || meta.is_empty() {
        writer.key("_meta");
        append_object(members, writer.buffer);
    }
}

struct ObjectWriter<'a> {
    buffer: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> ObjectWriter<'a> {
    fn open(buffer: &'a mut Vec<u8>) -> Self {
        buffer.push(b'{');
        Self { buffer, first: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.first) {
            self.buffer.push(b',');
        }
        write_string(key, self.buffer);
        self.buffer.push(b':');
    }

    fn member(&mut self, key: &str, value: &Value) {
        self.key(key);
        value.write_to(self.buffer);
    }

    fn close(self) {
        self.buffer.push(b'}');
    }
}
