//! How to connect and how to call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_config::{ClientIdentity, OAuthSettings, Protocol, TlsVerification};
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_supervisor::Launcher;
use portcullis_supervisor::sandbox::Sandbox;
use rmcp::model::ProtocolVersion;

use super::{CallerId, Eras};
use crate::transport::stdio::StderrSink;

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// What the client can do, as the server is told: the `capabilities` object of `initialize`, in the stateless era
    /// `clientCapabilities` of every request.
    pub capabilities: Value,
    /// Who the client is: the `clientInfo` object of `initialize`, or of every request.
    pub client_info: Value,
    /// The protocol version to offer in `initialize`.
    pub protocol_version: String,
    /// Which era is spoken.
    pub protocol: Protocol,
    /// How the certificate of an HTTP endpoint is checked.
    pub tls: TlsVerification,
    /// The certificate that is offered to an HTTP endpoint that wants one.
    pub client_identity: Option<ClientIdentity>,
    /// How an HTTP endpoint is logged in at, where it is.
    pub login: Option<LoginOptions>,
    /// What is known of the eras of servers, and where it is noted.
    pub eras: Arc<Eras>,
    /// How long start and handshake may take.
    pub connect_timeout: Duration,
    /// How long a request may take that says nothing else, as long as the server shows no progress.
    pub call_timeout: Duration,
    /// What a stdio server may reach; whatever the gateway may where nothing is said.
    pub sandbox: Option<Sandbox>,
    /// How the supervisor of a stdio server is started; this very program where nothing is said.
    pub launcher: Option<Launcher>,
    /// Where lines of standard error go besides the peer.
    pub log: Option<Arc<dyn StderrSink>>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            capabilities: object! {}.into(),
            client_info: object! { "name" => "portcullis", "version" => env!("CARGO_PKG_VERSION") }.into(),
            protocol_version: ProtocolVersion::LATEST_WITH_INITIALIZE.as_str().to_owned(),
            protocol: Protocol::Auto,
            tls: TlsVerification::System,
            client_identity: None,
            login: None,
            eras: Arc::default(),
            connect_timeout: Duration::from_mins(1),
            call_timeout: Duration::from_mins(5),
            sandbox: None,
            launcher: None,
            log: None,
        }
    }
}

/// How an endpoint is logged in at.
#[derive(Clone, Debug)]
pub struct LoginOptions {
    /// What the config says of it.
    pub settings: OAuthSettings,
    /// The folder with the tokens.
    pub folder: PathBuf,
}

/// How to call.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// How long the server may take without showing progress; the connection's limit where nothing is said.
    pub timeout: Option<Duration>,
    /// The token under which the peer wants to hear of progress. The server gets one of the gateway's own; without this
    /// it gets none.
    pub progress_token: Option<Value>,
    /// True where a tool's call may be answered with a task: by the tasks extension of 2026-07-28, or as a task-augmented
    /// request of 2025-11-25. Otherwise a server is not asked for one, and an answer of that kind counts as malformed.
    pub takes_task: bool,
    /// Who calls, in the peer's own numbers: told to [`Peer::request_of`](super::Peer::request_of) with what the server
    /// wants during this very call, and [`Peer::notification_of`](super::Peer::notification_of) with what it says on its stream.
    pub caller: Option<CallerId>,
    /// What the client can do that calls, where that is something else than the connection was made for: the stateless era
    /// says it with every request.
    pub capabilities: Option<Value>,
}
