//! Why a connection is closed, and why a call has no outcome.

use std::time::Duration;

use crate::jsonrpc::MalformedReason;
use crate::transport::http::HttpFailure;
use crate::transport::stdio::Ending;

/// Why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// The gateway closed it.
    #[error("the gateway closed the connection")]
    Shutdown,
    /// The server's process ended.
    #[error("{0}")]
    Ended(Ending),
    /// The server closed its output.
    #[error("the server closed its output")]
    OutputClosed,
    /// What the server sent could not be read any further.
    #[error("the server's output cannot be read: {0}")]
    Unreadable(String),
    /// The session is not known to the server any more.
    #[error("the session is not known to the server any more")]
    SessionExpired,
    /// The server does not speak the stateless era any more.
    #[error("the server does not speak the stateless era any more")]
    EraEnded,
    /// The server does not take any more input.
    #[error("the server does not take input: {0}")]
    Unwritable(String),
}

/// Why a call has no outcome.
///
/// Texts are the gateway's own, with nothing of the server in them; a JSON-RPC error of the server is an outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The connection is closed. The server may have acted on the call or not.
    #[error("the connection to the server is closed: {0}")]
    Closed(CloseReason),
    /// The server did not answer in time.
    #[error("the server did not answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The server answered something unusable.
    #[error("the server's answer cannot be used: {}", .0.describe())]
    Malformed(MalformedReason),
    /// The server said that it cannot read what it was sent, without saying which message; nothing else was waiting.
    #[error("the server could not read the request")]
    Unattributed,
    /// The server cancelled the request.
    #[error("the server cancelled the request")]
    Cancelled,
    /// Too many requests are waiting for the server.
    #[error("{0} requests are waiting for the server already")]
    Busy(usize),
    /// The exchange over HTTP failed. The server may have acted on the call or not.
    #[error(transparent)]
    Http(HttpFailure),
    /// The server wanted something of the client that the client did not say it can do.
    #[error("the server asked for something that the client does not offer")]
    NotOffered,
    /// What the server wanted of the client was not given; the code of the error.
    #[error("what the server asked of the client was not given (code {0})")]
    NotGiven(i64),
    /// The server wanted something of the client too often.
    #[error("the server asked for more input after {0} rounds")]
    Rounds(usize),
    /// The method has a gate and was not cleared by it.
    #[error("this method has to pass a gate")]
    Gated,
}

impl CallError {
    /// Returns the stable code used in output and logs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed(_) => "server-closed",
            Self::Timeout(_) => "server-timeout",
            Self::Malformed(_) => "server-malformed",
            Self::Unattributed => "server-unattributed",
            Self::Cancelled => "server-cancelled",
            Self::Busy(_) => "server-busy",
            Self::Http(HttpFailure::Unauthorized { .. } | HttpFailure::LoginTooNarrow(_)) => "server-unauthorized",
            Self::Http(HttpFailure::NoLogin { .. } | HttpFailure::LoginUnusable(_)) => "no-login",
            Self::Http(HttpFailure::Unreachable(_)) => "server-unreachable",
            Self::Http(_) => "server-http",
            Self::NotOffered | Self::NotGiven(_) | Self::Rounds(_) => "server-input",
            Self::Gated => "gated",
        }
    }
}
