//! What became of each server, for people and for `--json` output.

mod phase;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use portcullis_model::{ItemKind, PolicyName, Principal, ServerName};
use portcullis_supervisor::sandbox::Confinement;

pub use phase::Phase;

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

/// What a sampling provider did for a server since the gateway started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingUsage {
    /// Requests that it answered.
    pub requests: u64,
    /// Requests that it did not answer.
    pub errors: u64,
    /// Tokens, as it counts them.
    pub tokens: u64,
    /// Answers by which the model wants to use tools.
    pub tool_uses: u64,
}

/// What a server was used for since the gateway started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls, reads and completions that were sent to it.
    pub requests: u64,
    /// How many of them it answered with an error, or with a result that says it is one.
    pub errors: u64,
    /// How many of them it did not answer, or not usably.
    pub unanswered: u64,
    /// Tokens in what was sent, estimated: bytes of text, by four.
    pub tokens_sent: u64,
    /// Tokens in what it answered, estimated likewise.
    pub tokens_received: u64,
    /// How often each tool was called, by the server's own names.
    pub tools: BTreeMap<String, u64>,
    /// What the sampling provider of the config did for it.
    pub sampling: SamplingUsage,
    /// How often tools were called that are not counted by name, as there are too many.
    pub other_tools: u64,
}

/// Whether calls are let through to a server that failed several times in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Breaker {
    /// They are.
    #[default]
    Closed,
    /// They are refused at once, for so long.
    Open(Duration),
    /// The next one, or the one that runs, decides.
    HalfOpen,
}

impl Breaker {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open(_) => "open",
            Self::HalfOpen => "half-open",
        }
    }
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
    /// Since when it is there.
    pub since: SystemTime,
    /// How long until it is tried again, where that is due.
    pub retry_in: Option<Duration>,
    /// Why it is there, where that needs a word: for the operator, escaped and bounded.
    pub reason: Option<String>,
    /// Stable code of the reason, written by the host: safe to show to the model.
    pub reason_code: Option<String>,
    /// The name and version that the server gives itself, escaped.
    pub implementation: Option<String>,
    /// The revision of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// What of it is confined and what is not, where it runs in a sandbox.
    pub confinement: Option<Confinement>,
    /// What becomes of a changed entry that is not in use yet while the former one works; for the operator, escaped.
    pub pending: Option<String>,
    /// How many items got how far.
    pub counts: Counts,
    /// What is not published, and why.
    pub withheld: Vec<WithheldItem>,
    /// How long the last successful start took, from the config gate to published.
    pub started_in: Option<Duration>,
    /// How often it was started or connected.
    pub starts: u64,
    /// Whether calls are let through to it.
    pub breaker: Breaker,
    /// What it was used for.
    pub usage: Usage,
}

impl ServerStatus {
    /// Returns the status of a server that was not started yet.
    pub(crate) fn configured(server: ServerName, transport: &'static str) -> Self {
        Self {
            server,
            fleet: 0,
            transport,
            phase: Phase::Configured,
            since: SystemTime::now(),
            retry_in: None,
            reason: None,
            reason_code: None,
            implementation: None,
            protocol: None,
            confinement: None,
            pending: None,
            counts: Counts::default(),
            withheld: Vec::new(),
            started_in: None,
            starts: 0,
            breaker: Breaker::Closed,
            usage: Usage::default(),
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
    /// What of the config is not in use, and why; for the operator.
    pub config_note: Option<String>,
    /// One entry a server and fleet: fleets in the order of their start, servers in the order of the config.
    pub servers: Vec<ServerStatus>,
    /// The fleets that run. None before the first client came.
    pub fleets: Vec<FleetStatus>,
}
