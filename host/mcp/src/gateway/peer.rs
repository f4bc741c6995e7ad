//! What a server sends on its own: requests to the client, notifications, lines of standard error.

use std::sync::{Arc, Weak};
use std::time::Duration;

use portcullis_config::ChatEndpoint;
use portcullis_gates::ServerRequest;
use portcullis_model::json::{Object, Value};
use portcullis_model::{Principal, RequestKind, ResultKind};

use super::Fleet;
use super::ask::{self, not_offered, request_kind};
use super::server::Server;
use super::sessions::Addressed;
use super::tasks;
use super::voice::{Saying, say};
use super::wishes::Ended;
use crate::approver::shown;
use crate::chat::sampling::sample;
use crate::downstream::{AskError, ClientSession, LogLevel, Outlet, Question, own_code};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::{ServerMethod, ServerNotification};
use crate::upstream::CallerId;

/// A person is given so long to answer a server's question.
const ELICITATION_LIMIT: Duration = Duration::from_mins(5);
/// A model is given so long to answer a server's question.
const SAMPLING_LIMIT: Duration = Duration::from_secs(30);
/// A client looks its roots up.
const ROOTS_LIMIT: Duration = Duration::from_secs(30);

/// The first revision in which a client says whether a server may wish for context of other servers.
const CONTEXT_SINCE: &str = "2025-11-25";

/// The fleet as one connection of a server sees it.
#[derive(Debug)]
pub(crate) struct ServerPeer {
    fleet: Weak<Fleet>,
    pub(super) server: Arc<Server>,
    /// Which connection it is.
    pub(crate) number: u64,
}

impl ServerPeer {
    pub(crate) fn new(fleet: Weak<Fleet>, server: Arc<Server>, number: u64) -> Self {
        Self { fleet, server, number }
    }

    /// Returns whose fleet it is, while that runs.
    pub(crate) fn principal(&self) -> Option<Principal> {
        self.fleet.upgrade().map(|fleet| fleet.key.principal.clone())
    }

    /// Answers a request of the server, to which it may have given a key.
    pub(crate) async fn request(&self, method: &str, params: Value, key: Option<&str>) -> Result<Value, ErrorObject> {
        self.request_of(None, method, params, key).await
    }

    /// As [`ServerPeer::request`], for a request that belongs to that call, where one is named.
    pub(crate) async fn request_of(
        &self,
        caller: Option<CallerId>,
        method: &str,
        mut params: Value,
        key: Option<&str>,
    ) -> Result<Value, ErrorObject> {
        let kind = ServerMethod::parse(method);
        let capability = match (kind, kind.capability()) {
            (ServerMethod::Ping, _) => return Ok(Object::new().into()),
            (_, Some(capability)) => capability,
            (_, None) => return Err(ErrorObject::new(code::METHOD_NOT_FOUND, "this method is not offered")),
        };
        let fleet = self.fleet.upgrade().ok_or_else(|| not_offered(capability))?;
        let of_task = |params: &mut Value| fleet.shared.tasks.related(&self.server, params).map(|task| task.session);
        let found = match caller.map(|caller| caller.session).or_else(|| of_task(&mut params)) {
            Some(caller) => fleet.session(caller).map(|session| (session, Addressed::ByCall)),
            None => fleet.session_of(&self.server, capability),
        };
        let options = self.server.options();
        let provider = options.sampling_provider.as_ref().filter(|_| kind == ServerMethod::CreateMessage);
        let lacking = match &found {
            Some((session, _)) => self.lacks(kind, session, &params),
            None => Some(capability),
        };
        let answerer = match (lacking, provider, &found) {
            (None, _, Some((session, _))) => Answerer::Client(session),
            (_, Some(endpoint), found) => {
                Answerer::Provider { endpoint, session: found.as_ref().map(|(session, _)| session) }
            }
            (lacking, None, found) => {
                let lacking = lacking.unwrap_or(capability);
                if let Some((session, Addressed::ByCall)) = found {
                    session.link.note_undeclared(lacking);
                }
                return Err(not_offered(lacking));
            }
        };
        if !ask::is_enabled(&options, kind) {
            return Err(not_offered(capability));
        }
        let Some(kind_of_request) = request_kind(kind, &params) else {
            return Err(ErrorObject::new(
                code::INVALID_PARAMS,
                "this elicitation is of no mode that exists, or lacks its URL",
            ));
        };
        let outlet = answerer.session().and_then(|session| self.server.outlet_to(session.number, caller));
        let outcome = ask(&fleet, (&answerer, outlet), &self.server, (method, key), kind_of_request, params).await;
        if kind == ServerMethod::CreateMessage {
            ask::count_rounds(&self.server.tool_rounds, outcome.as_ref().ok());
        }
        outcome
    }

