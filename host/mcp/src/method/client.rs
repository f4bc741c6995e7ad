//! What a client may send to the gateway.

use portcullis_model::CallKind;
use rmcp::model::{
    CallToolRequestMethod, CancelTaskMethod, CancelledNotificationMethod, CompleteRequestMethod, ConstString as _,
    DiscoverRequestMethod, GetPromptRequestMethod, GetTaskMethod, InitializeResultMethod,
    InitializedNotificationMethod, ListPromptsRequestMethod, ListResourceTemplatesRequestMethod,
    ListResourcesRequestMethod, ListToolsRequestMethod, PingRequestMethod, ProgressNotificationMethod,
    ReadResourceRequestMethod, RootsListChangedNotificationMethod, SetLevelRequestMethod, SubscribeRequestMethod,
    SubscriptionsListenRequestMethod, UnsubscribeRequestMethod, UpdateTaskMethod,
};

/// A request that a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientMethod {
    /// `initialize`.
    Initialize,
    /// `ping`.
    Ping,
    /// `tools/list`.
    ListTools,
    /// `tools/call`.
    CallTool,
    /// `prompts/list`.
    ListPrompts,
    /// `prompts/get`.
    GetPrompt,
    /// `resources/list`.
    ListResources,
    /// `resources/templates/list`.
    ListResourceTemplates,
    /// `resources/read`.
    ReadResource,
    /// `resources/subscribe`.
    Subscribe,
    /// `resources/unsubscribe`.
    Unsubscribe,
    /// `completion/complete`.
    Complete,
    /// `logging/setLevel`.
    SetLevel,
    /// `server/discover`, of the stateless era.
    Discover,
    /// `subscriptions/listen`, of the stateless era.
    Listen,
    /// `tasks/…`, of either era.
    Task(TaskMethod),
    /// Anything else.
    Unknown,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listable {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

impl Listable {
    /// Everything that can be listed, in the order in which servers are asked.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the capability of a server without which it is not asked for.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

/// What is done with a task: a call that goes on after its request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskMethod {
    /// `tasks/get`: how it is doing; in the stateless era also what came of it and what it asks.
    Get,
    /// `tasks/result` (2025-11-25): waits for what comes of it.
    Result,
    /// `tasks/list` (2025-11-25).
    List,
    /// `tasks/cancel`.
    Cancel,
    /// `tasks/update` (tasks extension of 2026-07-28): answers to what it asks.
    Update,
}

impl TaskMethod {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => GetTaskMethod::VALUE,
            // Of revision 2025-11-25; `rmcp` names neither.
            Self::Result => "tasks/result",
            Self::List => "tasks/list",
            Self::Cancel => CancelTaskMethod::VALUE,
            Self::Update => UpdateTaskMethod::VALUE,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Get, Self::Result, Self::List, Self::Cancel, Self::Update]
            .into_iter()
            .find(|method| method.as_str() == name)
    }
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// What its kind says: `tools/call`, `prompts/get`, `resources/read`, `completion/complete`.
    Plain,
    /// `tools/call` of a client of the stateless era that takes a task for an answer (tasks extension).
    MayBecomeTask,
    /// `tools/call` of a client that asks for a task with it (2025-11-25).
    AsTask,
    /// `tools/call` of a tool that runs as a task only, for a client that knows no tasks: the gateway waits for its end.
    ThroughTask,
    /// `resources/subscribe`.
    Subscribe,
    /// `resources/unsubscribe`.
    Unsubscribe,
}

/// What becomes of a request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// It opens the session.
    Introduce,
    /// It is answered with nothing.
    Pong,
    /// It sets the log level of the session.
    SetLevel,
    /// It is answered from what passed the listing gate before.
    List(Listable),
    /// It goes through the call gate to a server, and what comes back through the result gate.
    Call(CallKind, Verb),
    /// It goes to the server of a task that the client made; what comes back through the result gate.
    Task(TaskMethod),
    /// It is refused as a method that is not offered.
    Refuse,
}

impl ClientMethod {
    /// Returns the method of that name.
    pub fn parse(name: &str) -> Self {
        match name {
            InitializeResultMethod::VALUE => Self::Initialize,
            PingRequestMethod::VALUE => Self::Ping,
            ListToolsRequestMethod::VALUE => Self::ListTools,
            CallToolRequestMethod::VALUE => Self::CallTool,
            ListPromptsRequestMethod::VALUE => Self::ListPrompts,
            GetPromptRequestMethod::VALUE => Self::GetPrompt,
            ListResourcesRequestMethod::VALUE => Self::ListResources,
            ListResourceTemplatesRequestMethod::VALUE => Self::ListResourceTemplates,
            ReadResourceRequestMethod::VALUE => Self::ReadResource,
            SubscribeRequestMethod::VALUE => Self::Subscribe,
            UnsubscribeRequestMethod::VALUE => Self::Unsubscribe,
            CompleteRequestMethod::VALUE => Self::Complete,
            SetLevelRequestMethod::VALUE => Self::SetLevel,
            DiscoverRequestMethod::VALUE => Self::Discover,
            SubscriptionsListenRequestMethod::VALUE => Self::Listen,
            other => TaskMethod::parse(other).map_or(Self::Unknown, Self::Task),
        }
    }

    /// Returns what becomes of it.
    pub fn treatment(self) -> Treatment {
        match self {
            Self::Initialize => Treatment::Introduce,
            Self::Ping => Treatment::Pong,
            Self::SetLevel => Treatment::SetLevel,
            Self::ListTools => Treatment::List(Listable::Tools),
            Self::ListPrompts => Treatment::List(Listable::Prompts),
            Self::ListResources => Treatment::List(Listable::Resources),
            Self::ListResourceTemplates => Treatment::List(Listable::Templates),
            Self::CallTool => Treatment::Call(CallKind::Tool, Verb::Plain),
            Self::GetPrompt => Treatment::Call(CallKind::Prompt, Verb::Plain),
            Self::ReadResource => Treatment::Call(CallKind::Resource, Verb::Plain),
            // To be told of changes of a resource is to read it: the same question decides both.
            Self::Subscribe => Treatment::Call(CallKind::Resource, Verb::Subscribe),
            Self::Unsubscribe => Treatment::Call(CallKind::Resource, Verb::Unsubscribe),
            Self::Complete => Treatment::Call(CallKind::Completion, Verb::Plain),
            Self::Task(method) => Treatment::Task(method),
            Self::Discover | Self::Listen | Self::Unknown => Treatment::Refuse,
        }
    }
}

/// A notification that a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientNotification {
    /// `notifications/initialized`.
    Initialized,
    /// `notifications/cancelled`: the request that it names is withdrawn.
    Cancelled,
    /// `notifications/progress` of a request that a server sent.
    Progress,
    /// `notifications/roots/list_changed`.
    RootsListChanged,
    /// Anything else; dropped.
    Unknown,
}

impl ClientNotification {
    /// Returns the notification of that name.
    pub fn parse(name: &str) -> Self {
        match name {
            InitializedNotificationMethod::VALUE => Self::Initialized,
            CancelledNotificationMethod::VALUE => Self::Cancelled,
            ProgressNotificationMethod::VALUE => Self::Progress,
            RootsListChangedNotificationMethod::VALUE => Self::RootsListChanged,
            _ => Self::Unknown,
        }
    }
}
