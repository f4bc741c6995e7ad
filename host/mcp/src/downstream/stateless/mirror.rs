//! The headers in which an HTTP request repeats what its body says (MCP 2026-07-28, Streamable HTTP). Whoever routed it by
//! them must have seen what is done.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use portcullis_model::json::{Value, parse_str};
use rmcp::model::{
    CallToolRequestMethod, CancelTaskMethod, ConstString as _, GetPromptRequestMethod, GetTaskMethod,
    ReadResourceRequestMethod, UpdateTaskMethod,
};

use super::REVISION;
use super::meta::version_of;
use crate::jsonrpc::{ErrorObject, code};
use crate::upstream::Binding;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A value that cannot stand in a header as it is stands in it in base64, between these.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// Returns true where the headers name the stateless era.
pub(crate) fn is_named(headers: &HeaderMap) -> bool {
    headers.get_all(PROTOCOL_VERSION).iter().any(|value| value.as_bytes() == REVISION.as_bytes())
}

/// Checks the headers that every request has. A body that says nothing of its revision is left to whoever reads it, and so
/// is one of a revision that is not spoken: what its headers are nobody here knows.
pub(crate) fn check(headers: &HeaderMap, method: &str, params: Option<&Value>) -> Result<(), ErrorObject> {
    let Some(version) = params.and_then(version_of) else {
        return Ok(());
    };
    expect(headers, &PROTOCOL_VERSION, Some(version))?;
    if version != REVISION {
        return Ok(());
    }
    expect(headers, &METHOD, Some(method))?;
    let key = match method {
        CallToolRequestMethod::VALUE | GetPromptRequestMethod::VALUE => "name",
        ReadResourceRequestMethod::VALUE => "uri",
        GetTaskMethod::VALUE | UpdateTaskMethod::VALUE | CancelTaskMethod::VALUE => "taskId",
        _ => return Ok(()),
    };
    match params.and_then(|params| params.get(key)).and_then(Value::as_str) {
        Some(name) => expect(headers, &NAME, Some(name)),
        // What is missing in the body is missed there; a header alone names nothing.
        None => expect(headers, &NAME, None),
    }
}

/// Checks the headers that repeat arguments of a tool.
pub(crate) fn check_arguments(
    headers: &HeaderMap,
    params: Option<&Value>,
    bindings: &[Binding],
) -> Result<(), ErrorObject> {
    let arguments = params.and_then(|params| params.get("arguments"));
    for binding in bindings {
        let path = binding.path().iter();
        let value = path.fold(arguments, |value, key| value.and_then(|value| value.get(key)));
        let header = binding.header();
        match value {
            Some(Value::String(text)) => expect(headers, header, Some(text))?,
            Some(Value::Bool(value)) => expect(headers, header, Some(if *value { "true" } else { "false" }))?,
            Some(Value::Number(number)) => {
                let shown = one(headers, header)?.ok_or_else(|| mismatch(header))?;
                let shown = parse_str(&shown).ok();
                let shown = shown.as_ref().and_then(Value::as_number).ok_or_else(|| mismatch(header))?;
                if shown.canonical() != number.canonical() {
                    return Err(mismatch(header));
                }
            }
            None | Some(Value::Null) => expect(headers, header, None)?,
            // No value that a header can repeat, whatever the schema says: the server will see.
            Some(Value::Array(_) | Value::Object(_)) => {}
        }
    }
    Ok(())
}

fn expect(headers: &HeaderMap, name: &HeaderName, wanted: Option<&str>) -> Result<(), ErrorObject> {
    if one(headers, name)?.as_deref() == wanted { Ok(()) } else { Err(mismatch(name)) }
}

/// Returns the decoded value of a header that may be there once.
fn one(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, ErrorObject> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|_| values.next().is_none()).ok_or_else(|| mismatch(name))?;
    let encoded = text.strip_prefix(ENCODED.0).and_then(|text| text.strip_suffix(ENCODED.1));
    let Some(encoded) = encoded else {
        return Ok(Some(text.to_owned()));
    };
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.map(Some).ok_or_else(|| mismatch(name))
}

fn mismatch(name: &HeaderName) -> ErrorObject {
    let text = format!("the header {name} does not say what the body says");
    ErrorObject::new(code::HEADER_MISMATCH, text)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::upstream::bindings;

    const PARAMS: &str = r#"{"name":"t","arguments":{"region":"eu","n":{"count":10,"dry":true},"x":null,"odd":" ü"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "n":{"type":"object","properties":{"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"}}},
        "x":{"type":"string","x-mcp-header":"X"},
        "odd":{"type":"string","x-mcp-header":"Odd"}}}}"#;

    fn checked(change: impl FnOnce(&mut HeaderMap)) -> Result<(), ErrorObject> {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "t"),
            ("mcp-param-region", "eu"),
            ("mcp-param-count", "10"),
            ("mcp-param-dry", "true"),
            ("mcp-param-odd", "=?base64?IMO8?="),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        change(&mut headers);
        let params = parse_str(PARAMS).unwrap();
        let bindings = bindings(&parse_str(TOOL).unwrap()).unwrap();
        check(&headers, "tools/call", Some(&params))?;
        check_arguments(&headers, Some(&params), &bindings)
    }

    #[test]
    fn headers_that_say_what_the_body_says_pass() {
        assert!(checked(|_| ()).is_ok());
        for (name, value) in [
            ("mcp-param-count", "1e1"),
            ("mcp-param-count", "10.0"),
            ("mcp-name", "=?base64?dA==?="),
            ("mcp-param-unknown", "whatever"),
        ] {
            assert!(checked(|headers| drop(headers.insert(name, HeaderValue::from_static(value)))).is_ok(), "{value}");
        }
    }

    #[test]
    fn a_header_that_is_missing_repeated_or_says_something_else_is_refused() {
        for name in [
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
            "mcp-param-region",
            "mcp-param-count",
            "mcp-param-dry",
            "mcp-param-odd",
        ] {
            let error = checked(|headers| drop(headers.remove(name))).unwrap_err();
            assert_eq!(error.code(), -32_020, "{name}");
            let error = checked(|headers| {
                let value = headers.get(name).unwrap().clone();
                headers.append(name, value);
            });
            assert!(error.is_err(), "{name} twice");
            let value = HeaderValue::from_static("other");
            assert!(checked(|headers| drop(headers.insert(name, value))).is_err(), "{name}");
        }
        for (name, value) in [
            ("mcp-param-x", "there"),
            ("mcp-name", "T"),
            ("mcp-param-count", "11"),
            ("mcp-param-odd", "=?base64?*?="),
            ("mcp-param-odd", "=?base64?/w==?="),
        ] {
            assert!(checked(|headers| drop(headers.insert(name, HeaderValue::from_static(value)))).is_err(), "{value}");
        }
    }

    #[test]
    fn the_era_is_told_by_the_version_alone() {
        let mut headers = HeaderMap::new();
        assert!(!is_named(&headers));
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        assert!(!is_named(&headers));
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
        assert!(is_named(&headers));
        let other = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}"#;
        let other = parse_str(other).unwrap();
        assert!(check(&headers, "x", Some(&other)).is_err(), "header and body must name the same");
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2031-01-01"));
        assert!(check(&headers, "x", Some(&other)).is_ok(), "whoever reads the body says that it is not spoken");
        assert!(check(&headers, "x", None).is_ok());
    }
}
