//! What kind of change a drifted field is.

use portcullis_sdk::listing_gate::DriftedField;
use portcullis_sdk::serde_json::{self, Value};

use crate::phrases::Phrases;

/// What kind of change a field went through; the later is the graver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// People or the model read something else of the same meaning, as far as words can tell.
    Cosmetic,
    /// The item has another name.
    Renamed,
    /// More is accepted than before.
    Widened,
    /// The server claims more effects, or no longer denies them.
    Capability,
    /// The server claims less harm than before.
    LessHarm(String),
    /// A new parameter takes in what the tool has no use for.
    Parameter(String),
    /// The model is told something new.
    Instruction(String),
}

/// Sorts a change.
pub(crate) fn classify(field: &DriftedField, phrases: &Phrases) -> Change {
    let read = |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let (before, after) = (read(&field.before), read(&field.after));
    if let Some(phrase) = phrases.gained(&texts(before.as_ref()), &texts(after.as_ref())) {
        return Change::Instruction(phrase.to_owned());
    }
    let parts: Vec<&str> = field.pointer.split('/').skip(1).collect();
    match parts.as_slice() {
        ["name"] => Change::Renamed,
        ["annotations", hint] => of_hint(hint, before.as_ref(), after.as_ref()),
        ["inputSchema", "properties", name] => {
            if before.is_none()
                && let Some(word) = phrases.of_parameter(&unescaped(name))
            {
                return Change::Parameter(word.to_owned());
            }
            of_schema(before.as_ref(), after.as_ref())
        }
        ["inputSchema" | "arguments", ..] => of_schema(before.as_ref(), after.as_ref()),
        ["execution", ..] | ["uri" | "uriTemplate"] => Change::Capability,
        _ => Change::Cosmetic,
    }
}

/// Sorts a changed hint. What only gives a title is cosmetic.
fn of_hint(hint: &str, before: Option<&Value>, after: Option<&Value>) -> Change {
    let is = |value: Option<&Value>, wanted: bool| value.and_then(Value::as_bool) == Some(wanted);
    match hint {
        "readOnlyHint" if is(after, true) => Change::LessHarm("readOnlyHint: true".to_owned()),
        "destructiveHint" if is(after, false) => Change::LessHarm("destructiveHint: false".to_owned()),
        "openWorldHint" if is(before, true) && is(after, false) => Change::LessHarm("openWorldHint: false".to_owned()),
        "readOnlyHint" | "destructiveHint" | "openWorldHint" | "idempotentHint" => Change::Capability,
        _ => Change::Cosmetic,
    }
}

/// Sorts a changed schema: cosmetic where only words for people differ, else widened, which a narrower one passes as, too.
fn of_schema(before: Option<&Value>, after: Option<&Value>) -> Change {
    match (before, after) {
        (Some(before), Some(after)) if without_words(before) == without_words(after) => Change::Cosmetic,
        _ => Change::Widened,
    }
}

/// Returns a schema without the members that explain it. A property may have the name of one; only where a schema stands is it an
/// explanation.
fn without_words(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let explains = |key: &str, value: &Value| {
                matches!(key, "description" | "title" | "$comment" | "examples") && !value.is_object()
            };
            let kept = members.iter().filter(|(key, value)| !explains(key, value));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_words(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_words).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// Returns all strings of a value, keys included, one a line.
fn texts(value: Option<&Value>) -> String {
    fn collect(value: &Value, all: &mut String) {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, all)),
            Value::Object(members) => members.iter().for_each(|(key, member)| {
                all.push_str(key);
                all.push('\n');
                collect(member, all);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut all = String::new();
    if let Some(value) = value {
        collect(value, &mut all);
    }
    all
}

/// Returns the name that a part of a JSON pointer stands for (RFC 6901).
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
