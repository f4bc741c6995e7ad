//! From what a server lists to items that can be judged, one bad item at a time.

use std::collections::{HashMap, HashSet};

use portcullis_gates::ListedItem;
use portcullis_model::json::Value;
use portcullis_model::{ItemKind, ServerName};

use crate::approver::shown;
use crate::method::Listable;

/// Longer names and URIs serve nobody; providers refuse tool names above 64 characters, URIs may be a few thousand.
const LONGEST_NAME: usize = 4_096;

/// What a server listed, as it sent it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawListing {
    /// `tools/list`, all pages.
    pub(crate) tools: Vec<Value>,
    /// `prompts/list`, all pages.
    pub(crate) prompts: Vec<Value>,
    /// `resources/list`, all pages.
    pub(crate) resources: Vec<Value>,
    /// `resources/templates/list`, all pages.
    pub(crate) templates: Vec<Value>,
    /// The instructions of the handshake.
    pub(crate) instructions: Option<String>,
    /// For how many milliseconds the list of tools stands, where the server says so.
    pub(crate) ttl_ms: Option<u64>,
    /// What could not be listed whole, and why, in the host's words.
    pub(crate) incomplete: HashMap<Listable, String>,
}

impl RawListing {
    /// Returns what could not be listed whole, for the operator.
    pub(crate) fn incomplete(&self) -> Option<String> {
        /// Each is a sentence of the host's.
        const LONGEST: usize = 1_000;
        let all = Listable::ALL.iter().filter_map(|listable| self.incomplete.get(listable)).cloned();
        let text = all.collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then(|| shown(&text, LONGEST))
    }
}

/// Well-formed items, and the others with the reason.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// Well-formed, in order of listing.
    pub(crate) items: Vec<ListedItem>,
    /// What no client could use, with what is wrong.
    pub(crate) malformed: Vec<Malformed>,
}

/// An item that no client could use.
#[derive(Debug)]
pub(crate) struct Malformed {
    /// What kind of thing it is.
    pub(crate) kind: ItemKind,
    /// The server's own name for it, or its position.
    pub(crate) name: String,
    /// What is wrong with it.
    pub(crate) reason: &'static str,
}

impl RawListing {
    /// Sorts the items. Each is looked at by itself: one bad item never costs another.
    pub(crate) fn sort(&self, server: &ServerName) -> Sorted {
        let mut sorted = Sorted::default();
        let kinds = [
            (ItemKind::Tool, &self.tools),
            (ItemKind::Prompt, &self.prompts),
            (ItemKind::Resource, &self.resources),
            (ItemKind::ResourceTemplate, &self.templates),
        ];
        for (kind, documents) in kinds {
            let mut seen = HashSet::new();
            for (position, document) in documents.iter().enumerate() {
                match check(kind, document) {
                    Err(reason) => sorted.malformed.push(malformed(kind, document, position, reason)),
                    Ok(name) if !seen.insert(name) => {
                        let reason = "the server lists the same name twice; the first one stands";
                        sorted.malformed.push(malformed(kind, document, position, reason));
                    }
                    Ok(name) => sorted.items.push(ListedItem {
                        server: server.clone(),
                        kind,
                        name: name.to_owned(),
                        document: document.clone(),
                    }),
                }
            }
        }
        if let Some(text) = self.instructions.as_deref().filter(|text| !text.is_empty()) {
            sorted.items.push(ListedItem {
                server: server.clone(),
                kind: ItemKind::Instructions,
                name: String::new(),
                document: Value::from(text),
            });
        }
        sorted
    }
}

fn key(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool | ItemKind::Prompt | ItemKind::Instructions => "name",
        ItemKind::Resource => "uri",
        ItemKind::ResourceTemplate => "uriTemplate",
    }
}

/// Returns the server's own name for an item, or what is wrong with it.
///
/// Only what a client would choke on is checked: members that later revisions or vendors add are none of our business.
fn check(kind: ItemKind, document: &Value) -> Result<&str, &'static str> {
    let object = document.as_object().ok_or("it is no object")?;
    let name = object.get(key(kind)).and_then(Value::as_str).ok_or("it has no name or URI that is a string")?;
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err("its name or URI is empty or too long");
    }
    for text in ["title", "description", "mimeType"] {
        if object.get(text).is_some_and(|value| !matches!(value, Value::String(_) | Value::Null)) {
            return Err("its title, description or MIME type is no string");
        }
    }
    for map in ["annotations", "_meta", "execution"] {
        if object.get(map).is_some_and(|value| !matches!(value, Value::Object(_) | Value::Null)) {
            return Err("its annotations, `_meta` or execution is no object");
        }
    }
    match kind {
        ItemKind::Tool => check_tool(object)?,
        ItemKind::Prompt if object.get("arguments").is_some_and(|value| !is_arguments(value)) => {
            return Err("its arguments are no list of objects with a name");
        }
        ItemKind::Prompt | ItemKind::Resource | ItemKind::ResourceTemplate | ItemKind::Instructions => {}
    }
    Ok(name)
}

