//! Values as they are written into a text.

use portcullis_model::json::{Object, Value};

use crate::tree;

/// How far a member stands to the right of its map, in files of ours.
const STEP: &str = "  ";

/// A list of scalars stands on one line up to this length.
const LONGEST_LINE: usize = 100;

/// How a text is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    /// What stands before the keys of the map that is written into.
    pub(super) indent: &'a str,
    /// `\n` or `\r\n`.
    pub(super) line_break: &'a str,
}

/// Returns a member of a block map, from its key on, without a line break at its end.
pub(super) fn block_member(key: &str, value: &Value, layout: Layout<'_>) -> String {
    format!("{}:{}", scalar(key), block_value(value, layout))
}

/// Returns the value of a member of a block map, with what stands between it and the colon.
pub(super) fn block_value(value: &Value, layout: Layout<'_>) -> String {
    let indent = format!("{}{STEP}", layout.indent);
    let inner = Layout { indent: &indent, ..layout };
    let lines = |lines: Vec<String>| -> String {
        let starts = format!("{}{indent}", layout.line_break);
        lines.into_iter().flat_map(|line| [starts.clone(), line]).collect()
    };
    match value {
        Value::Object(object) if !object.is_empty() => {
            lines(object.iter().map(|(key, value)| block_member(key, value, inner)).collect())
        }
        Value::Array(items) if !items.is_empty() => {
            let line = flow(value);
            let is_short = line.len() + layout.indent.len() <= LONGEST_LINE;
            if is_short && items.iter().all(|item| !matches!(item, Value::Object(_) | Value::Array(_))) {
                return format!(" {line}");
            }
            lines(items.iter().map(|item| format!("- {}", flow(item))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            format!(" {}", flow(value))
        }
    }
}

/// Returns a value on one line, as YAML that people would write.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_json(),
    }
}

/// Returns a text: plain where every reader takes it for that text, else in quotes.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-' | b'@'))
        && !matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n")
        && tree::is_plain_text(text);
    if is_plain { text.to_owned() } else { Value::from(text).to_json() }
}

/// Returns a value as JSON over several lines. `step` is what one level adds.
pub(super) fn json(value: &Value, step: &str, layout: Layout<'_>) -> String {
    let indent = format!("{}{step}", layout.indent);
    let inner = Layout { indent: &indent, ..layout };
    let (starts, ends) = (format!("{}{indent}", layout.line_break), format!("{}{}", layout.line_break, layout.indent));
    match value {
        Value::Object(object) if !object.is_empty() => {
            let members = object.iter().map(|(key, value)| format!("{starts}{}", json_member(key, value, step, inner)));
            format!("{{{}{ends}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            value.to_json()
        }
    }
}

/// Returns a member of a JSON object.
pub(super) fn json_member(key: &str, value: &Value, step: &str, layout: Layout<'_>) -> String {
    format!("{}: {}", Value::from(key).to_json(), json(value, step, layout))
}

/// Returns a value below keys, outermost first.
pub(super) fn nested(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |value, key| {
        let mut object = Object::new();
        object.insert(*key, value);
        object.into()
    })
}
