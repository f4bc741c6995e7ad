//! The clients of the gateway.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use portcullis_config::ServerOptions;
use portcullis_gates::{Approver, Context, TooManySessions};
use portcullis_model::json::Value;
use portcullis_model::{Era, SessionId, object};
use rmcp::model::{
    ConstString as _, ElicitationCreateRequestMethod, RootsListChangedNotificationMethod, SetLevelRequestMethod,
};

use super::capabilities::CapabilitySet;
use super::server::Server;
use super::{Fleet, Gateway, Link};
use crate::approver::{ClientApprover, Elicit, may_be_asked};
use crate::downstream::{ClientLink, ClientSession, Entrance, Introduction, LogLevel, Outlet, Question, Way};

/// An approver's answer is awaited so much longer than the gates wait, so that theirs is the limit that counts.
const BEYOND_WAIT: Duration = Duration::from_secs(10);

/// How a server's own request found its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressed {
    /// By a call that is running at the server.
    ByCall,
    /// There is no other client; the call that may carry the request, if any, has nothing to do with the server.
    ByClient,
}

impl Gateway {
    /// Opens the session of a client that introduced itself, and starts the servers for it where none serve such clients
    /// yet.
    pub(crate) fn open_session(
        self: &Arc<Self>,
        introduction: &Introduction,
        entrance: &Entrance,
        link: &Arc<ClientLink>,
    ) -> Result<Arc<ClientSession>, TooManySessions> {
        let random = format!("{:016x}", getrandom::u64().unwrap_or_default());
        let id = format!("{}-{}-{random}", entrance.transport, std::process::id());
        let id = SessionId::parse(&id).expect("a fixed word and hexadecimal digits");
        let principal = &entrance.principal;
        let gates = self.shared.gates.sessions().open(&id, principal, &introduction.client, Era::Initialize)?;
        let fleet = self.fleet_for(principal, &introduction.capabilities);
        let link: Arc<dyn Way> = Arc::<ClientLink>::clone(link);
        let approver = fleet.approver(&link, &introduction.client.name, &introduction.capabilities);
        let capabilities = introduction.capabilities.clone();
        let session = Arc::new(ClientSession::new(fleet, gates, entrance.clone(), approver, link, capabilities));
        session.fleet.join(&session);
        Ok(session)
    }

    /// Ends a session: what was remembered of it is gone.
    pub(crate) fn close_session(&self, session: &Arc<ClientSession>) {
        session.fleet.leave(session);
        self.shared.gates.close_session(&session.gates.id);
    }
}

impl Fleet {
    /// Returns whoever may approve behind a way to a client of that name, with these capabilities.
    pub(crate) fn approver(
        self: &Arc<Self>,
        link: &Arc<dyn Way>,
        client: &str,
        capabilities: &Value,
    ) -> Arc<dyn Approver> {
        let arrangement = self.shared.arrangement.load();
        let permitted = may_be_asked(&arrangement.approvals, client, capabilities);
        drop(arrangement);
        Arc::new(ClientApprover::new(Arc::new(self.asked(link, None)), permitted))
    }

    /// Returns a client as the approver sees it; `outlet` is that of the request which a question is about.
    fn asked(self: &Arc<Self>, link: &Arc<dyn Way>, outlet: Option<Outlet>) -> Asked {
        let limit = self.shared.arrangement.load().approvals.timeout.saturating_add(BEYOND_WAIT);
        Asked { fleet: Arc::downgrade(self), link: Arc::clone(link), outlet, limit }
    }

    /// Takes a session in: what servers say reaches it, and what they ask may.
    fn join(&self, session: &Arc<ClientSession>) {
        if CapabilitySet::read(&session.capabilities) != self.key.capabilities {
            self.narrowed.fetch_add(1, Ordering::Relaxed);
        }
        self.locked_sessions().push(Arc::clone(session));
    }

    fn leave(&self, session: &Arc<ClientSession>) {
        let mut sessions = self.locked_sessions();
        let before = sessions.len();
        sessions.retain(|other| !Arc::ptr_eq(other, session));
        if sessions.len() < before && CapabilitySet::read(&session.capabilities) != self.key.capabilities {
            self.narrowed.fetch_sub(1, Ordering::Relaxed);
        }
        drop(sessions);
        self.release_subscriptions(session.number);
        self.note_use();
    }

    pub(super) fn locked_sessions(&self) -> std::sync::MutexGuard<'_, Vec<Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all sessions.
    pub(crate) fn sessions(&self) -> Vec<Arc<ClientSession>> {
        self.locked_sessions().clone()
    }

    /// Returns the session, or the request of the stateless era, that a server's own request belongs to: one that is calling
    /// the server, else one of the only client there is, which offers what is asked for if any does. Nothing where that would
    /// be a guess: the question would reach the wrong person.
    pub(crate) fn session_of(&self, server: &Server, capability: &str) -> Option<(Arc<ClientSession>, Addressed)> {
        let callers = self.callers(server);
        if !callers.is_empty() {
            return sole_client(&callers).cloned().map(|session| (session, Addressed::ByCall));
        }
        let sessions = self.sessions().into_iter().filter(|session| !session.listens);
        let everybody: Vec<_> = sessions.chain(self.exchanges()).collect();
        let newest = sole_client(&everybody)?;
        let offering = everybody.iter().filter(|session| session.declares(capability));
        let session = offering.max_by_key(|session| session.number).unwrap_or(newest);
        Some((Arc::clone(session), Addressed::ByClient))
    }

