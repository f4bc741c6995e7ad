//! What each gate judges. Mirrors the gate interfaces of `wit/v0.1`.

use std::fmt;
use std::sync::Arc;

use crate::json::Value;
use crate::{Digest, GateName, Launch, Occasion, Origin, Segment, ServerEntry, ServerName};
use serde::{Deserialize, Serialize};

mod listing;

pub use listing::{Batch, CatalogueEntry, DriftedField, FieldDigest, Item, ItemKind, Pinned};

/// The subject of the config gate. Its `Debug` leaves out the segments: they may hold secrets.
#[derive(Clone, PartialEq)]
pub struct ConfigSubject {
    /// The entry.
    pub entry: Arc<ServerEntry>,
    /// What is about to happen with it.
    pub occasion: Occasion,
    /// Every string of the entry's document, keys included.
    pub segments: Vec<Segment>,
}

impl fmt::Debug for ConfigSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConfigSubject")
            .field("entry", &self.entry)
            .field("occasion", &self.occasion)
            .field("segments", &self.segments.len())
            .finish()
    }
}

impl ConfigSubject {
    /// Returns how the server is reached.
    pub fn launch(&self) -> &Launch {
        &self.entry.launch
    }

    /// Returns where the entry came from.
    pub fn origin(&self) -> Origin {
        self.entry.origin
    }
}

/// A variable on offer: its name, never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// True where an operator tagged it as meant for servers.
    pub tagged: bool,
}

/// The operating system that servers run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// Returns the platform of this build; anything that is neither macOS nor Windows counts as Linux.
    pub fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// The subject of the environment gate.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentSubject {
    /// The entry that is about to start.
    pub config: ConfigSubject,
    /// Where it runs.
    pub platform: Platform,
    /// What the gateway's own environment offers.
    pub offered: Vec<Offered>,
}

/// What a server says of a tool's effects; nothing where absent or not a boolean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// `title`.
    pub title: Option<String>,
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// State of a definition against what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PinState {
    /// Nothing was approved yet.
    Unpinned,
    /// As approved.
    Approved,
    /// Changed since.
    Drifted,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallKind {
    /// `tools/call`.
    Tool,
    /// `prompts/get`.
    Prompt,
    /// `resources/read`.
    Resource,
    /// `completion/complete`.
    Completion,
}

impl CallKind {
    /// Returns the name used in output and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Completion => "completion",
        }
    }
}

/// The subject of the call gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSubject {
    /// The server.
    pub server: ServerName,
    /// What is asked for.
    pub kind: CallKind,
    /// The server's own name for it.
    pub name: String,
    /// True where the client used a utility tool of the gateway.
    pub utility: bool,
    /// What the server says of its effects.
    pub annotations: Annotations,
    /// State of the definition.
    pub pin: PinState,
    /// Digest of the published definition.
    pub definition: Option<Digest>,
    /// The arguments; an empty object where there are none.
    pub arguments: Value,
    /// The strings of the arguments.
    pub segments: Vec<Segment>,
}

/// What is on its way to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResultKind {
    /// The result of a call, a prompt or a resource read.
    Result,
    /// A JSON-RPC error.
    Error,
    /// A progress message.
    Progress,
    /// A log message.
    Log,
    /// Lines of standard error that are about to be shown.
    Stderr,
}

/// Binary content that was taken out of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// JSON pointer of the member that held it.
    pub pointer: String,
    /// Its MIME type, as claimed.
    pub mime: String,
    /// Decoded length in bytes.
    pub length: u64,
    /// Digest of the decoded bytes.
    pub digest: Digest,
}

/// The subject of the result gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultSubject {
    /// The server.
    pub server: ServerName,
    /// What it is.
    pub kind: ResultKind,
    /// What was called; empty where nothing was.
    pub name: String,
    /// True for errors of either form.
    pub is_error: bool,
    /// The strings, keys included.
    pub segments: Vec<Segment>,
    /// The binaries.
    pub descriptors: Vec<Descriptor>,
}

/// What matters of a sampling request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// `maxTokens`.
    pub max_tokens: Option<u64>,
    /// Model hints in order of preference.
    pub models: Vec<String>,
    /// True where the request hands tools to the model.
    pub tools: bool,
}

/// One field of an elicitation form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormField {
    /// The key of the property.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its type, as the schema says.
    pub kind: String,
    /// Its format.
    pub format: String,
    /// True where the schema requires it.
    pub required: bool,
}

/// What a server asks of the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestKind {
    /// `sampling/createMessage`.
    Sampling(Sampling),
    /// `elicitation/create` in form mode.
    ElicitationForm(Vec<FormField>),
    /// `elicitation/create` in URL mode.
    ElicitationUrl(String),
    /// `roots/list`.
    Roots,
}

/// The subject of the request gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestSubject {
    /// The server.
    pub server: ServerName,
    /// What it asks.
    pub kind: RequestKind,
    /// The parameters of the request.
    pub document: Value,
    /// Their strings.
    pub segments: Vec<Segment>,
}

/// What a gate judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// Of the listing gate.
    Listing(Batch),
    /// Of the call gate.
    Call(CallSubject),
    /// Of the result gate.
    Result(ResultSubject),
    /// Of the request gate.
    Request(RequestSubject),
    // Last, since what is not written must not shift the numbers by which the others are.
    /// Of the config gate.
    #[serde(skip)]
    Config(ConfigSubject),
    /// Of the environment gate.
    #[serde(skip)]
    Environment(EnvironmentSubject),
}

impl Subject {
    /// Returns the gate that judges it.
    pub fn gate(&self) -> GateName {
        match self {
            Self::Config(_) => GateName::Config,
            Self::Environment(_) => GateName::Environment,
            Self::Listing(_) => GateName::Listing,
            Self::Call(_) => GateName::Call,
            Self::Result(_) => GateName::Result,
            Self::Request(_) => GateName::Request,
        }
    }

    /// Returns the total length in bytes of its texts, which decides where and how long it may be evaluated.
    pub fn text_bytes(&self) -> usize {
        let sum = |segments: &[Segment]| segments.iter().map(|segment| segment.text.len()).sum::<usize>();
        match self {
            Self::Config(subject) => sum(&subject.segments),
            Self::Environment(subject) => sum(&subject.config.segments),
            Self::Listing(batch) => batch.items.iter().map(|item| sum(&item.segments)).sum(),
            Self::Call(subject) => sum(&subject.segments),
            Self::Result(subject) => sum(&subject.segments),
            Self::Request(subject) => sum(&subject.segments),
        }
    }
}
