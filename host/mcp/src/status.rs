//! What became of each server, for people and for `--json` output.

use portcullis_model::{ItemKind, PolicyName, Principal, ServerName};

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Named in the config and not started yet.
    #[default]
    Configured,
    /// Being screened, started, connected, listed or scanned.
    Connecting,
    /// Its items are published.
    Ready,
    /// It could not be reached, or it ended; the reason says whether another try is due.
    Failed,
    /// The config gate refused it, or a new policy set stopped it.
    Denied,
    /// Switched off in the config, or by safe mode.
    Disabled,
}

impl Phase {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Disabled => "disabled",
        }
    }

    /// Returns true once the first try to reach the server has ended, well or not.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Configured | Self::Connecting => false,
            Self::Ready | Self::Failed | Self::Denied | Self::Disabled => true,
        }
    }
}

/// Something that a server listed and that is not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldItem {
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it; may be any text.
    pub name: String,
    /// Stable code of the reason.
    pub code: String,
    /// The policy that decided, where one did.
    pub policy: Option<PolicyName>,
    /// For the operator: escaped and bounded.
    pub detail: String,
}

/// How many items of a server got how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tools that the server listed.
    pub tools_listed: usize,
    /// Tools that are published, utility tools of the gateway not counted.
    pub tools_exposed: usize,
    /// Tools that the operator's filter left out.
    pub tools_filtered: usize,
    /// Items of any kind that the server listed.
    pub listed: usize,
    /// Items of any kind that are published, utility tools of the gateway not counted.
    pub exposed: usize,
    /// Items of any kind that were withheld, each with its reason in [`ServerStatus::withheld`].
    pub withheld: usize,
}

/// What became of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name in the config.
    pub server: ServerName,
    /// The number of the fleet that it is of, as in [`FleetStatus::number`]; 0 where nothing was started yet.
    pub fleet: u64,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// Where it is in its life.
    pub phase: Phase,
    /// Why it is not ready: for the operator, escaped and bounded.
    pub reason: Option<String>,
    /// Stable code of the reason, written by the host: safe to show to the model.
    pub reason_code: Option<String>,
    /// The name and version that the server gives itself, escaped.
    pub implementation: Option<String>,
    /// The revision of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// What becomes of a changed entry that is not in use yet while the former one works; for the operator, escaped.
    pub pending: Option<String>,
    /// How many items got how far.
    pub counts: Counts,
    /// What is not published, and why.
    pub withheld: Vec<WithheldItem>,
    /// How long the last successful start took, from the config gate to published.
    pub started_in: Option<std::time::Duration>,
}

impl ServerStatus {
    /// Returns the status of a server that was not started yet.
    pub(crate) fn configured(server: ServerName, transport: &'static str) -> Self {
        Self {
            server,
            fleet: 0,
            transport,
            phase: Phase::Configured,
            reason: None,
            reason_code: None,
            implementation: None,
            protocol: None,
            pending: None,
            counts: Counts::default(),
            withheld: Vec::new(),
            started_in: None,
        }
    }
}

/// What a change of the config changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChanges {
    /// Servers that were not in the config before.
    pub added: Vec<ServerName>,
    /// Servers that are not in it any more.
    pub removed: Vec<ServerName>,
    /// Servers whose entry or options differ.
    pub changed: Vec<ServerName>,
    /// True where items are published under other names.
    pub naming: bool,
}

/// The servers that were started for clients with the same capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetStatus {
    /// Its number, counted from 1 in the order of the starts.
    pub number: u64,
    /// Whose clients it serves.
    pub principal: Principal,
    /// What its servers were told that clients can do, as in `roots, sampling`; `none` for nothing.
    pub capabilities: String,
    /// How many clients it serves now.
    pub sessions: usize,
    /// How many of them declared more than that: so many different sets are not served at once.
    pub narrowed: usize,
}

/// What became of all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// True where safe mode keeps every server off.
    pub safe_mode: bool,
    /// Generation of the policy set that judges now.
    pub generation: u64,
    /// One entry a server and fleet: fleets in the order of their start, servers in the order of the config.
    pub servers: Vec<ServerStatus>,
    /// The fleets that run. None before the first client came.
    pub fleets: Vec<FleetStatus>,
}
