//! What a server may send to the gateway.

use portcullis_model::json::Value;
use rmcp::model::{
    CancelledNotificationMethod, ConstString as _, CreateMessageRequestMethod, ElicitationCreateRequestMethod,
    ListRootsRequestMethod, LoggingMessageNotificationMethod, PingRequestMethod, ProgressNotificationMethod,
    PromptListChangedNotificationMethod, ResourceListChangedNotificationMethod, ResourceUpdatedNotificationMethod,
    ToolListChangedNotificationMethod,
};

/// A request that a server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerMethod {
    /// `ping`: answered by the gateway.
    Ping,
    /// `sampling/createMessage`: through the request gate to the client.
    CreateMessage,
    /// `elicitation/create`: through the request gate to the client.
    Elicit,
    /// `roots/list`: through the request gate to the client.
    ListRoots,
    /// Anything else; refused as a method that is not offered.
    Unknown,
}

impl ServerMethod {
    /// Returns the method of that name.
    pub fn parse(name: &str) -> Self {
        match name {
            PingRequestMethod::VALUE => Self::Ping,
            CreateMessageRequestMethod::VALUE => Self::CreateMessage,
            ElicitationCreateRequestMethod::VALUE => Self::Elicit,
            ListRootsRequestMethod::VALUE => Self::ListRoots,
            _ => Self::Unknown,
        }
    }

    /// Returns the member of the client's capabilities without which the request is not passed on.
    pub fn capability(self) -> Option<&'static str> {
        match self {
            Self::CreateMessage => Some("sampling"),
            Self::Elicit => Some("elicitation"),
            Self::ListRoots => Some("roots"),
            Self::Ping | Self::Unknown => None,
        }
    }

    /// Returns the capability that such a request with these parameters needs and a client of these capabilities does not
    /// have: `elicitation`, or with its mode `elicitation.url`. Nothing where nothing is missing.
    ///
    /// Modes of elicitation and the parts of sampling are of revision 2025-11-25; the empty `elicitation` of the one before
    /// means forms.
    pub fn lacks(self, capabilities: &Value, params: &Value) -> Option<&'static str> {
        let capability = self.capability()?;
        let Some(declared) = capabilities.get(capability).and_then(Value::as_object) else {
            return Some(capability);
        };
        let has = |part: &str| declared.get(part).is_some_and(|part| !part.is_null());
        let says = |key: &str| params.get(key).is_some_and(|value| !value.is_null());
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        match self {
            Self::Elicit if text("mode") == Some("url") => (!has("url")).then_some("elicitation.url"),
            Self::Elicit => (!declared.is_empty() && !has("form")).then_some("elicitation.form"),
            Self::CreateMessage if !has("tools") && (says("tools") || says("toolChoice")) => Some("sampling.tools"),
            Self::CreateMessage if !has("context") && text("includeContext").is_some_and(|wanted| wanted != "none") => {
                Some("sampling.context")
            }
            Self::CreateMessage | Self::ListRoots | Self::Ping | Self::Unknown => None,
        }
    }
}

/// A notification that a server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerNotification {
    /// `notifications/tools/list_changed`: its tools are listed and scanned again.
    ToolsListChanged,
    /// `notifications/prompts/list_changed`: its prompts are listed and scanned again.
    PromptsListChanged,
    /// `notifications/resources/list_changed`: its resources and templates are listed and scanned again.
    ResourcesListChanged,
    /// `notifications/resources/updated`: through the result gate to whoever subscribed.
    ResourceUpdated,
    /// `notifications/message`: through the result gate to the client.
    Message,
    /// `notifications/progress`: through the result gate to the request that it belongs to.
    Progress,
    /// `notifications/elicitation/complete`: through the result gate to the client.
    ElicitationComplete,
    /// `notifications/tasks/status` (2025-11-25): through the result gate to whoever made the task.
    TaskStatus,
    /// `notifications/tasks` (tasks extension of 2026-07-28): through the result gate to whoever listens for the task.
    TaskTold,
    /// `notifications/cancelled`: a request of the server is withdrawn.
    Cancelled,
    /// Anything else; dropped.
    Unknown,
}

/// How a server of the stateless era tells of a task that somebody listens for.
pub(crate) const TASK_TOLD: &str = "notifications/tasks";

impl ServerNotification {
    /// Returns the notification of that name.
    pub fn parse(name: &str) -> Self {
        match name {
            ToolListChangedNotificationMethod::VALUE => Self::ToolsListChanged,
            PromptListChangedNotificationMethod::VALUE => Self::PromptsListChanged,
            ResourceListChangedNotificationMethod::VALUE => Self::ResourcesListChanged,
            ResourceUpdatedNotificationMethod::VALUE => Self::ResourceUpdated,
            LoggingMessageNotificationMethod::VALUE => Self::Message,
            ProgressNotificationMethod::VALUE => Self::Progress,
            // Of revision 2025-11-25; `rmcp` names none.
            "notifications/elicitation/complete" => Self::ElicitationComplete,
            // Of revision 2025-11-25; `rmcp` names none.
            "notifications/tasks/status" => Self::TaskStatus,
            // Of the tasks extension; `rmcp` names none.
            TASK_TOLD => Self::TaskTold,
            CancelledNotificationMethod::VALUE => Self::Cancelled,
            _ => Self::Unknown,
        }
    }
}
