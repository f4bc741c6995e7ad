//! How the gateway treats a server.

use std::path::PathBuf;
use std::time::Duration;

use portcullis_model::json::{Object, Value};
use portcullis_model::{Secret, Trust};

use super::oauth::OAuthSettings;

/// Which lifecycle a server is spoken to in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Whichever the server speaks: revision 2026-07-28 where it answers `server/discover`, else `initialize`.
    #[default]
    Auto,
    /// Revision 2026-07-28; `initialize` only where the server says that it does not speak that.
    Stateless,
    /// `initialize` only.
    Legacy,
}

/// How the certificate of an endpoint is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsVerification {
    /// Against the authorities of the system.
    #[default]
    System,
    /// Not at all.
    Off,
    /// Against the authorities of a PEM file.
    Authorities(PathBuf),
}

/// A certificate of ours, for endpoints that want one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// PEM file of the certificate.
    pub certificate: PathBuf,
    /// PEM file of the key, if it is not in the same file.
    pub key: Option<PathBuf>,
    /// Passphrase of the key.
    pub passphrase: Option<Secret>,
}

/// Which items of a server are used. Patterns match the server's own names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFilter {
    /// Names and globs to keep. Nothing set keeps all; an empty list keeps none. Wins over `exclude`.
    pub include: Option<Vec<String>>,
    /// Names and globs to leave out.
    pub exclude: Vec<String>,
    /// False where no tools for resources are offered.
    pub resources: bool,
    /// False where no tools for prompts are offered.
    pub prompts: bool,
}

impl Default for ToolFilter {
    fn default() -> Self {
        Self { include: None, exclude: Vec::new(), resources: true, prompts: true }
    }
}

/// How the gateway proves who it is to an endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Authentication {
    /// By the headers of the entry, if at all.
    #[default]
    Headers,
    /// By OAuth, with the block of that name.
    OAuth(Box<OAuthSettings>),
}

/// How the gateway treats a server. What is not in the config has the documented default.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerOptions {
    /// False where the server is not to be run.
    pub enabled: bool,
    /// Longest wait for the answer to a call.
    pub timeout: Duration,
    /// Longest wait for start and `initialize`.
    pub connect_timeout: Duration,
    /// Time between signs of life.
    pub keepalive_interval: Duration,
    /// A stdio server without calls for this long is stopped.
    pub idle_timeout: Option<Duration>,
    /// A stdio server that has run for this long is restarted when it is idle.
    pub max_lifetime: Option<Duration>,
    /// False where calls are sent one after the other. Nothing where the config does not say: they then run at the same
    /// time, as the protocol allows.
    pub supports_parallel_tool_calls: Option<bool>,
    /// True where the server starts at first use.
    pub lazy: bool,
    /// How far the server is trusted; nothing where the config does not say.
    pub trust: Option<Trust>,
    /// Which lifecycle it is spoken to in.
    pub protocol: Protocol,
    /// Which of its items are used.
    pub filter: ToolFilter,
    /// How its certificate is checked.
    pub tls: TlsVerification,
    /// The certificate to offer.
    pub client_identity: Option<ClientIdentity>,
    /// How the gateway proves who it is.
    pub authentication: Authentication,
    /// The members of `sampling` that are set and valid: `enabled`, `max_rpm`, `timeout`, `max_tokens_cap`,
    /// `max_tool_rounds`, `model`, `allowed_models`, `log_level`.
    pub sampling: Value,
    /// The members of `elicitation` that are set and valid: `enabled`, `timeout`.
    pub elicitation: Value,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout: Duration::from_mins(5),
            connect_timeout: Duration::from_mins(1),
            keepalive_interval: Duration::from_mins(3),
            idle_timeout: None,
            max_lifetime: None,
            supports_parallel_tool_calls: None,
            lazy: false,
            trust: None,
            protocol: Protocol::Auto,
            filter: ToolFilter::default(),
            tls: TlsVerification::System,
            client_identity: None,
            authentication: Authentication::Headers,
            sampling: Object::new().into(),
            elicitation: Object::new().into(),
        }
    }
}
