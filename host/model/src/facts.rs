//! What the host tells a policy besides the subject.

use crate::{Principal, ServerName, SessionId, Span};
use serde::{Deserialize, Serialize};

/// Who may answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ApproverClass {
    /// The model's own MCP host, which may answer by itself.
    Client,
    /// A person with a proof of their own.
    Operator,
}

impl ApproverClass {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Operator => "operator",
        }
    }
}

/// How far the operator trusts a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Trust {
    /// Write-capable calls ask.
    Untrusted,
    /// As the operator's own.
    Full,
}

/// Which lifecycle the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Era {
    /// `initialize`, revisions 2024-11-05 to 2025-11-25.
    Initialize,
    /// Stateless, revision 2026-07-28.
    Stateless,
}

/// The client's claim of what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A label that the session carries, with the source that set it first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelFact {
    /// The label.
    pub name: String,
    /// The server whose content set it.
    pub server: String,
    /// The tool whose content set it.
    pub tool: String,
}

/// How an echoed text was encoded in the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// As it was.
    Plain,
    /// Base64, either alphabet.
    Base64,
    /// Hexadecimal.
    Hex,
    /// Percent-encoded.
    Percent,
    /// Backwards.
    Reversed,
}

/// The host's proof that a part of an argument came from labelled content seen in this session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// The part of the argument.
    pub span: Span,
    /// The label of the source.
    pub label: String,
    /// The server of the source.
    pub server: String,
    /// The tool of the source.
    pub tool: String,
    /// How it was encoded.
    pub encoding: Encoding,
    /// True where the source stood in running prose.
    pub prose: bool,
    /// Length of the matched source in bytes.
    pub length: u32,
    /// Number of the text that it came from, within the session.
    pub text: u32,
}

/// The current sum of one meter and key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterReading {
    /// The meter.
    pub meter: String,
    /// What is counted under.
    pub key: String,
    /// The sum in the window.
    pub amount: u64,
    /// The window in seconds.
    pub window_seconds: u32,
}

/// What the host tells besides the subject. Mirrors `types.facts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The session.
    pub session: SessionId,
    /// Whom it belongs to.
    pub principal: Principal,
    /// The client's claim.
    pub client: ClientFacts,
    /// The client's lifecycle.
    pub era: Era,
    /// The server that the subject belongs to.
    pub server: Option<ServerName>,
    /// The tier that the config gives to it.
    pub server_trust: Option<Trust>,
    /// The highest class of approver that can be asked now.
    pub approver: Option<ApproverClass>,
    /// The labels of the session.
    pub labels: Vec<LabelFact>,
    /// True where echoes may be missing.
    pub echoes_incomplete: bool,
    /// What was seen before, in the arguments.
    pub echoes: Vec<Echo>,
    /// The policy's own meters.
    pub meters: Vec<MeterReading>,
    /// Calls with tools in a row for this server's sampling.
    pub tool_rounds: u32,
    /// 1 for the first evaluation of a passage.
    pub round: u32,
}
