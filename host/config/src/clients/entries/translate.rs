//! One entry, from a client's keys to ours.

use portcullis_model::json::{Object, Value};

use super::Foreign;
use crate::clients::Client;

/// Keys that mean the same everywhere.
const SAME: [&str; 6] = ["command", "args", "env", "cwd", "headers", "url"];

/// Keys that only describe.
const DESCRIBING: [&str; 10] =
    ["name", "description", "display_name", "icon", "gallery", "version", "metadata", "bundled", "type", "scope"];

/// Keys by which an entry approves its own calls.
const APPROVING: [&str; 7] = [
    "autoApprove",
    "alwaysAllow",
    "auto_approve",
    "trust",
    "approval_mode",
    "default_tools_approval_mode",
    "available_tools_approved",
];

/// Returns the entry as ours. What has no place in it is told in `notes`, without values.
pub(super) fn translate(
    client: Client,
    name: &str,
    original: &Value,
    notes: &mut Vec<String>,
) -> Result<Value, Foreign> {
    let original = original.as_object().ok_or(Foreign::NoMap)?;
    // Its keys are ours.
    if client == Client::Hermes {
        return Ok(original.clone().into());
    }
    let mut translation = Translation { client, original, entry: Object::new(), read: Vec::new(), notes };
    translation.launch()?;
    translation.headers();
    translation.environment();
    translation.tools();
    translation.options();
    translation.rest();
    let mut entry: Value = translation.entry.into();
    variables(client, name, &mut entry, notes);
    Ok(entry)
}

struct Translation<'a> {
    client: Client,
    original: &'a Object,
    entry: Object,
    /// Keys that have their place.
    read: Vec<&'static str>,
    notes: &'a mut Vec<String>,
}

impl<'a> Translation<'a> {
    fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.read.push(key);
        self.original.get(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &'static str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    fn launch(&mut self) -> Result<(), Foreign> {
        let kind = self.text("type").unwrap_or_default().to_lowercase();
        if matches!(kind.as_str(), "builtin" | "platform" | "frontend" | "inline_python" | "sdk") {
            return Err(Foreign::Part(kind));
        }
        for key in SAME {
            if let Some(value) = self.get(key) {
                self.entry.insert(key, value.clone());
            }
        }
        if let Some(command) = self.get("cmd") {
            self.entry.insert("command", command.clone());
        }
        for key in ["serverUrl", "httpUrl", "uri"] {
            if let Some(url) = self.get(key) {
                self.entry.insert("url", url.clone());
            }
        }
        // Where Gemini says `url` and not `httpUrl`, it means HTTP+SSE.
        let is_sse = kind == "sse"
            || self.text("transport").is_some_and(|transport| transport.eq_ignore_ascii_case("sse"))
            || (self.client == Client::Gemini
                && self.original.contains_key("url")
                && !self.original.contains_key("httpUrl"));
        if is_sse && self.entry.contains_key("url") {
            self.entry.insert("transport", "sse");
        }
        if self.entry.contains_key("command") || self.entry.contains_key("url") {
            Ok(())
        } else {
            Err(Foreign::Nothing)
        }
    }

    fn headers(&mut self) {
        let mut headers = Object::new();
        for (name, value) in self.get("http_headers").and_then(Value::as_object).into_iter().flat_map(Object::iter) {
            headers.insert(name, value.clone());
        }
        for (name, variable) in
            self.get("env_http_headers").and_then(Value::as_object).into_iter().flat_map(Object::iter)
        {
            headers.insert(name, format!("${{{}}}", variable.as_str().unwrap_or_default()));
        }
        if let Some(variable) = self.text("bearer_token_env_var") {
            headers.insert("Authorization", format!("Bearer ${{{variable}}}"));
        }
        self.join("headers", &headers);
    }

