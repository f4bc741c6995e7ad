//! What every request of the stateless era says of itself.

use portcullis_model::json::{Object, Value};
use portcullis_model::{ClientFacts, object};

use super::REVISION;
use crate::downstream::LogLevel;
use crate::downstream::initialize::claimed;
use crate::jsonrpc::{ErrorObject, code};
use crate::method::ClientMethod;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Returns true where a request is one of the stateless era: by its method, or by what only such a request says.
pub(crate) fn is_stateless(method: &str, params: Option<&Value>) -> bool {
    let method = ClientMethod::parse(method);
    let says_so = || {
        let meta = params.and_then(|params| params.get("_meta"));
        meta.is_some_and(|meta| [PROTOCOL_VERSION, CLIENT_CAPABILITIES].iter().any(|key| meta.get(key).is_some()))
    };
    matches!(method, ClientMethod::Discover | ClientMethod::Listen) || (method != ClientMethod::Initialize && says_so())
}

/// Returns the revision that the parameters of a request name.
pub(super) fn version_of(params: &Value) -> Option<&str> {
    params.get("_meta")?.get(PROTOCOL_VERSION)?.as_str()
}

/// Returns the capabilities that the parameters of a request name.
pub(super) fn capabilities_of(params: &Value) -> Option<&Value> {
    params.get("_meta")?.get(CLIENT_CAPABILITIES)
}

/// What a request says of itself.
#[derive(Clone, Debug)]
pub(crate) struct RequestMeta {
    /// The claim of what the client is.
    pub(crate) client: ClientFacts,
    /// What the client can do; an object.
    pub(crate) capabilities: Value,
    /// From which level on it wants log messages of this request; without one it wants none.
    pub(crate) level: Option<LogLevel>,
}

impl RequestMeta {
    /// Reads what a request says of itself, and takes it out of the parameters: it is between the client and the gateway.
    pub(crate) fn take(params: &mut Object) -> Result<Self, ErrorObject> {
        let Some(meta) = params.get_mut("_meta").and_then(Value::as_object_mut) else {
            return Err(invalid("`_meta` is missing: it must name the protocol version and the client's capabilities"));
        };
        match meta.remove(PROTOCOL_VERSION) {
            Some(Value::String(version)) if version == REVISION => {}
            Some(Value::String(version)) => return Err(unsupported(&version)),
            _ => return Err(invalid("the protocol version is missing in `_meta`, or is no string")),
        }
        let Some(capabilities @ Value::Object(_)) = meta.remove(CLIENT_CAPABILITIES) else {
            return Err(invalid("the client's capabilities are missing in `_meta`, or are no object"));
        };
        let client = match meta.remove(CLIENT_INFO) {
            None | Some(Value::Null) => ClientFacts::default(),
            Some(info @ Value::Object(_)) => claimed(Some(&info)),
            Some(_) => return Err(invalid("what `_meta` says of the client is no object")),
        };
        let level = match meta.remove(LOG_LEVEL) {
            None | Some(Value::Null) => None,
            Some(level) => match level.as_str().and_then(LogLevel::parse) {
                Some(level) => Some(level),
                None => return Err(invalid("`_meta` names a log level that is none")),
            },
        };
        if meta.get("progressToken").is_some_and(|token| !matches!(token, Value::String(_) | Value::Number(_))) {
            return Err(invalid("the progress token is neither a string nor a number"));
        }
        if meta.is_empty() {
            params.remove("_meta");
        }
        Ok(Self { client, capabilities, level })
    }
}

fn invalid(text: &str) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, text)
}

fn unsupported(requested: &str) -> ErrorObject {
    /// What is echoed is the client's own; a revision has ten characters.
    const LONGEST: usize = 64;
    let requested: String = requested.chars().take(LONGEST).collect();
    let data = object! { "supported" => vec![Value::from(REVISION)], "requested" => requested };
    ErrorObject::new(code::UNSUPPORTED_PROTOCOL_VERSION, "this protocol version is not spoken").with_data(data.into())
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn take(meta: &str) -> Result<(RequestMeta, String), ErrorObject> {
        let Value::Object(mut params) = parse_str(&format!(r#"{{"name":"t","_meta":{meta}}}"#)).unwrap() else {
            panic!("an object")
        };
        let meta = RequestMeta::take(&mut params)?;
        Ok((meta, Value::from(params).to_json()))
    }

    const GOOD: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;

    #[test]
    fn what_is_between_client_and_gateway_is_taken_out_and_the_rest_stays() {
        let info = r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"debug""#;
        let (meta, rest) = take(&format!(r#"{{"progressToken":1.0,{GOOD},"traceparent":"00-1",{info}}}"#)).unwrap();
        assert_eq!(rest, r#"{"name":"t","_meta":{"progressToken":1.0,"traceparent":"00-1"}}"#);
        assert_eq!((meta.client.name.as_str(), meta.client.version.as_str()), ("c", "1"));
        assert_eq!(meta.capabilities.to_json(), r#"{"roots":{}}"#);
        assert_eq!(meta.level, Some(LogLevel::Debug));
        let (meta, rest) = take(&format!("{{{GOOD}}}")).unwrap();
        assert_eq!(rest, r#"{"name":"t"}"#, "an empty `_meta` would be an invention");
        assert_eq!(meta.level, None);
    }

    #[test]
    fn a_request_that_does_not_say_what_it_must_is_invalid() {
        for meta in [
            "7",
            "{}",
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":20260728,"io.modelcontextprotocol/clientCapabilities":{}}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
            &format!(r#"{{{GOOD},"io.modelcontextprotocol/clientInfo":"c"}}"#),
            &format!(r#"{{{GOOD},"io.modelcontextprotocol/logLevel":"loud"}}"#),
            &format!(r#"{{{GOOD},"progressToken":{{}}}}"#),
        ] {
            assert_eq!(take(meta).unwrap_err().code(), code::INVALID_PARAMS, "{meta}");
        }
    }

    #[test]
    fn another_revision_is_named_beside_the_one_that_is_spoken() {
        let version = GOOD.replace("2026-07-28", "2099-01-01");
        let error = take(&format!("{{{version}}}")).unwrap_err();
        assert_eq!(error.code(), -32_022);
        assert_eq!(error.data().unwrap().to_json(), r#"{"supported":["2026-07-28"],"requested":"2099-01-01"}"#);
    }

    #[test]
    fn the_era_of_a_request_is_told_by_what_it_says() {
        let modern = parse_str(&format!(r#"{{"_meta":{{{GOOD}}}}}"#)).unwrap();
        assert!(is_stateless("tools/list", Some(&modern)) && is_stateless("ping", Some(&modern)));
        assert!(is_stateless("server/discover", None) && is_stateless("subscriptions/listen", None));
        assert!(!is_stateless("initialize", Some(&modern)));
        assert!(!is_stateless("tools/list", None));
        assert!(!is_stateless("tools/list", Some(&parse_str(r#"{"_meta":{"progressToken":1}}"#).unwrap())));
    }
}
