//! What is known of one client.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_gates::{Approver, Session};
use portcullis_model::Era;
use portcullis_model::json::Value;

use super::{Entrance, Way};
use crate::gateway::Fleet;

/// So many resources may be subscribed to at once: more is a loop, not a user.
const MOST_SUBSCRIPTIONS: usize = 1_024;

/// What a client lists, and what `list_changed` speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListGroup {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources and their templates.
    Resources,
}

impl ListGroup {
    /// Every group.
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];
}

/// How urgent a log message is (RFC 5424, as MCP names the levels).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the name used on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Returns the level of that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// Tells sessions apart.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// No message is of this level: the client wants none.
const NO_MESSAGES: u8 = u8::MAX;

/// One client that has introduced itself; in the stateless era one request of a client.
pub(crate) struct ClientSession {
    /// Tells it from every other one of this process.
    pub(crate) number: u64,
    /// The servers that it uses.
    pub(crate) fleet: Arc<Fleet>,
    /// What the gates remember of it.
    pub(crate) gates: Arc<Session>,
    /// How it came in.
    pub(crate) entrance: Entrance,
    /// Who can be asked on its behalf.
    pub(crate) approver: Arc<dyn Approver>,
    /// The way to it.
    pub(crate) link: Arc<dyn Way>,
    /// What it declared that it can do.
    pub(crate) capabilities: Value,
    /// True for a request that only listens (`subscriptions/listen`): nothing can be asked by it.
    pub(crate) listens: bool,
    level: AtomicU8,
    /// The version of each list that it knows of; 0 for one that it never asked for.
    listed: [AtomicU64; 3],
    subscriptions: Mutex<HashSet<String>>,
}

impl std::fmt::Debug for ClientSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ClientSession").field("gates", &self.gates).finish_non_exhaustive()
    }
}

impl ClientSession {
    pub(crate) fn new(
        fleet: Arc<Fleet>,
        gates: Arc<Session>,
        entrance: Entrance,
        approver: Arc<dyn Approver>,
        link: Arc<dyn Way>,
        capabilities: Value,
    ) -> Self {
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            fleet,
            gates,
            entrance,
            approver,
            link,
            capabilities,
            listens: false,
            // Without a wish of the client: what an operator reads by default.
            level: AtomicU8::new(LogLevel::Info as u8),
            listed: Default::default(),
            subscriptions: Mutex::default(),
        }
    }

    /// Returns true where the client declared the capability.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Returns true for a request of the stateless era.
    pub(crate) fn is_stateless(&self) -> bool {
        self.gates.era == Era::Stateless
    }

    /// Sets the least urgent level that the client wants to see.
    pub(crate) fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Notes the level that one request named; without one it wants no messages.
    pub(crate) fn set_own_level(&self, level: Option<LogLevel>) {
        self.level.store(level.map_or(NO_MESSAGES, |level| level as u8), Ordering::Relaxed);
    }

    /// Returns true where the client wants to see messages of that level.
    pub(crate) fn wants(&self, level: LogLevel) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    fn slot(&self, group: ListGroup) -> &AtomicU64 {
        let [tools, prompts, resources] = &self.listed;
        match group {
            ListGroup::Tools => tools,
            ListGroup::Prompts => prompts,
            ListGroup::Resources => resources,
        }
    }

    /// Notes that the client was given that version of a list. Versions count from 1.
    pub(crate) fn note_listed(&self, group: ListGroup, version: u64) {
        self.slot(group).fetch_max(version, Ordering::Relaxed);
    }

    /// Returns true where the client knows an older version of the list, and notes that it was told of this one.
    pub(crate) fn note_changed(&self, group: ListGroup, version: u64) -> bool {
        let known = self.slot(group).load(Ordering::Relaxed);
        known != 0 && self.slot(group).fetch_max(version, Ordering::Relaxed) < version
    }

    /// Notes a subscription. Returns false where there are too many.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if subscriptions.len() >= MOST_SUBSCRIPTIONS && !subscriptions.contains(uri) {
            return false;
        }
        subscriptions.insert(uri.to_owned());
        true
    }

    /// Ends a subscription.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// Returns true where the client subscribed to the resource.
    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

#[cfg(test)]
mod tests {
    use portcullis_gates::NoApprover;
    use portcullis_model::json::parse_str;
    use portcullis_model::{ClientFacts, Principal, SessionId};

    use super::*;
    use crate::downstream::{ClientLink, Outbox, Outlet, Schemas};

    fn session() -> ClientSession {
        let gates = Session::new(
            SessionId::parse("s1").unwrap(),
            Principal::parse("local").unwrap(),
            ClientFacts::default(),
            Era::Initialize,
        );
        let link = Arc::new(ClientLink::new(Outlet::Pipe(Arc::new(Outbox::default()))));
        let capabilities = parse_str(r#"{"roots":{}}"#).unwrap();
        let (gates, approver) = (Arc::new(gates), Arc::new(NoApprover));
        ClientSession::new(Fleet::empty(), gates, Entrance::stdio(Schemas::Listed), approver, link, capabilities)
    }

    #[test]
    fn a_client_is_told_of_a_change_once_and_only_of_lists_that_it_asked_for() {
        let session = session();
        assert!(!session.note_changed(ListGroup::Tools, 2), "it never asked");
        session.note_listed(ListGroup::Tools, 2);
        assert!(!session.note_changed(ListGroup::Tools, 2), "it has that version");
        assert!(session.note_changed(ListGroup::Tools, 3));
        assert!(!session.note_changed(ListGroup::Tools, 3), "it was told");
        assert!(!session.note_changed(ListGroup::Prompts, 3));
    }

    #[test]
    fn messages_below_the_level_that_the_client_set_are_not_wanted() {
        let session = session();
        session.set_own_level(None);
        assert!(!session.wants(LogLevel::Emergency));
        session.set_own_level(Some(LogLevel::Info));
        assert!(session.wants(LogLevel::Info) && !session.wants(LogLevel::Debug));
        session.set_level(LogLevel::Error);
        assert!(session.wants(LogLevel::Alert) && !session.wants(LogLevel::Warning));
        assert_eq!(LogLevel::parse("warning"), Some(LogLevel::Warning));
        assert_eq!(LogLevel::parse("WARNING"), None);
    }

    #[test]
    fn subscriptions_are_bounded() {
        let session = session();
        assert!((0..MOST_SUBSCRIPTIONS).all(|number| session.subscribe(&number.to_string())));
        assert!(!session.subscribe("one more") && !session.is_subscribed("one more"));
        assert!(session.subscribe("0") && session.is_subscribed("0"), "it has that one");
        session.unsubscribe("0");
        assert!(session.subscribe("one more"));
    }

    #[test]
    fn only_declared_capabilities_count() {
        assert!(session().declares("roots") && !session().declares("sampling"));
    }
}
