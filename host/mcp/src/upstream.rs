//! The gateway as the client of one server.
//!
//! [`Upstream::connect`] starts or reaches a server and shakes hands; [`Upstream::call`] and the others ask it; what the
//! server asks or says goes to a [`Peer`]. Effects take [`Cleared`] values: an entry that was not screened cannot be
//! started, a call that was not authorized cannot be sent. Everything that waits has a bound, and everything that waits
//! for a server fails at once when the server goes away or answers something unusable.
//!
//! It knows nothing about policies, names that clients see, or several servers.
//!
//! Only the era with `initialize` is spoken so far. What belongs to an era has one place each, so that the stateless one
//! can stand beside it: the handshake (`connect`), the era's members of `_meta` (the rewrite in `call`, which sets the
//! progress token already), and the headers of HTTP (`wire`, which learns the version after the handshake).

mod call;
mod connect;
mod error;
mod hello;
mod list;
mod options;
mod peer;
mod pending;
mod shared;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::{Call, Cleared};
use portcullis_model::json::Value;

use crate::jsonrpc::ErrorObject;
use crate::transport::stdio::Process;

pub use connect::{ConnectError, ConnectFailure};
pub use error::{CallError, CloseReason};
pub use hello::Hello;
pub use list::{Incomplete, ListMethod, Listing};
pub use options::{CallOptions, ConnectOptions};
pub use peer::{BoxFuture, Peer};
pub use shared::Counters;

/// What a server answered: a result, or a JSON-RPC error. Neither has passed a gate yet.
pub type Outcome = Result<Value, ErrorObject>;

/// So long the close of the gateway's side may take: whoever writes to a server that does not read holds it up.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);
/// So long the stop of a connection may take before it is left to run in the background.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(15);

/// A server that shook hands. When it is dropped, the connection is cut and a process is ended with all that came from it.
#[derive(Debug)]
pub struct Upstream {
    shared: Arc<shared::Shared>,
    hello: Hello,
    process: Option<Arc<Process>>,
    _tasks: connect::Tasks,
}

impl Upstream {
    /// Returns what the server said of itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Returns why the connection is closed, where it is.
    pub fn closed(&self) -> Option<CloseReason> {
        self.shared.closed()
    }

    /// Returns the counts of what the server did wrong so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters()
    }

    /// Returns the process id of a stdio server that runs.
    pub fn process_id(&self) -> Option<i32> {
        let state = self.process.as_ref()?.state();
        if let crate::transport::stdio::ProcessState::Running(pid) = state { Some(pid) } else { None }
    }

    /// Sends a call. What is sent is what the gate cleared; only the progress token is the gateway's own.
    ///
    /// Dropping the future cancels the call at the server.
    pub async fn call(&self, call: &Cleared<Call>, options: CallOptions) -> Result<Outcome, CallError> {
        call::call(&self.shared, call.get(), options).await
    }

    /// Sends a request that no gate judges: `ping`, `logging/setLevel`, `resources/subscribe` and the like.
    ///
    /// Calls and reads are refused here: they have a gate.
    pub async fn request(&self, method: &str, params: Option<&Value>) -> Result<Outcome, CallError> {
        if call::is_gated(method) {
            return Err(CallError::Gated);
        }
        call::request(&self.shared, method, params, CallOptions::default()).await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<&Value>) -> Result<(), CallError> {
        self.shared.notify(method, params).await
    }

    /// Lists all pages of something.
    pub async fn list(&self, method: ListMethod) -> Result<Listing, CallError> {
        list::list(&self.shared, method).await
    }

    /// Ends the connection; whoever waits is told. A stdio server ends by the close of its input, else by TERM, else by
    /// KILL, and all that came from it with it.
    pub async fn shutdown(&self) {
        self.shared.close(CloseReason::Shutdown);
        let _ = tokio::time::timeout(CLOSE_LIMIT, self.shared.wire().close()).await;
        if let Some(process) = &self.process {
            let _ = tokio::time::timeout(SHUTDOWN_LIMIT, process.stop()).await;
        }
    }
}
