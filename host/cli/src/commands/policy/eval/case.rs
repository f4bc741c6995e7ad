//! One line of a file of cases.

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// What a case is, which says what gates it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A listed tool.
    Item,
    /// The instructions of a server.
    Instructions,
    /// A server entry.
    Entry,
    /// A text that a tool returned.
    Result,
    /// A text with or without a credential.
    Secret,
    /// A tool before and after a release.
    Drift,
    /// Calls with their results, in order.
    Trace,
}

/// One call of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) result: Value,
    pub(super) annotations: Value,
    /// True where somebody else than the user wanted it.
    pub(super) injected: bool,
}

/// What passes the gates.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Matter {
    /// A definition.
    Item(Value),
    /// Instructions.
    Instructions(String),
    /// A server entry.
    Entry(Value),
    /// A text in a result.
    Text(String),
    /// Two definitions.
    Drift { before: Value, after: Value },
    /// Calls.
    Trace(Vec<Step>),
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) form: Form,
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) label: String,
    pub(super) group: String,
    pub(super) kind: String,
    /// Where the case comes from.
    pub(super) source: String,
    pub(super) matter: Matter,
}

/// A line that is no case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CaseError {
    /// Its members are those of no known form.
    #[error("the line is none of the known forms of cases")]
    UnknownForm,
    /// `text_base64` is not base64 of UTF-8.
    #[error("`text_base64` is not the base64 of a text")]
    Base64,
    /// A call of a trace has no `tool`.
    #[error("a call of the trace names no tool")]
    Step,
}

impl Case {
    /// Reads a row. Which form it has is told by its members.
    pub(super) fn read(row: &Value) -> Result<Self, CaseError> {
        let word = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (form, matter) = matter(row)?;
        let group = ["group", "gt"].into_iter().map(word).find(|group| !group.is_empty());
        // Files without groups are told apart by where their cases come from; what follows an @ is a version.
        let group = group.unwrap_or_else(|| word("source").split('@').next().unwrap_or_default().trim().to_owned());
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        let server = or(word("server"), &or(word("suite"), "server"));
        Ok(Self {
            form,
            server,
            tool: or(word("tool"), "tool"),
            label: or(word("label"), "unlabelled"),
            group: or(group, "all"),
            kind: or(or(word("kind"), &word("rule")), &changed(row)),
            source: word("source"),
            matter,
        })
    }

    /// Returns true where it is to be found, false where it is to be left alone.
    pub(super) fn is_bad(&self) -> bool {
        matches!(self.label.as_str(), "malicious" | "secret" | "risky" | "malicious_drift")
    }
}

/// Returns what a release changed, joined by `+`: its kind.
fn changed(row: &Value) -> String {
    let parts = row.get("changed").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(Value::as_str).collect::<Vec<_>>().join("+")
}

fn matter(row: &Value) -> Result<(Form, Matter), CaseError> {
    let text = || row.get("text").and_then(Value::as_str).map(str::to_owned);
    if let Some(calls) = row.get("calls").and_then(Value::as_array) {
        let steps: Option<Vec<_>> = calls.iter().map(step).collect();
        return Ok((Form::Trace, Matter::Trace(steps.ok_or(CaseError::Step)?)));
    }
    if let (Some(before), Some(after)) = (row.get("before"), row.get("after")) {
        return Ok((Form::Drift, Matter::Drift { before: before.clone(), after: after.clone() }));
    }
    if let Some(config) = row.get("config") {
        return Ok((Form::Entry, Matter::Entry(config.clone())));
    }
    if let Some(encoded) = row.get("text_base64").and_then(Value::as_str) {
        let text = decode(encoded).ok_or(CaseError::Base64)?;
        return Ok((Form::Secret, Matter::Text(text)));
    }
    let text = text().ok_or(CaseError::UnknownForm)?;
    if row.get("input_schema").is_some() || row.get("output_schema").is_some() || row.get("annotations").is_some() {
        return Ok((Form::Item, Matter::Item(definition(row, text).into())));
    }
    if row.get("tool").is_some() {
        return Ok((Form::Result, Matter::Text(text)));
    }
    Ok((Form::Instructions, Matter::Instructions(text)))
}

fn definition(row: &Value, text: String) -> Object {
    let name = row.get("tool").and_then(Value::as_str).unwrap_or("tool");
    let mut tool = object! { "name" => name, "description" => text };
    for (from, to) in
        [("input_schema", "inputSchema"), ("output_schema", "outputSchema"), ("annotations", "annotations")]
    {
        if let Some(value) = row.get(from).filter(|value| !value.is_null()) {
            tool.insert(to, value.clone());
        }
    }
    tool
}

fn step(call: &Value) -> Option<Step> {
    let member = |name: &str| call.get(name).cloned().unwrap_or(Value::Null);
    Some(Step {
        tool: call.get("tool")?.as_str()?.to_owned(),
        arguments: member("args"),
        result: member("result"),
        annotations: member("annotations"),
        injected: call.get("injected").and_then(Value::as_bool).unwrap_or_default(),
    })
}

/// Decodes standard base64. Texts with credentials are kept encoded so that scanners leave the file alone.
fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in encoded.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0x00ff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}
