//! The gateway as the client of one server.
//!
//! [`Upstream::connect`] starts or reaches a server and shakes hands; [`Upstream::call`] and the others ask it; what the
//! server asks or says goes to a [`Peer`]. Effects take [`Cleared`] values: an entry that was not screened cannot be
//! started, a call that was not authorized cannot be sent. Everything that waits has a bound, and everything that waits
//! for a server fails at once when the server goes away or answers something unusable.
//!
//! It knows nothing about policies, names that clients see, or several servers.
//!
//! Both eras are spoken: the one with `initialize` and the stateless one of 2026-07-28. Which of them is found out in
//! `connect`; what the stateless one adds to a request and expects of a result is in `era`. Whoever calls sees one kind of
//! server: what an era does not have is done in its own way or answered here.

mod call;
mod connect;
mod era;
mod eras;
mod error;
mod headers;
mod hello;
mod list;
mod options;
mod peer;
mod pending;
mod rounds;
mod shared;
mod subscriptions;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::{Call, Cleared};
use portcullis_model::json::{Object, Value};

use crate::jsonrpc::{ErrorObject, code};
use crate::transport::stdio::Process;
use portcullis_supervisor::sandbox::Confinement;
use subscriptions::Subscriptions;

pub use connect::{ConnectError, ConnectFailure};
pub use eras::Eras;
pub use error::{CallError, CloseReason};
pub use hello::Hello;
pub use list::{Excluded, Incomplete, ListMethod, Listing};
pub use options::{CallOptions, ConnectOptions, LoginOptions};
pub use peer::{BoxFuture, CallerId, Peer};
pub use shared::Counters;

pub(crate) use connect::TEMPORARY;
pub(crate) use headers::{Binding, Bindings, bindings};

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

    /// Returns what of a stdio server is confined and what is not, where it runs in a sandbox.
    pub fn confinement(&self) -> Option<&Confinement> {
        self.process.as_ref()?.confinement()
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
    /// Calls and reads are refused here: they have a gate. What the stateless era does not have is done as that era does
    /// it: a `ping` asks `server/discover`, `logging/setLevel` is remembered and said with every further request, and resources
    /// are subscribed to by the one subscription of the connection.
    pub async fn request(&self, method: &str, params: Option<&Value>) -> Result<Outcome, CallError> {
        self.request_with(method, params, CallOptions::default()).await
    }

    /// As [`Upstream::request`], with a time limit of its own.
    pub async fn request_with(
        &self,
        method: &str,
        params: Option<&Value>,
        options: CallOptions,
    ) -> Result<Outcome, CallError> {
        if call::is_gated(method) {
            return Err(CallError::Gated);
        }
        let send = |method, params| call::request(&self.shared, method, params, options);
        match (self.shared.era(), method) {
            (Some(_), "ping") => {
                let outcome = send("server/discover", None).await?;
                if era::has_ended(&outcome) {
                    self.shared.close(CloseReason::EraEnded);
                }
                Ok(outcome)
            }
            (Some(era), "logging/setLevel") => {
                era.set_level(params.and_then(|params| params.get("level")).cloned());
                Ok(Ok(Object::new().into()))
            }
            (Some(era), "resources/subscribe" | "resources/unsubscribe") => {
                Ok(self.subscribe(era.subscriptions(), method == "resources/subscribe", params))
            }
            (None | Some(_), _) => send(method, params).await,
        }
    }

    /// Adds a resource to the subscription of the connection, or takes it out.
    fn subscribe(&self, subscriptions: &Subscriptions, adds: bool, params: Option<&Value>) -> Outcome {
        let refused = |code, text: &str| Err(ErrorObject::new(code, text));
        if !self.hello.has_flag("resources", "subscribe") {
            return refused(code::METHOD_NOT_FOUND, "this server offers no subscriptions");
        }
        match params.and_then(|params| params.get("uri")).and_then(Value::as_str) {
            None => return refused(code::INVALID_PARAMS, "there is no URI"),
            Some(uri) if adds && !subscriptions.add(uri) => {
                return refused(code::INVALID_PARAMS, "too many resources are subscribed to");
            }
            Some(_) if adds => {}
            Some(uri) => subscriptions.remove(uri),
        }
        Ok(Object::new().into())
    }

    /// Has the one subscription of a connection of the stateless era listen for a task, or not any more. Servers of the other
    /// era tell of tasks unasked.
    pub fn listen_for_task(&self, id: &str, listens: bool) {
        if let Some(era) = self.shared.era() {
            era.subscriptions().set_task(id, listens);
        }
    }

    /// Sends a notification. The stateless era has none of a client, so a server of that era is sent nothing.
    pub async fn notify(&self, method: &str, params: Option<&Value>) -> Result<(), CallError> {
        if self.shared.era().is_some() {
            return Ok(());
        }
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
