//! What a text on the wire turns out to be.

use portcullis_model::json::{ParseError, Value};

use super::{ErrorObject, Id};

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its id.
    pub id: Id,
    /// Its method.
    pub method: String,
    /// Its parameters: an object or an array; nothing where absent or `null`.
    pub params: Option<Value>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// Its method.
    pub method: String,
    /// Its parameters: an object or an array; nothing where absent or `null`.
    pub params: Option<Value>,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The id of the request that it answers.
    pub id: Id,
    /// The result, or the error.
    pub outcome: Result<Value, ErrorObject>,
}

/// A JSON-RPC message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A request.
    Request(Request),
    /// A notification.
    Notification(Notification),
    /// A response.
    Response(Response),
}

/// What a text on the wire turns out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// A batch, as MCP 2025-03-26 has it; elements that are noise are left out.
    Batch(Vec<Incoming>),
    /// An error that names no request: the peer could not read something that was sent.
    Unattributed(ErrorObject),
    /// Meant as a message, and unusable.
    Malformed(Malformed),
    /// No message at all, such as a line of a log. Never answered: that would feed a loop.
    Noise,
}

/// What a malformed text was meant to be, as far as its members tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A request: it has a method. The error goes back to its sender.
    Request,
    /// A response: it has a result or an error. Whoever waits for it is told.
    Response,
    /// It has neither.
    Unknown,
}

/// A text that was meant as a message and is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The id, where one could be made out.
    pub id: Option<Id>,
    /// What it was meant to be.
    pub side: Side,
    /// What is wrong.
    pub reason: MalformedReason,
}

/// What is wrong with a malformed message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedReason {
    /// The text is no JSON that is accepted.
    #[error("the text is refused")]
    Text(#[source] ParseError),
    /// The text is longer than the limit in bytes.
    #[error("the message is longer than {limit} bytes")]
    Oversize {
        /// The limit.
        limit: usize,
    },
    /// A member of the envelope does not fit.
    #[error("{0}")]
    Envelope(&'static str),
}

impl MalformedReason {
    /// Returns a text for whoever waits for the message: the whole reason in one line, nothing of the peer in it.
    pub fn describe(&self) -> String {
        match self {
            Self::Text(error) => error.to_string(),
            Self::Oversize { .. } | Self::Envelope(_) => self.to_string(),
        }
    }
}
