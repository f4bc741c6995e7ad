//! What the stateless era (MCP 2026-07-28) adds to a request and expects of a result.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use portcullis_model::json::Value;
use portcullis_model::object;
use rmcp::model::TASKS_EXTENSION_ID;

use super::headers::{Binding, Bindings};
use super::subscriptions::Subscriptions;
use super::{CallError, ConnectOptions, Outcome};
use crate::jsonrpc::{MalformedReason, code};

/// The revision with which the era begins, and the only one of it so far.
pub(super) const VERSION: &str = "2026-07-28";

/// Members of `_meta` (MCP 2026-07-28, `_meta`); the first three are wanted with every request.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The member of a result's `_meta` in which a server says who it is.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What is said with every request of a connection in the stateless era.
#[derive(Debug)]
pub(super) struct Stateless {
    version: Value,
    capabilities: Value,
    /// The same with the tasks extension.
    with_tasks: Box<Value>,
    client_info: Value,
    /// The level from which on servers are asked to log; nothing where nobody wishes to hear.
    level: ArcSwapOption<Value>,
    /// Which arguments of which tools are repeated in headers, by the newest list; empty where there are no headers.
    bindings: ArcSwap<Bindings>,
    subscriptions: Subscriptions,
}

impl Stateless {
    pub(super) fn new(options: &ConnectOptions) -> Self {
        Self {
            version: VERSION.into(),
            capabilities: options.capabilities.clone(),
            with_tasks: Box::new(with_tasks(&options.capabilities)),
            client_info: options.client_info.clone(),
            level: ArcSwapOption::empty(),
            bindings: ArcSwap::default(),
            subscriptions: Subscriptions::default(),
        }
    }

    /// Sets the log level of all further requests; the era has no `logging/setLevel`.
    pub(super) fn set_level(&self, level: Option<Value>) {
        self.level.store(level.map(Arc::new));
    }

    pub(super) fn set_bindings(&self, bindings: Bindings) {
        self.bindings.store(Arc::new(bindings));
    }

    /// Returns which arguments of the tool are repeated in headers.
    pub(super) fn bindings_of(&self, tool: &str) -> Option<Arc<[Binding]>> {
        self.bindings.load().get(tool).cloned()
    }

    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Returns the client's capabilities, with the tasks extension or without it.
    pub(super) fn capabilities(&self, takes_task: bool) -> &Value {
        if takes_task { &self.with_tasks } else { &self.capabilities }
    }

    pub(super) fn level(&self) -> Guard<Option<Arc<Value>>> {
        self.level.load()
    }
}

/// Returns capabilities of a client with the tasks extension. It is declared request by request, so that connections need
/// not differ by it: what a server lists does not depend on it (MCP 2026-07-28, lists vary by credential alone).
pub(super) fn with_tasks(capabilities: &Value) -> Value {
    let mut capabilities = capabilities.as_object().cloned().unwrap_or_default();
    let mut extensions = capabilities.get("extensions").and_then(Value::as_object).cloned().unwrap_or_default();
    extensions.insert(TASKS_EXTENSION_ID, object! {});
    capabilities.insert("extensions", extensions);
    capabilities.into()
}

/// Returns what is set in, or taken out of, the `_meta` of a request. The log level comes first.
///
/// The members of the era are the gateway's own towards a server of either era: those of a client describe the client.
pub(super) fn meta<'a>(
    era: Option<&'a Stateless>,
    capabilities: Option<&'a Value>,
    token: Option<&'a Value>,
    level: Option<&'a Value>,
) -> [(&'static str, Option<&'a Value>); 5] {
    [
        (LOG_LEVEL, level),
        ("progressToken", token),
        (PROTOCOL_VERSION, era.map(|era| &era.version)),
        (CLIENT_CAPABILITIES, capabilities),
        (CLIENT_INFO, era.map(|era| &era.client_info)),
    ]
}

/// Returns true where the parameters wish a log level for their own request.
pub(super) fn wishes_level(params: Option<&Value>) -> bool {
    params.and_then(|params| params.get("_meta")).is_some_and(|meta| meta.get(LOG_LEVEL).is_some())
}

/// What a result says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultKind {
    /// The answer; also where nothing is said.
    Complete,
    /// The server wants something of the client first.
    InputRequired,
    /// A task that goes on by itself.
    Task,
    /// Something that was not asked for.
    Other,
}

/// Returns what a result says it is.
pub(super) fn kind_of(result: &Value) -> ResultKind {
    match result.get("resultType").map(Value::as_str) {
        None | Some(Some("complete")) => ResultKind::Complete,
        Some(Some("input_required")) => ResultKind::InputRequired,
        Some(Some("task")) => ResultKind::Task,
        Some(_) => ResultKind::Other,
    }
}

/// Takes a result that is complete.
pub(super) fn complete(outcome: Outcome) -> Result<Outcome, CallError> {
    match outcome.as_ref().map(kind_of) {
        Ok(ResultKind::Complete) | Err(_) => Ok(outcome),
        Ok(ResultKind::InputRequired | ResultKind::Task | ResultKind::Other) => {
            Err(CallError::Malformed(MalformedReason::Envelope("its result is of a type that was not asked for")))
        }
    }
}

/// Returns true where a server of this answer to `server/discover` speaks the era.
pub(super) fn is_spoken(document: &Value) -> bool {
    let versions = document.get("supportedVersions").and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version.as_str() == Some(VERSION)))
}

/// Returns true where an answer to `server/discover` shows that the server does not speak the era any more. Without sessions
/// nothing else would tell that another program answers at the same place now.
pub(super) fn has_ended(outcome: &Outcome) -> bool {
    /// What the SDKs answer to a request outside of a session.
    const NOT_INITIALIZED: i64 = -32_000;
    match outcome {
        Ok(document) => !is_spoken(document),
        Err(error) => {
            matches!(error.code(), code::METHOD_NOT_FOUND | code::UNSUPPORTED_PROTOCOL_VERSION | NOT_INITIALIZED)
        }
    }
}