    fn environment(&mut self) {
        let mut environment = Object::new();
        for (name, value) in self.get("envs").and_then(Value::as_object).into_iter().flat_map(Object::iter) {
            environment.insert(name, value.clone());
        }
        for key in ["env_vars", "env_keys"] {
            for name in self.get(key).and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str) {
                environment.insert(name, format!("${{{name}}}"));
            }
        }
        self.join("env", &environment);
    }

    fn join(&mut self, key: &str, more: &Object) {
        if more.is_empty() {
            return;
        }
        if !matches!(self.entry.get(key), Some(Value::Object(_))) {
            self.entry.insert(key, Object::new());
        }
        if let Some(members) = self.entry.get_mut(key).and_then(Value::as_object_mut) {
            for (name, value) in more.iter() {
                members.insert(name, value.clone());
            }
        }
    }

    fn tools(&mut self) {
        let mut tools = Object::new();
        for (key, ours) in [
            ("includeTools", "include"),
            ("enabled_tools", "include"),
            ("available_tools", "include"),
            ("excludeTools", "exclude"),
            ("disabled_tools", "exclude"),
            ("disabledTools", "exclude"),
        ] {
            // An empty list of goose means all.
            if let Some(list) = self.get(key).filter(|list| list.as_array().is_some_and(|list| !list.is_empty())) {
                tools.insert(ours, list.clone());
            }
        }
        if !tools.is_empty() {
            self.entry.insert("tools", tools);
        }
    }

    fn options(&mut self) {
        let is_off = self.get("disabled").and_then(Value::as_bool) == Some(true);
        if is_off || self.get("enabled").and_then(Value::as_bool) == Some(false) {
            self.entry.insert("enabled", false);
        }
        let is_gemini = self.client == Client::Gemini;
        let mut seconds = |key: &'static str, ours: &str, unit: u64| {
            if let Some(number) =
                self.get(key).and_then(Value::as_u64).map(|number| number.div_ceil(unit)).filter(|seconds| *seconds > 0)
            {
                self.entry.insert(ours, number);
            }
        };
        // Gemini counts milliseconds.
        seconds("timeout", "timeout", if is_gemini { 1_000 } else { 1 });
        seconds("tool_timeout_sec", "timeout", 1);
        seconds("startup_timeout_sec", "connect_timeout", 1);
        seconds("startup_timeout_ms", "connect_timeout", 1_000);
    }

    /// Tells of the keys that have no place.
    fn rest(&mut self) {
        for (key, value) in self.original.iter() {
            if self.read.contains(&key) || DESCRIBING.contains(&key) || value.is_null() {
                continue;
            }
            let note = if APPROVING.contains(&key) {
                format!("`{key}` is left out: policies and approvals decide about calls, not the entry")
            } else if key == "envFile" {
                "`envFile` is left out: write the variables of that file under `env`, as `NAME: ${NAME}`".to_owned()
            } else {
                format!("`{key}` is left out: it means nothing here")
            };
            self.notes.push(note);
        }
    }
}

/// Writes variables of clients as ours.
fn variables(client: Client, server: &str, value: &mut Value, notes: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if client == Client::VsCode && text.contains("${input:") {
                *text = inputs(server, text, notes);
            }
            if client == Client::Gemini {
                *text = dollars(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| variables(client, server, item, notes)),
        Value::Object(object) => object.iter_mut().for_each(|(_, member)| variables(client, server, member, notes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces what an editor would prompt for by variables.
fn inputs(server: &str, text: &str, notes: &mut Vec<String>) -> String {
    let (mut output, mut rest) = (String::new(), text);
    while let Some((before, from)) = rest.split_once("${input:") {
        let Some((name, behind)) = from.split_once('}') else {
            break;
        };
        let variable = crate::secrets::variable_name(server, name);
        notes.push(format!("the editor prompts for `{name}`: set the variable {variable} instead"));
        output.extend([before, "${", &variable, "}"]);
        rest = behind;
    }
    output.push_str(rest);
    output
}

/// Writes `$NAME` as `${NAME}`.
fn dollars(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('$') {
        output.push_str(before);
        let length = from.find(|one: char| !one.is_ascii_alphanumeric() && one != '_').unwrap_or(from.len());
        let (name, behind) = from.split_at(length);
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            output.push('$');
            output.push_str(name);
        } else {
            output.extend(["${", name, "}"]);
        }
        rest = behind;
    }
    output.push_str(rest);
    output
}
