//! The headers in which a request of the stateless era repeats what its body says (MCP 2026-07-28, Streamable HTTP), so that
//! whoever routes it need not read the body.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_model::json::{Number, Object, Value};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::era::VERSION;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAMETER_PREFIX: &str = "mcp-param-";
/// The keyword of a schema that names the header of a property.
const ANNOTATION: &str = "x-mcp-header";
/// A value that cannot stand in a header as it is stands in it in base64, between these.
const ENCODED: (&str, &str) = ("=?base64?", "?=");
/// So many headers one tool may have: servers take about a hundred in all.
const MOST: usize = 64;

/// An argument that is repeated in a header.
#[derive(Debug)]
pub(crate) struct Binding {
    /// The keys that lead to it.
    path: Vec<String>,
    header: HeaderName,
}

impl Binding {
    /// Returns the keys that lead to the argument.
    pub(crate) fn path(&self) -> &[String] {
        &self.path
    }

    /// Returns the header.
    pub(crate) fn header(&self) -> &HeaderName {
        &self.header
    }
}

/// The arguments that are repeated in headers, by the tool's name; tools without any are not in it.
pub(crate) type Bindings = HashMap<String, Arc<[Binding]>>;

/// Reads the annotations of a tool's input schema; fails with what is wrong, and then the tool must not be offered.
pub(crate) fn bindings(tool: &Value) -> Result<Vec<Binding>, &'static str> {
    let mut found = Found::default();
    if let Some(Value::Object(schema)) = tool.get("inputSchema") {
        found.schema(schema, Some(&mut Vec::new()))?;
    }
    Ok(found.bindings)
}

#[derive(Default)]
struct Found {
    bindings: Vec<Binding>,
    names: HashSet<HeaderName>,
}

impl Found {
    /// Reads a schema. `path` leads to it by properties alone; nothing where something else lies between, since then it cannot
    /// be told whether the schema is the one that counts.
    fn schema(&mut self, schema: &Object, path: Option<&mut Vec<String>>) -> Result<(), &'static str> {
        if let Some(name) = schema.get(ANNOTATION) {
            match &path {
                Some(path) if !path.is_empty() => self.bind(schema, name, path)?,
                _ => return Err("an `x-mcp-header` of its schema is at no property"),
            }
        }
        let mut path = path;
        for (key, value) in schema.iter() {
            match key {
                "properties" => self.map(value, path.as_deref_mut())?,
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" => {
                    self.map(value, None)?;
                }
                // These hold values or names, not schemas.
                "default" | "const" | "enum" | "examples" | "dependentRequired" => {}
                _ => self.elsewhere(value)?,
            }
        }
        Ok(())
    }

    /// Reads schemas under names.
    fn map(&mut self, schemas: &Value, mut path: Option<&mut Vec<String>>) -> Result<(), &'static str> {
        for (name, schema) in schemas.as_object().into_iter().flat_map(Object::iter) {
            let Some(schema) = schema.as_object() else {
                continue;
            };
            match path.as_deref_mut() {
                Some(path) => {
                    path.push(name.to_owned());
                    let read = self.schema(schema, Some(path));
                    path.pop();
                    read?;
                }
                None => self.schema(schema, None)?,
            }
        }
        Ok(())
    }

    fn elsewhere(&mut self, value: &Value) -> Result<(), &'static str> {
        match value {
            Value::Object(schema) => self.schema(schema, None),
            Value::Array(items) => items.iter().try_for_each(|item| self.elsewhere(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn bind(&mut self, schema: &Object, name: &Value, path: &[String]) -> Result<(), &'static str> {
        if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err("an `x-mcp-header` of its schema is at a property that is no string, integer or boolean");
        }
        let name = name.as_str().filter(|name| !name.is_empty()).unwrap_or(" ");
        let header = HeaderName::from_bytes(format!("{PARAMETER_PREFIX}{name}").as_bytes())
            .map_err(|_| "an `x-mcp-header` of its schema is no name of a header")?;
        if !self.names.insert(header.clone()) {
            return Err("an `x-mcp-header` of its schema is there twice");
        }
        if self.bindings.len() >= MOST {
            return Err("its schema has too many of `x-mcp-header`");
        }
        self.bindings.push(Binding { path: path.to_vec(), header });
        Ok(())
    }
}

/// Returns the headers of a request. `name` is that of the tool or prompt, or the URI of the resource.
pub(super) fn headers(method: &str, name: Option<&str>, params: Option<&Value>, bindings: &[Binding]) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(3 + bindings.len());
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(VERSION));
    headers.extend(value_of(method).map(|value| (METHOD, value)));
    headers.extend(name.and_then(value_of).map(|value| (NAME, value)));
    let arguments = params.and_then(|params| params.get("arguments"));
    for Binding { path, header } in bindings {
        let value = path.iter().try_fold(arguments, |value, key| value.map(|value| value.get(key))).flatten();
        let value = match value {
            Some(Value::String(text)) => value_of(text),
            Some(Value::Bool(value)) => Some(HeaderValue::from_static(if *value { "true" } else { "false" })),
            Some(Value::Number(number)) => value_of(&integer(number)),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
        };
        headers.extend(value.map(|value| (header.clone(), value)));
    }
    headers
}

/// Returns a number's text. An integer has one text here, whichever of several it has in the body.
fn integer(number: &Number) -> String {
    /// No integer that a server can take is written with more zeros than these.
    const MOST_ZEROS: usize = 20;
    let canonical = number.canonical();
    let Some((digits, power)) = canonical.split_once('e') else {
        return canonical;
    };
    match power.parse() {
        Ok(zeros) if zeros <= MOST_ZEROS => format!("{digits}{}", "0".repeat(zeros)),
        Ok(_) | Err(_) => number.as_str().to_owned(),
    }
}

fn value_of(text: &str) -> Option<HeaderValue> {
    let is_unsafe =
        text.bytes().any(|byte| !matches!(byte, b' '..=b'~')) || text.starts_with(' ') || text.ends_with(' ');
    let looks_encoded = text.starts_with(ENCODED.0) && text.ends_with(ENCODED.1);
    if !is_unsafe && !looks_encoded {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("{}{}{}", ENCODED.0, STANDARD.encode(text), ENCODED.1)).ok()
}

#[cfg(test)]
mod tests;
