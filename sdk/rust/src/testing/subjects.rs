//! Subjects for tests, built from JSON documents.

use serde_json::{Value, json};

use super::segments::cut;
use crate::call_gate::{self, Call};
use crate::config_gate::{Entry, Launch, Occasion, Origin, Stdio, Variable};
use crate::environment_gate::{self, Offered, Platform};
use crate::listing_gate::{Batch, Item, Kind};
use crate::request_gate::{self, FormField, Request, Sampling};
use crate::result_gate::{self, Subject};
use crate::{Annotations, PinState, Role};

/// Builds a server entry from its YAML or JSON document: `command`, `args`, `env`, `cwd`, or `url` and `headers`.
pub fn entry(name: &str, document: &Value) -> Entry {
    let text = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
    let launch = match text("url") {
        Some(url) => Launch::Http(url),
        None => Launch::Stdio(Stdio {
            command: text("command").unwrap_or_default(),
            arguments: strings(document.get("args")),
            working_directory: text("cwd"),
        }),
    };
    Entry {
        name: name.to_owned(),
        launch,
        environment: variables(document.get("env")),
        headers: variables(document.get("headers")),
        origin: Origin::ConfigFile,
        occasion: Occasion::Start,
        document: document.to_string(),
        segments: cut(document, Role::Entry),
    }
}

/// Builds a subject of the environment gate: an entry, and the names on offer, of which some are tagged.
pub fn environment(entry: Entry, platform: Platform, offered: &[&str], tagged: &[&str]) -> environment_gate::Subject {
    let offer = |name: &&str| Offered { name: (*name).to_owned(), tagged: tagged.contains(name) };
    environment_gate::Subject { entry, platform, offered: offered.iter().map(offer).collect() }
}

/// Builds a tool from its definition.
pub fn tool(document: &Value) -> Item {
    item(Kind::Tool, document)
}

/// Builds a prompt from its definition.
pub fn prompt(document: &Value) -> Item {
    item(Kind::Prompt, document)
}

/// Builds a resource from its definition.
pub fn resource(document: &Value) -> Item {
    item(Kind::Resource, document)
}

/// Builds the instructions of a server.
pub fn instructions(text: &str) -> Item {
    item(Kind::Instructions, &Value::String(text.to_owned()))
}

/// Builds a listing item that was never pinned. Its digest is empty.
pub fn item(kind: Kind, document: &Value) -> Item {
    let named = match kind {
        Kind::Tool | Kind::Prompt => "/name",
        Kind::Resource => "/uri",
        Kind::ResourceTemplate => "/uriTemplate",
        Kind::Instructions => "/",
    };
    let role = if kind == Kind::Instructions { Role::Instructions } else { Role::Other };
    Item {
        kind,
        name: document.pointer(named).and_then(Value::as_str).unwrap_or_default().to_owned(),
        document: document.to_string(),
        segments: cut(document, role),
        annotations: annotations(document.get("annotations").unwrap_or(&Value::Null)),
        digest: String::new(),
        fields: Vec::new(),
        pin: PinState::Unpinned,
        pinned: None,
        drift: Vec::new(),
    }
}

/// Builds a batch of one server, with an empty catalogue.
pub fn batch(server: &str, items: Vec<Item>) -> Batch {
    Batch { server: server.to_owned(), items, catalogue: Vec::new() }
}

/// Builds a call of a tool with arguments; the server is named `server`, the annotations are empty.
pub fn call(name: &str, arguments: &Value) -> Call {
    Call {
        server: "server".to_owned(),
        kind: call_gate::Kind::Tool,
        name: name.to_owned(),
        utility: false,
        annotations: annotations(&Value::Null),
        pin: PinState::Unpinned,
        definition: String::new(),
        arguments: arguments.to_string(),
        segments: cut(arguments, Role::Argument),
    }
}

/// Builds a tool result of text contents.
pub fn result_subject(texts: &[&str]) -> Subject {
    let content: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    result_document(result_gate::Kind::Result, &json!({ "content": content }))
}

/// Builds a result from its whole document.
pub fn result_document(kind: result_gate::Kind, document: &Value) -> Subject {
    let role = match kind {
        result_gate::Kind::Result => Role::Text,
        result_gate::Kind::Error => Role::Error,
        result_gate::Kind::Progress | result_gate::Kind::Log | result_gate::Kind::Stderr => Role::Log,
    };
    Subject {
        server: "server".to_owned(),
        kind,
        name: "tool".to_owned(),
        is_error: kind == result_gate::Kind::Error || document.get("isError").and_then(Value::as_bool) == Some(true),
        segments: cut(document, role),
        descriptors: Vec::new(),
    }
}

/// Builds what a server asks from the method and the parameters: `sampling/createMessage`, `elicitation/create`, else roots.
pub fn request(method: &str, params: &Value) -> Request {
    let kind = match method {
        "sampling/createMessage" => request_gate::Kind::Sampling(sampling(params)),
        "elicitation/create" if params.get("mode").and_then(Value::as_str) == Some("url") => {
            request_gate::Kind::ElicitationUrl(text(params, "url"))
        }
        "elicitation/create" => request_gate::Kind::ElicitationForm(fields(params)),
        _ => request_gate::Kind::Roots,
    };
    Request { server: "server".to_owned(), kind, document: params.to_string(), segments: cut(params, Role::Text) }
}

/// Reads annotations as the host does: what is no boolean is absent.
pub(super) fn annotations(document: &Value) -> Annotations {
    let hint = |key: &str| document.get(key).and_then(Value::as_bool);
    Annotations {
        title: document.get("title").and_then(Value::as_str).map(str::to_owned),
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}

fn sampling(params: &Value) -> Sampling {
    let hints = params.pointer("/modelPreferences/hints").and_then(Value::as_array);
    Sampling {
        max_tokens: params.get("maxTokens").and_then(Value::as_u64),
        models: hints.into_iter().flatten().map(|hint| text(hint, "name")).collect(),
        tools: params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()),
    }
}

fn fields(params: &Value) -> Vec<FormField> {
    let required = strings(params.pointer("/requestedSchema/required"));
    let properties = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| FormField {
            name: name.clone(),
            title: text(schema, "title"),
            description: text(schema, "description"),
            type_: text(schema, "type"),
            format: text(schema, "format"),
            required: required.contains(name),
        })
        .collect()
}

fn text(document: &Value, key: &str) -> String {
    document.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn variables(map: Option<&Value>) -> Vec<Variable> {
    let members = map.and_then(Value::as_object).into_iter().flatten();
    members
        .map(|(name, value)| Variable {
            name: name.clone(),
            value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        })
        .collect()
}