    /// Returns what such a request needs and the client did not declare.
    fn lacks(&self, kind: ServerMethod, session: &ClientSession, params: &Value) -> Option<&'static str> {
        let lacking = kind.lacks(&session.capabilities, params)?;
        // A server of an earlier revision may wish for context without being told of it; the client may ignore that.
        let connected = self.server.connected();
        let knows = connected.is_none_or(|connected| connected.link.greeting().revision.as_str() >= CONTEXT_SINCE);
        (knows || lacking != "sampling.context").then_some(lacking)
    }

    /// Takes a notification of the server. Never waits.
    pub(crate) fn notification(&self, method: &str, params: Value) {
        self.notification_from(None, method, params);
    }

    /// As [`ServerPeer::notification`], for one that came on the stream of the answer to that call: what is logged there is
    /// for whoever made it, and nobody else.
    pub(crate) fn notification_of(&self, caller: CallerId, method: &str, params: Value) {
        self.notification_from(Some(caller), method, params);
    }

    fn notification_from(&self, caller: Option<CallerId>, method: &str, params: Value) {
        match ServerNotification::parse(method) {
            ServerNotification::ToolsListChanged => self.server.wishes.add(|wanted| wanted.tools = true),
            ServerNotification::PromptsListChanged => self.server.wishes.add(|wanted| wanted.prompts = true),
            ServerNotification::ResourcesListChanged => self.server.wishes.add(|wanted| wanted.resources = true),
            ServerNotification::ResourceUpdated => self.pass_on(None, method, params, |session, params| {
                let uri = params.get("uri").and_then(Value::as_str);
                uri.is_some_and(|uri| self.server.subscribers.has(session.number, uri))
            }),
            ServerNotification::Message => self.pass_on(caller, method, params, |session, params| {
                let level = params.get("level").and_then(Value::as_str).and_then(LogLevel::parse);
                session.wants(level.unwrap_or(LogLevel::Info))
            }),
            ServerNotification::ElicitationComplete => {
                // The stateless era has no such notification; its way drops it.
                self.pass_on(None, method, params, |session, _| session.declares("elicitation"));
            }
            ServerNotification::TaskStatus => self.tell_of_task(method, params),
            ServerNotification::TaskTold => self.tell_listeners(method, params),
            // Progress that belongs to a running call reaches it by the link; any other belongs to nothing.
            ServerNotification::Progress | ServerNotification::Cancelled | ServerNotification::Unknown => {}
        }
    }

    /// Has a notification pass through the result gate to the sessions that want it, in the order of arrival.
    fn pass_on(
        &self,
        caller: Option<CallerId>,
        method: &str,
        params: Value,
        wanted: impl Fn(&ClientSession, &Value) -> bool,
    ) {
        let Some(fleet) = self.fleet.upgrade() else {
            return;
        };
        // What is logged during a call belongs to it, as far as anybody can tell.
        let is_log = ServerNotification::parse(method) == ServerNotification::Message;
        let with_outlet = |session: Arc<ClientSession>| {
            let outlet = if is_log { self.server.outlet_to(session.number, caller) } else { None };
            (session, outlet)
        };
        let sessions: Vec<_> = match caller {
            Some(caller) => fleet.session(caller.session).into_iter().collect(),
            None => fleet.sessions().into_iter().chain(fleet.addressee(&self.server)).collect(),
        };
        let to = sessions.into_iter().filter(|session| wanted(session, &params)).map(with_outlet).collect();
        self.say_to(&fleet, method, params, to);
    }

    /// Has what a server tells of a task pass through the result gate to whoever made it.
    fn tell_of_task(&self, method: &str, mut params: Value) {
        let Some(fleet) = self.fleet.upgrade() else {
            return;
        };
        let task = fleet.shared.tasks.told(&self.server, &mut params);
        if let Some(session) = task.and_then(|task| fleet.session(task.session)) {
            self.say_to(&fleet, method, params, vec![(session, None)]);
        }
    }

    /// Has what a server tells of the state of a task pass through the result gate to whoever listens for it.
    fn tell_listeners(&self, method: &str, mut params: Value) {
        let Some(fleet) = self.fleet.upgrade() else {
            return;
        };
        let Some(task) = fleet.shared.tasks.told(&self.server, &mut params) else {
            return;
        };
        if task.is_over() {
            tasks::listen_for(&task, false);
        }
        tasks::state_only(&mut params);
        let to = task.listeners().into_iter().map(|session| (session, None)).collect();
        self.say_to(&fleet, method, params, to);
    }

    fn say_to(&self, fleet: &Arc<Fleet>, method: &str, params: Value, to: Vec<(Arc<ClientSession>, Option<Outlet>)>) {
        let (method, name) = (method.to_owned(), String::new());
        say(fleet, &self.server, Saying { kind: ResultKind::Log, name, method, params, to, call: None });
    }

    /// Takes a line of standard error. The whole of it goes to the server's own log; this is for whoever looks closely.
    pub(crate) fn stderr(&self, line: &str) {
        tracing::debug!(server = %self.server.name(), line = shown(line, 500), "standard error");
    }

    /// Notes that the connection ended.
    pub(crate) fn closed(&self, detail: String) {
        let number = self.number;
        self.server.wishes.add(|wanted| wanted.closed = Some(Ended { number, detail, expired: false }));
    }

    /// Notes that the server does not know the session any more.
    pub(crate) fn expired(&self, detail: String) {
        let number = self.number;
        self.server.wishes.add(|wanted| wanted.closed = Some(Ended { number, detail, expired: true }));
    }
}

