//! The headers that MCP gives a meaning (2025-11-25, basic/transports).

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Names the session.
pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Names the revision that was agreed on.
pub(super) static REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Names the last event that a client got of a stream.
pub(super) static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The media type of messages.
pub(super) const JSON: &str = "application/json";
/// The media type of streams.
pub(super) const EVENTS: &str = "text/event-stream";

/// A header is there more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated;

/// Returns the value of a header that may be there once.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Repeated> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(Repeated),
    }
}

/// Returns true where the client takes answers of that media type. One that says nothing takes everything (RFC 9110
/// §12.5.1).
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut present = false;
    let group = wanted.split('/').next().unwrap_or_default();
    for value in headers.get_all(ACCEPT) {
        present = true;
        let Ok(value) = value.to_str() else { continue };
        for range in value.split(',') {
            let range = range.split(';').next().unwrap_or_default().trim();
            let of_group = || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(group));
            if range == "*/*" || range.eq_ignore_ascii_case(wanted) || of_group() {
                return true;
            }
        }
    }
    !present
}

/// Returns true where the body is JSON by its own account.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let value = single(headers, &CONTENT_TYPE).ok().flatten().and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn media_ranges_are_understood() {
        for value in
            ["application/json, text/event-stream", "*/*", "APPLICATION/JSON;q=0.9", "text/html, application/*"]
        {
            assert!(accepts(&with(ACCEPT, value), JSON), "{value}");
        }
        for value in ["text/event-stream", "application/jsonp", "text/*", ""] {
            assert!(!accepts(&with(ACCEPT, value), JSON), "{value}");
        }
        assert!(accepts(&HeaderMap::new(), EVENTS), "saying nothing is taking everything");
    }

    #[test]
    fn a_body_is_json_only_where_it_says_so() {
        for value in ["application/json", "Application/JSON; charset=utf-8"] {
            assert!(is_json(&with(CONTENT_TYPE, value)), "{value}");
        }
        for value in ["text/plain", "application/json-seq", "application/x-www-form-urlencoded", ""] {
            assert!(!is_json(&with(CONTENT_TYPE, value)), "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
