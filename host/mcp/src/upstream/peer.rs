//! What the gateway does for a server.

use std::future::Future;
use std::pin::Pin;

use portcullis_model::json::Value;

use super::CloseReason;
use crate::jsonrpc::ErrorObject;

/// A future in a box.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whose call something belongs to, in the peer's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerId {
    /// The session.
    pub session: u64,
    /// Which of its calls that are running.
    pub call: u64,
}

/// The gateway's side of a connection: what the server asks and says.
///
/// An implementation must not own the [`Upstream`](super::Upstream) that it serves, or else neither is ever dropped.
pub trait Peer: Send + Sync + 'static {
    /// Answers a request of the server; `key` is the name that the server gave it, where it did (MCP 2026-07-28,
    /// `inputRequests`). At most 16 of one server run at once; `ping` is answered without it. The future is dropped where the
    /// server cancels its request or goes away.
    ///
    /// While one runs, the time limits of calls to this server stand still: a person may be being asked.
    fn request(
        &self,
        method: String,
        params: Option<Value>,
        key: Option<String>,
    ) -> BoxFuture<'_, Result<Value, ErrorObject>>;

    /// As [`Peer::request`], for what a server wants during the call of [`CallOptions::caller`](super::CallOptions::caller):
    /// in the stateless era, or on the stream of its answer.
    fn request_of(
        &self,
        _caller: Option<CallerId>,
        method: String,
        params: Option<Value>,
        key: Option<String>,
    ) -> BoxFuture<'_, Result<Value, ErrorObject>> {
        self.request(method, params, key)
    }

    /// Takes a notification, in the order of arrival. Must not block. Progress comes with the token of
    /// [`CallOptions::progress_token`](super::CallOptions::progress_token) put back; cancellations are dealt with already.
    fn notification(&self, method: String, params: Option<Value>);

    /// As [`Peer::notification`], for one that came on the stream of the answer to that call.
    fn notification_of(&self, _caller: CallerId, method: String, params: Option<Value>) {
        self.notification(method, params);
    }

    /// Takes a line of standard error: at most 4 KiB, within a rate.
    fn stderr(&self, line: String);

    /// Is told once that the connection is closed.
    fn closed(&self, reason: CloseReason);
}