fn check_tool(object: &portcullis_model::json::Object) -> Result<(), &'static str> {
    let schema = object.get("inputSchema").ok_or("it has no inputSchema")?;
    let schema = schema.as_object().ok_or("its inputSchema is no object")?;
    if schema.get("type").is_some_and(|kind| kind.as_str() != Some("object")) {
        return Err("its inputSchema is not of type object");
    }
    if schema.get("properties").is_some_and(|properties| properties.as_object().is_none()) {
        return Err("the properties of its inputSchema are no object");
    }
    if object.get("outputSchema").is_some_and(|schema| !matches!(schema, Value::Object(_) | Value::Null)) {
        return Err("its outputSchema is no object");
    }
    let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    let annotations = object.get("annotations").and_then(Value::as_object);
    if annotations.is_some_and(|annotations| {
        hints.iter().any(|hint| annotations.get(hint).is_some_and(|value| value.as_bool().is_none()))
    }) {
        return Err("a hint of its annotations is no boolean");
    }
    Ok(())
}

fn is_arguments(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(arguments) => {
            arguments.iter().all(|argument| argument.get("name").is_some_and(|name| name.as_str().is_some()))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

fn malformed(kind: ItemKind, document: &Value, position: usize, reason: &'static str) -> Malformed {
    let name = document.get(key(kind)).and_then(Value::as_str).filter(|name| name.len() <= LONGEST_NAME);
    Malformed { kind, name: name.map_or_else(|| format!("#{position}"), str::to_owned), reason }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn sort(listing: &RawListing) -> Sorted {
        listing.sort(&ServerName::parse("files").unwrap())
    }

    fn tools(texts: &[&str]) -> RawListing {
        RawListing { tools: texts.iter().map(|text| parse_str(text).unwrap()).collect(), ..RawListing::default() }
    }

    #[test]
    fn one_bad_tool_does_not_cost_the_others() {
        let good = r#"{"name":"good","inputSchema":{"type":"object"},"x-vendor":12345678901234567890123}"#;
        let bad = [
            r#"{"name":"no-schema"}"#,
            r#"{"name":"text-schema","inputSchema":"{}"}"#,
            r#"{"name":"array-schema","inputSchema":{"type":"array"}}"#,
            r#"{"name":"hint","inputSchema":{},"annotations":{"readOnlyHint":"yes"}}"#,
            r#"{"name":7,"inputSchema":{}}"#,
            r#"{"name":"","inputSchema":{}}"#,
            r#"{"name":"text","inputSchema":{},"description":["x"]}"#,
            r#"{"name":"output","inputSchema":{},"outputSchema":true}"#,
            r#""text""#,
        ];
        for bad in bad {
            let sorted = sort(&tools(&[bad, good]));
            assert_eq!(sorted.items.len(), 1, "{bad}");
            assert_eq!(sorted.items[0].document.to_json(), good);
            assert_eq!(sorted.malformed.len(), 1, "{bad}");
            assert!(!sorted.malformed[0].reason.is_empty());
        }
    }

    #[test]
    fn the_first_of_two_tools_with_one_name_stands() {
        let sorted = sort(&tools(&[r#"{"name":"a","inputSchema":{}}"#, r#"{"name":"a","inputSchema":{"title":"b"}}"#]));
        assert_eq!(sorted.items.len(), 1);
        assert_eq!(sorted.items[0].document.to_json(), r#"{"name":"a","inputSchema":{}}"#);
        assert!(sorted.malformed[0].reason.contains("twice"));
    }

    #[test]
    fn every_kind_is_known_by_its_own_name_and_instructions_come_last() {
        let value = |text: &str| vec![parse_str(text).unwrap()];
        let listing = RawListing {
            tools: value(r#"{"name":"t","inputSchema":{}}"#),
            prompts: value(r#"{"name":"p","arguments":[{"name":"x"}]}"#),
            resources: value(r#"{"uri":"file:///x","name":"r"}"#),
            templates: value(r#"{"uriTemplate":"file:///{x}","name":"t"}"#),
            instructions: Some("Read this.".to_owned()),
            ..RawListing::default()
        };
        let names: Vec<String> = sort(&listing).items.into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["t", "p", "file:///x", "file:///{x}", ""]);
    }
}
