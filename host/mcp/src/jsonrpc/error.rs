//! The error object of a response, and the codes.

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// Error codes: JSON-RPC 2.0 §5.1 and the MCP specification.
pub mod code {
    use rmcp::model::ErrorCode;

    /// The text was no JSON.
    pub const PARSE_ERROR: i64 = ErrorCode::PARSE_ERROR.0 as i64;
    /// The text was no request.
    pub const INVALID_REQUEST: i64 = ErrorCode::INVALID_REQUEST.0 as i64;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = ErrorCode::METHOD_NOT_FOUND.0 as i64;
    /// The parameters do not fit; an unknown tool included.
    pub const INVALID_PARAMS: i64 = ErrorCode::INVALID_PARAMS.0 as i64;
    /// Something broke.
    pub const INTERNAL_ERROR: i64 = ErrorCode::INTERNAL_ERROR.0 as i64;
    /// There is no such resource; MCP revisions up to 2025-11-25.
    pub const RESOURCE_NOT_FOUND: i64 = ErrorCode::RESOURCE_NOT_FOUND.0 as i64;
    /// A header contradicts the body; MCP 2026-07-28.
    pub const HEADER_MISMATCH: i64 = ErrorCode::HEADER_MISMATCH.0 as i64;
    /// The client did not declare a capability; MCP 2026-07-28.
    pub const MISSING_CLIENT_CAPABILITY: i64 = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0 as i64;
    /// The protocol version is not spoken; MCP 2026-07-28.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 as i64;
    /// An elicitation by URL must come first; MCP 2025-11-25.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
}

/// The error object of a response, unknown members included. `code` is an integer and `message` a string.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorObject {
    document: Object,
    code: i64,
}

impl ErrorObject {
    /// Builds an error of our own.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { document: object! { "code" => code, "message" => message.into() }, code }
    }

    /// Adds the `data` member.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.document.insert("data", data);
        self
    }

    /// Replaces the code.
    #[must_use]
    pub fn with_code(mut self, code: i64) -> Self {
        self.document.insert("code", code);
        self.code = code;
        self
    }

    /// Reads an error object. A missing message becomes an empty one; without an integral code it is none.
    pub fn from_value(value: Value) -> Option<Self> {
        let Value::Object(mut document) = value else {
            return None;
        };
        let code = document.get("code")?.as_i64()?;
        if document.get("message").and_then(Value::as_str).is_none() {
            document.insert("message", "");
        }
        Some(Self { document, code })
    }

    /// Returns the code.
    pub fn code(&self) -> i64 {
        self.code
    }

    /// Returns the message: the peer's own text, which nobody has sanitised.
    pub fn message(&self) -> &str {
        self.document.get("message").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the `data` member.
    pub fn data(&self) -> Option<&Value> {
        self.document.get("data")
    }

    /// Returns the whole object as a value.
    pub fn into_value(self) -> Value {
        Value::Object(self.document)
    }

    pub(super) fn append(&self, buffer: &mut Vec<u8>) {
        super::write::append_object(self.document.iter(), buffer);
    }
}
