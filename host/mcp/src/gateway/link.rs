//! The port to one connected server, and to what connects it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portcullis_config::ServerOptions;
use portcullis_gates::{Call, Cleared, Environment, Launching};
use portcullis_model::json::Value;
use portcullis_supervisor::sandbox::Confinement;

use super::ServerPeer;
use super::tasks::TaskForm;
use crate::jsonrpc::ErrorObject;
use crate::method::{Listable, Verb};

/// A boxed future, as ports need it.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes the parameters of progress notifications that belong to a call, in the order of arrival. Does not wait.
pub(crate) type OnProgress = Arc<dyn Fn(Value) + Send + Sync>;

/// What a server answered: its result, or its error.
pub(crate) type Answer = Result<Value, ErrorObject>;

/// What a server said of itself when it was connected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Greeting {
    /// The revision that was agreed on.
    pub(crate) revision: String,
    /// Its name and version; its own text.
    pub(crate) implementation: Option<String>,
    /// What it can do; an object.
    pub(crate) capabilities: Value,
    /// Its instructions; its own text.
    pub(crate) instructions: Option<String>,
}

impl Greeting {
    /// Returns true where the server speaks the stateless era. Revisions are dates, so they compare as text.
    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.as_str() >= "2026-07-28"
    }

    /// Returns true where the server declared the capability.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Returns what tasks it makes of tool calls, where it makes any.
    pub(crate) fn tasks(&self) -> Option<TaskForm> {
        TaskForm::offered(self.is_stateless(), &self.capabilities)
    }
}

/// Why a server gave no answer. The texts are the host's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    /// It did not answer in time; it may still have done what was asked.
    #[error("it did not answer within {} s", limit.as_secs())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// The connection ended before the answer.
    #[error("the connection ended: {detail}")]
    Gone {
        /// How, for the operator.
        detail: String,
        /// False where nothing was sent.
        sent: bool,
    },
    /// Too many requests wait for the server; this one was not sent.
    #[error("{most} requests are waiting for it already")]
    Busy {
        /// How many may.
        most: usize,
    },
    /// The server did not know the session any more and did nothing. A new connection is on its way.
    #[error("the session was not known to it any more")]
    Expired,
    /// It did nothing, for want of a login that it takes.
    #[error("it did nothing: {}", .0.describe())]
    Login(LoginTrouble),
    /// It wanted something of the client that was not given, and did not go on without.
    #[error("it did not go on: {detail}")]
    NotAnswered {
        /// What it was, in the host's words.
        detail: String,
    },
    /// What came is no valid answer.
    #[error("its answer is unusable: {detail}")]
    Malformed {
        /// What is wrong with it, in the host's words.
        detail: String,
    },
}

/// What is wrong with the login at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoginTrouble {
    /// There is none, or none that counts any more.
    Missing,
    /// It could not be renewed at the moment.
    NotNow,
    /// It does not reach as far as the call wants.
    TooNarrow,
}

impl LoginTrouble {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Missing => "it wants a login",
            Self::NotNow => "the login at it could not be renewed",
            Self::TooNarrow => "the login at it does not reach far enough",
        }
    }
}

/// All pages of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pages {
    /// The items, as the server sent them.
    pub(crate) items: Vec<Value>,
    /// Why there may be more, where there may, in the host's words.
    pub(crate) incomplete: Option<String>,
    /// For how many milliseconds the list stands, where the server says so.
    pub(crate) ttl_ms: Option<u64>,
}

/// Whose a call is.
pub(crate) struct Caller {
    /// The number of its session.
    pub(crate) session: u64,
    /// Which of its running calls it is.
    pub(crate) call: u64,
    /// What its client can do, where that is something else than the server was connected for. Servers of the stateless era
    /// are told with every call.
    pub(crate) capabilities: Option<Value>,
    /// What parameters of progress notifications are given to that belong to it.
    pub(crate) progress: Option<OnProgress>,
}

/// One connected server.
pub(crate) trait Link: Send + Sync {
    /// Returns what the server said of itself.
    fn greeting(&self) -> &Greeting;

    /// Returns what of it is confined and what is not, where it runs in a sandbox.
    fn confinement(&self) -> Option<&Confinement> {
        None
    }

    /// Sends a call and waits for its answer. Dropping the future tells the server that the call is withdrawn.
    fn call<'a>(&'a self, call: &'a Cleared<Call>, verb: Verb, caller: Caller) -> Boxed<'a, Result<Answer, LinkError>>;

    /// Lists everything of a kind, all pages.
    fn list(&self, listable: Listable) -> Boxed<'_, Result<Pages, LinkError>>;

    /// Listens for a task, by the server's own id, or does not any more.
    fn listen_for_task(&self, own_id: &str, listens: bool);

    /// Sends a request of the gateway itself, such as `logging/setLevel`.
    fn ask(&self, method: &'static str, params: Value) -> Boxed<'_, Result<Answer, LinkError>>;

    /// As [`Link::ask`], for what may take as long as `limit`.
    fn ask_for(&self, method: &'static str, params: Value, _limit: Duration) -> Boxed<'_, Result<Answer, LinkError>> {
        self.ask(method, params)
    }

    /// Sends a notification of the gateway itself.
    fn tell(&self, method: &'static str) -> Boxed<'_, ()>;

    /// Ends the connection and, where there is one, the process with all that it started.
    fn close(&self) -> Boxed<'_, ()>;
}

/// Why a server could not be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchError {
    /// Stable code of the reason.
    pub(crate) code: &'static str,
    /// For the operator, the whole chain of causes; may hold text of the server.
    pub(crate) detail: String,
    /// False where another try can't end differently.
    pub(crate) retry: bool,
}

/// What connects servers.
pub(crate) trait Launcher: Send + Sync {
    /// Starts or connects a server and greets it, declaring `capabilities` of the client.
    fn launch(
        &self,
        launching: Cleared<Launching>,
        environment: Option<Cleared<Environment>>,
        options: &ServerOptions,
        capabilities: Value,
        peer: Arc<ServerPeer>,
    ) -> Boxed<'_, Result<Arc<dyn Link>, LaunchError>>;
}