    fn callers(&self, server: &Server) -> Vec<Arc<ClientSession>> {
        server.callers().into_iter().filter_map(|number| self.session(number)).collect()
    }

    /// Returns the session, or the request of the stateless era, of that number.
    pub(crate) fn session(&self, number: u64) -> Option<Arc<ClientSession>> {
        let session = self.locked_sessions().iter().find(|session| session.number == number).cloned();
        session.or_else(|| self.exchange(number))
    }

    /// Returns the request of the stateless era that a message of a server may belong to.
    pub(crate) fn addressee(&self, server: &Server) -> Option<Arc<ClientSession>> {
        sole_client(&self.callers(server)).filter(|session| self.exchange(session.number).is_some()).cloned()
    }

    /// Returns the context of a passage that a client asked for; `outlet` is that of its request.
    pub(crate) fn context(&self, session: &ClientSession, server: &Server, outlet: Option<&Outlet>) -> Context {
        Context {
            session: Arc::clone(&session.gates),
            set: self.shared.gates.set(),
            approver: approver_during(session, outlet),
            server_trust: server.options().trust,
            tool_rounds: server.tool_rounds.load(std::sync::atomic::Ordering::Relaxed),
            definitions: Some(Arc::clone(&self.definitions)),
        }
    }

    /// Returns what a server is told that the client can do.
    pub(crate) fn declared(&self, options: &ServerOptions) -> Value {
        declared(self.key.capabilities, options)
    }

    /// Returns what a server is told that this very client can do, where that is more than the fleet's servers were told:
    /// there was no place for a fleet of its own.
    pub(crate) fn declared_by(&self, session: &ClientSession, options: &ServerOptions) -> Option<Value> {
        let own = CapabilitySet::read(&session.capabilities);
        (own != self.key.capabilities).then(|| declared(own, options))
    }

    /// Has all servers log from that level on.
    pub(crate) fn set_level(self: &Arc<Self>, level: LogLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        for connected in self.members().iter().filter_map(|server| server.connected()) {
            let fleet = Arc::clone(self);
            tokio::spawn(async move { fleet.greet(&*connected.link).await });
        }
    }

    /// Tells a server what a new connection should know: the log level that a client wishes.
    pub(crate) async fn greet(&self, link: &dyn Link) {
        let level = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = level.filter(|_| link.greeting().declares("logging")) {
            let params = object! { "level" => level.as_str() };
            if let Err(error) = link.ask(SetLevelRequestMethod::VALUE, params.into()).await {
                tracing::debug!(%error, "a server did not take the log level");
            }
        }
    }

    /// Tells all servers that the roots of a client changed.
    pub(crate) fn roots_changed(&self) {
        for connected in self.members().iter().filter_map(|server| server.connected()) {
            tokio::spawn(async move { connected.link.tell(RootsListChangedNotificationMethod::VALUE).await });
        }
    }
}

/// Returns the newest of these where all of them are the same client: of several calls the older ones more likely have their
/// questions behind them, and any of them reaches the same person.
fn sole_client(sessions: &[Arc<ClientSession>]) -> Option<&Arc<ClientSession>> {
    let newest = sessions.iter().max_by_key(|session| session.number)?;
    sessions.iter().all(|session| Arc::ptr_eq(&session.gates, &newest.gates)).then_some(newest)
}

fn declared(capabilities: CapabilitySet, options: &ServerOptions) -> Value {
    let enabled = |block: &Value| block.get("enabled").and_then(Value::as_bool).unwrap_or(true);
    // A provider answers where the client cannot, tools included.
    let capabilities = if options.sampling_provider.is_some() { capabilities.with_sampling() } else { capabilities };
    capabilities.declared(|name| match name {
        "sampling" => enabled(&options.sampling),
        "elicitation" => enabled(&options.elicitation),
        _ => true,
    })
}

/// Returns who can be asked on behalf of a client: a question about one request goes the way of that request.
fn approver_during(session: &ClientSession, outlet: Option<&Outlet>) -> Arc<dyn Approver> {
    match outlet {
        Some(outlet @ (Outlet::Stream(_) | Outlet::Session(_))) if session.approver.class().is_some() => {
            let asked = session.fleet.asked(&session.link, Some(outlet.clone()));
            Arc::new(ClientApprover::new(Arc::new(asked), true))
        }
        Some(_) | None => Arc::clone(&session.approver),
    }
}

/// A client as the approver sees it.
struct Asked {
    fleet: Weak<Fleet>,
    link: Arc<dyn Way>,
    /// That of the request which the question is about.
    outlet: Option<Outlet>,
    limit: Duration,
}

impl Elicit for Asked {
    fn elicit(&self, params: Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send + '_>> {
        Box::pin(async move {
            let outlet = self.outlet.as_ref();
            let (method, limit) = (ElicitationCreateRequestMethod::VALUE, self.limit);
            self.link.request(outlet, Question { method, key: None, params: &params, limit }).await.ok()
        })
    }

    fn decoys(&self) -> Vec<String> {
        /// More would not make a better choice.
        const MOST: usize = 64;
        let Some(fleet) = self.fleet.upgrade() else {
            return Vec::new();
        };
        let snapshot = fleet.snapshot();
        snapshot.catalogue.tools().iter().take(MOST).map(|tool| tool.name().to_owned()).collect()
    }
}
