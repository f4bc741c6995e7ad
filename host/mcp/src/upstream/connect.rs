//! Reaching a server and shaking hands.

mod http;
mod negotiate;
mod stdio;

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::{Cleared, Environment, Launching};
use portcullis_model::{Era, Launch};
use tokio::task::JoinHandle;

pub(crate) use stdio::TEMPORARY;

use super::shared::Shared;
use super::subscriptions::{Offered, follow};
use super::{CallError, ConnectOptions, Hello, Peer, Upstream};
use crate::jsonrpc::ErrorObject;
use crate::transport::http::HttpSetupError;
use crate::transport::stdio::SpawnError;

/// A server could not be connected.
#[derive(Debug, thiserror::Error)]
#[error("the server could not be connected")]
pub struct ConnectError {
    /// Why.
    #[source]
    pub failure: ConnectFailure,
    /// The last lines of the server's standard error, oldest first: foreign text, to be escaped where it is shown.
    pub stderr: Vec<String>,
}

/// Why a server could not be connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// Its process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The gateway's own program could not be found.
    #[error("the gateway's own program cannot be found")]
    Launcher(#[source] std::io::Error),
    /// Start and handshake took too long.
    #[error("the handshake took longer than {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The handshake has no outcome.
    #[error(transparent)]
    Handshake(CallError),
    /// The server refused the handshake. Its message is foreign text.
    #[error("the server refused the handshake with code {}", .0.code())]
    Refused(ErrorObject),
    /// The server speaks no version that the gateway speaks.
    #[error("the server offers the protocol version {0:?}, which is not supported")]
    Version(String),
    /// The entry does not make an HTTP client.
    #[error(transparent)]
    Http(#[from] HttpSetupError),
    /// The entry and what was made for it do not fit.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// Tasks that end with the connection.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<JoinHandle<()>>);

impl Tasks {
    /// Has what the server tells by itself listened to, where the era has that as a request.
    fn follow(&mut self, shared: &Arc<Shared>, hello: &Hello) {
        if hello.era == Era::Stateless {
            self.0.push(tokio::spawn(follow(Arc::clone(shared), Offered::of(hello))));
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Upstream {
    /// Starts or reaches a server and shakes hands.
    ///
    /// The environment is that of a stdio server, as its gate left it; the entry's own variables are laid over it here.
    pub async fn connect(
        launching: Cleared<Launching>,
        environment: Option<Cleared<Environment>>,
        options: ConnectOptions,
        peer: Arc<dyn Peer>,
    ) -> Result<Arc<Self>, ConnectError> {
        match &launching.get().entry.launch {
            Launch::Stdio { .. } => stdio::connect(&launching, environment.as_ref(), options, peer).await.map(Arc::new),
            Launch::Http { .. } => http::connect(&launching.get().entry, options, peer)
                .await
                .map(Arc::new)
                .map_err(|failure| ConnectError { failure, stderr: Vec::new() }),
        }
    }
}
