//! What a request of a client is answered with.

use std::sync::Arc;

use portcullis_gates::{Cleared, Refusal, ServerMessage};
use portcullis_model::ResultKind;
use portcullis_model::json::Value;
use portcullis_model::object;

use super::Dress;
use crate::jsonrpc::{ErrorObject, Id, write_error, write_result};

/// Error codes of the gateway itself. JSON-RPC keeps -32768 to -32000 for itself and MCP for its own, so these lie
/// above.
pub mod own_code {
    /// A gate refused it; `data.code` holds the stable code.
    pub const REFUSED: i64 = -31_001;
    /// The server is not connected.
    pub const SERVER_UNAVAILABLE: i64 = -31_002;
    /// The server did not answer in time.
    pub const TIMED_OUT: i64 = -31_003;
    /// Too many requests are running.
    pub const TOO_MANY: i64 = -31_004;
    /// The server answered with something that is no valid response.
    pub const MALFORMED: i64 = -31_005;
}

/// What a request of a client is answered with.
#[derive(Debug)]
pub(crate) enum Reply {
    /// What a server answered, as it passed the result gate: a result or an error.
    Cleared(Cleared<ServerMessage>),
    /// A result made of what passed its gate before; shared by all who ask.
    Shared(Arc<Value>),
    /// A result of the gateway itself.
    Own(Value),
    /// An error of the gateway itself.
    Error(ErrorObject),
    /// One of the others in the form of the stateless era.
    Dressed(Box<Reply>, Dress),
}

impl Reply {
    /// Appends the response. What passed a gate is written as it is: the envelope around it is all that is new.
    pub(crate) fn write(&self, id: &Id, buffer: &mut Vec<u8>) {
        match self {
            Self::Cleared(message) => {
                let message = message.get();
                if message.kind == ResultKind::Error {
                    match ErrorObject::from_value(message.document.clone()) {
                        Some(error) => write_error(buffer, Some(id), &error),
                        None => write_error(buffer, Some(id), &broken()),
                    }
                } else {
                    write_result(buffer, id, &message.document);
                }
            }
            Self::Shared(result) => write_result(buffer, id, result),
            Self::Own(result) => write_result(buffer, id, result),
            Self::Error(error) => write_error(buffer, Some(id), error),
            Self::Dressed(reply, dress) => dress.write(reply, id, buffer),
        }
    }

    /// Returns the reply that tells a model of a refusal: a tool's result where it asked for a tool, so that the model
    /// reads it, else an error.
    pub(crate) fn refused(refusal: &Refusal, as_tool: bool) -> Self {
        Self::failed(&refusal.model_text(), own_code::REFUSED, refusal.code.as_str(), as_tool)
    }

    /// Returns the reply that tells a model of something that went wrong, in the host's own words.
    pub(crate) fn failed(text: &str, number: i64, code: &str, as_tool: bool) -> Self {
        if as_tool {
            return Self::Own(tool_error(text));
        }
        Self::Error(ErrorObject::new(number, text).with_data(object! { "code" => code }.into()))
    }
}

/// Returns a tool's result that is an error with this text.
pub(crate) fn tool_error(text: &str) -> Value {
    let content: Value = object! { "type" => "text", "text" => text }.into();
    object! { "content" => vec![content], "isError" => true }.into()
}

fn broken() -> ErrorObject {
    ErrorObject::new(own_code::MALFORMED, "the server answered with an error that is none")
}

#[cfg(test)]
mod tests {
    use portcullis_gates::RefusalCode;
    use portcullis_model::{GateName, PolicyName};

    use super::*;

    fn written(reply: &Reply) -> String {
        let mut buffer = Vec::new();
        reply.write(&Id::from(1), &mut buffer);
        String::from_utf8(buffer).unwrap()
    }

    fn refusal() -> Refusal {
        Refusal {
            gate: GateName::Call,
            code: RefusalCode::Denied("write-outside".to_owned()),
            policy: Some(PolicyName::parse("trust").unwrap()),
            detail: "for the operator only".to_owned(),
        }
    }

    #[test]
    fn a_refused_tool_call_is_a_result_that_the_model_reads() {
        let text = written(&Reply::refused(&refusal(), true));
        assert!(text.contains(r#""isError":true"#) && text.contains("write-outside"), "{text}");
        assert!(!text.contains("for the operator only"), "{text}");
    }

    #[test]
    fn any_other_refusal_is_an_error_with_a_code_of_our_own() {
        let text = written(&Reply::refused(&refusal(), false));
        assert!(text.contains(r#""code":-31001"#) && text.contains(r#""data":{"code":"write-outside"}"#), "{text}");
        assert!(!(-32_768..=-32_000).contains(&own_code::REFUSED));
    }
}
