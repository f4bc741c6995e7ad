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

/// Which sockets a server may open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// None.
    #[default]
    None,
    /// TCP connections to these ports, of whatever host.
    Ports(Vec<u16>),
    /// Those of the internet.
    All,
}

/// What a stdio server may reach besides its streams. The default is nothing but what it needs to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Its sockets.
    pub network: Network,
    /// Files and folders that it may read and run.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may read, change and run.
    pub write: Vec<PathBuf>,
    /// True where it may reach sockets in the file system.
    pub local_sockets: bool,
    /// True where it is not started unless the kernel can keep all of this.
    pub strict: bool,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self { network: Network::None, read: Vec::new(), write: Vec::new(), local_sockets: false, strict: true }
    }
}

/// An endpoint that answers chat completions in the shape of the API of `OpenAI`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEndpoint {
    /// Its base, as in `https://api.example.com/v1`, or the whole URL of its chat completions.
    pub url: String,
    /// The name under which it knows the model.
    pub model: String,
    /// What proves who asks, where anything has to.
    pub api_key: Option<Secret>,
    /// Longest wait for an answer, where it is not that of the server or of what is asked.
    pub timeout: Option<Duration>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// The header that names a conversation to an endpoint that keeps conversations itself.
    pub session_header: Option<String>,
}

impl ChatEndpoint {
    /// Returns the headers of every request, without the one that names a conversation.
    pub fn headers(&self) -> Vec<(String, Secret)> {
        let bearer = |key: &Secret| ("Authorization".to_owned(), Secret::new(format!("Bearer {}", key.expose())));
        self.api_key.iter().map(bearer).collect()
    }
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
    /// The endpoint that it is, where it is no MCP server but an agent behind chat completions.
    pub chat: Option<ChatEndpoint>,
    /// What answers its sampling requests where the client cannot.
    pub sampling_provider: Option<ChatEndpoint>,
    /// What it may reach, where it is confined at all.
    pub sandbox: Option<Sandbox>,
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
            chat: None,
            sampling_provider: None,
            sandbox: None,
            sampling: Object::new().into(),
            elicitation: Object::new().into(),
        }
    }
}