/// Who answers what a server asks.
pub(super) enum Answerer<'a> {
    /// The client of a session.
    Client(&'a ClientSession),
    /// A provider of the config, in the place of a client that cannot, or where nobody knows whose client it would be.
    Provider {
        /// The provider.
        endpoint: &'a ChatEndpoint,
        /// The session that the request belongs to, where it does to one.
        session: Option<&'a Arc<ClientSession>>,
    },
}

impl Answerer<'_> {
    fn session(&self) -> Option<&ClientSession> {
        match self {
            Self::Client(session) => Some(session),
            Self::Provider { session, .. } => session.map(|session| &**session),
        }
    }
}

/// Asks a client, or who stands for it, on behalf of a server, through the request gate.
pub(super) async fn ask(
    fleet: &Fleet,
    (answerer, outlet): (&Answerer<'_>, Option<Outlet>),
    server: &Server,
    (method, key): (&str, Option<&str>),
    kind: RequestKind,
    document: Value,
) -> Result<Value, ErrorObject> {
    let is_elicitation = matches!(kind, RequestKind::ElicitationForm(_) | RequestKind::ElicitationUrl(_));
    let limit = match kind {
        RequestKind::Sampling(_) => SAMPLING_LIMIT,
        RequestKind::ElicitationForm(_) | RequestKind::ElicitationUrl(_) => ELICITATION_LIMIT,
        RequestKind::Roots => ROOTS_LIMIT,
    };
    let context = match answerer.session() {
        Some(session) => fleet.context(session, server, outlet.as_ref()),
        None => fleet.own_context(server),
    };
    let request = ServerRequest { server: server.name().clone(), kind, document };
    let (cleared, limits) = match fleet.gates().request(&context, request).await {
        Ok(cleared) => cleared,
        Err(refusal) => {
            tracing::info!(
                server = %server.name(), method, code = refusal.code.as_str(), detail = refusal.detail,
                "a request of a server was refused"
            );
            return if is_elicitation {
                Ok(ask::declined())
            } else {
                let text = format!("refused by the gateway (code: {})", refusal.code.as_str());
                Err(ErrorObject::new(own_code::REFUSED, text))
            };
        }
    };
    let params = ask::envelope(cleared.get(), &limits);
    let limit = ask::limit(&limits, &server.options(), cleared.get(), limit);
    let session = match answerer {
        Answerer::Client(session) => session,
        Answerer::Provider { endpoint, .. } => return provided(server, endpoint, &params, limit).await,
    };
    // What the server said before it asks is told before: a round of the stateless era ends with the question.
    server.voice.heard(session.number).await;
    match session.link.request(outlet.as_ref(), Question { method, key, params: &params, limit }).await {
        Ok(result) if is_elicitation => ask::check_elicitation(&params, result),
        Ok(result) => Ok(result),
        Err(AskError::Refused(error)) => Err(error),
        Err(error @ (AskError::TimedOut | AskError::Gone | AskError::Busy)) => {
            Err(ErrorObject::new(own_code::TIMED_OUT, error.to_string()))
        }
    }
}

/// Has the provider of the config answer a request that passed its gate.
async fn provided(
    server: &Server,
    endpoint: &ChatEndpoint,
    params: &Value,
    limit: Duration,
) -> Result<Value, ErrorObject> {
    match sample(endpoint, params, limit).await {
        Ok(sampled) => {
            server.usage.note_sampled(sampled.tokens, sampled.uses_tools);
            Ok(sampled.result)
        }
        Err(error) => {
            server.usage.note_not_sampled();
            tracing::warn!(
                server = %server.name(), error = &error as &dyn std::error::Error,
                "the sampling provider did not answer"
            );
            Err(error.for_server())
        }
    }
}
