//! From a value to its text.

use super::{Object, Value};

pub(super) fn to_string(value: &Value) -> String {
    let mut buffer = Vec::with_capacity(128);
    append(value, &mut buffer);
    into_text(buffer)
}

pub(super) fn to_canonical(value: &Value) -> String {
    let mut buffer = Vec::with_capacity(128);
    append_canonical(value, &mut buffer);
    into_text(buffer)
}

fn into_text(buffer: Vec<u8>) -> String {
    // Only text and ASCII were appended, so the conversion cannot lose anything.
    String::from_utf8(buffer).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub(super) fn append(value: &Value, buffer: &mut Vec<u8>) {
    match value {
        Value::Object(object) => append_object(object.iter(), buffer, append),
        Value::Array(items) => append_array(items, buffer, append),
        Value::Number(number) => buffer.extend_from_slice(number.as_str().as_bytes()),
        Value::Null | Value::Bool(_) | Value::String(_) => append_scalar(value, buffer),
    }
}

fn append_canonical(value: &Value, buffer: &mut Vec<u8>) {
    match value {
        Value::Object(object) => append_object(sorted(object).into_iter(), buffer, append_canonical),
        Value::Array(items) => append_array(items, buffer, append_canonical),
        Value::Number(number) => buffer.extend_from_slice(number.canonical().as_bytes()),
        Value::Null | Value::Bool(_) | Value::String(_) => append_scalar(value, buffer),
    }
}

fn sorted(object: &Object) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    members
}

fn append_scalar(value: &Value, buffer: &mut Vec<u8>) {
    match value {
        Value::Null => buffer.extend_from_slice(b"null"),
        Value::Bool(true) => buffer.extend_from_slice(b"true"),
        Value::Bool(false) => buffer.extend_from_slice(b"false"),
        Value::String(text) => append_text(text, buffer),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
    }
}

fn append_object<'a>(
    members: impl Iterator<Item = (&'a str, &'a Value)>,
    buffer: &mut Vec<u8>,
    inner: fn(&Value, &mut Vec<u8>),
) {
    buffer.push(b'{');
    for (position, (key, value)) in members.enumerate() {
        if position > 0 {
            buffer.push(b',');
        }
        append_text(key, buffer);
        buffer.push(b':');
        inner(value, buffer);
    }
    buffer.push(b'}');
}

fn append_array(items: &[Value], buffer: &mut Vec<u8>, inner: fn(&Value, &mut Vec<u8>)) {
    buffer.push(b'[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            buffer.push(b',');
        }
        inner(item, buffer);
    }
    buffer.push(b']');
}

/// Appends a string with the escapes that JSON demands, in runs: most text needs none.
pub(super) fn append_text(text: &str, buffer: &mut Vec<u8>) {
    buffer.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(position) = first_to_escape(rest) {
        let (plain, from) = rest.split_at(position);
        buffer.extend_from_slice(plain);
        let Some((byte, behind)) = from.split_first() else {
            break;
        };
        append_escape(*byte, buffer);
        rest = behind;
    }
    buffer.extend_from_slice(rest);
    buffer.push(b'"');
}

/// Returns where the first byte stands that needs an escape. Looks at whole chunks without branching, which compilers turn
/// into vector instructions where the length of a chunk is known to them: texts of many kilobytes are written and digested
/// in each passage.
#[expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch for each byte")]
fn first_to_escape(bytes: &[u8]) -> Option<usize> {
    const CHUNK: usize = 32;
    let must_escape = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let has_none = |chunk: &[u8; CHUNK]| !chunk.iter().fold(false, |found, byte| found | must_escape(byte));
    let plain = chunks.iter().take_while(|chunk| has_none(chunk)).count();
    let unsure = chunks.get(plain).map_or(rest, <[u8; CHUNK]>::as_slice);
    unsure.iter().position(must_escape).map(|position| plain * CHUNK + position)
}

fn append_escape(byte: u8, buffer: &mut Vec<u8>) {
    match byte {
        b'"' => buffer.extend_from_slice(b"\\\""),
        b'\\' => buffer.extend_from_slice(b"\\\\"),
        b'\n' => buffer.extend_from_slice(b"\\n"),
        b'\r' => buffer.extend_from_slice(b"\\r"),
        b'\t' => buffer.extend_from_slice(b"\\t"),
        other => buffer.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
    }
}
