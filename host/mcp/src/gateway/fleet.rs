//! The servers of one set of client capabilities: what those clients see, and whom those servers may ask.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use portcullis_gates::{Context, Definitions, Gates};
use portcullis_model::{CallKind, Digest, ItemKind, Launch, Principal, ServerName};
use portcullis_registry::Offer;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::GatewayOptions;
use super::capabilities::CapabilitySet;
use super::keeper;
use super::members::Members;
use super::server::Server;
use super::shared::Shared;
use super::snapshot::{Snapshot, Versions};
use crate::downstream::{ClientSession, LogLevel};
use crate::status::{FleetStatus, Phase, ServerStatus};

/// Calls that run when their servers are retired have so long to finish: nothing hurries, but nothing may stay for good.
const LONGEST_DRAIN: Duration = Duration::from_mins(1);

/// Whose servers they are, and what those were told that the client can do. Two principals never share a server's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FleetKey {
    pub(crate) principal: Principal,
    pub(crate) capabilities: CapabilitySet,
}

/// What servers offer, and which wait for the place of another.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// What each server offers, by [`Server::index`].
    pub(super) by_server: HashMap<usize, Arc<Offer>>,
    /// Servers whose entry changed while the former one works: they take its place once they do.
    pub(super) proving: HashMap<ServerName, Arc<Server>>,
}

/// A server with the task that keeps it.
struct Kept {
    server: Arc<Server>,
    keeper: JoinHandle<()>,
}

/// The servers of one set of client capabilities. What it publishes, counts and withdraws is its own; gates, config and
/// options are [`Shared`].
pub(crate) struct Fleet {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: FleetKey,
    /// Its number; no other fleet of the gateway has or had it.
    pub(crate) number: u64,
    /// False where as many fleets of the principal as may start processes were there before it.
    starts_processes: bool,
    pub(super) definitions: Arc<dyn Definitions>,
    /// Locked while what is published changes: two servers that publish at once must not lose each other.
    offers: Mutex<Offers>,
    pub(super) published: ArcSwap<Snapshot>,
    pub(super) versions: watch::Sender<Versions>,
    pub(super) sessions: Mutex<Vec<Arc<ClientSession>>>,
    /// Requests of the stateless era that are being worked on, each a session of its own towards servers.
    pub(super) exchanges: Mutex<HashMap<u64, Arc<ClientSession>>>,
    /// Sessions of clients that declared more than this fleet: they found no place for a fleet of their own.
    pub(super) narrowed: AtomicUsize,
    pub(super) level: Mutex<Option<LogLevel>>,
    kept: Mutex<Vec<Kept>>,
    next: AtomicUsize,
    used: Mutex<Instant>,
    /// Told whenever a server gets further.
    pub(super) progressed: Notify,
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fleet").field("number", &self.number).field("key", &self.key).finish_non_exhaustive()
    }
}

impl Fleet {
    /// Builds a fleet of all servers of the config. None is started yet.
    pub(crate) fn new(shared: Arc<Shared>, key: FleetKey, number: u64, starts_processes: bool) -> Arc<Self> {
        let fleet = Arc::new_cyclic(|fleet: &Weak<Self>| Self {
            shared,
            key,
            number,
            starts_processes,
            definitions: Arc::new(PublishedDefinitions(Weak::clone(fleet))),
            offers: Mutex::default(),
            published: ArcSwap::default(),
            versions: watch::Sender::new(Versions::default()),
            sessions: Mutex::default(),
            exchanges: Mutex::default(),
            narrowed: AtomicUsize::new(0),
            level: Mutex::default(),
            kept: Mutex::default(),
            next: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            progressed: Notify::new(),
        });
        let arrangement = fleet.shared.arrangement.load_full();
        let servers = arrangement.servers.iter().map(|server| fleet.build(server, None)).collect();
        fleet.published.store(Arc::new(Snapshot::of(Members::new(servers))));
        fleet
    }

    /// Builds a server of this fleet from its part of the config; `former` is the one whose place it is to take.
    pub(super) fn build(&self, config: &portcullis_config::Server, former: Option<&Server>) -> Arc<Server> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let mut server = Server::new(index, Arc::clone(&config.entry), config.options.clone());
        if let Some(former) = former {
            server.subscribers = Arc::clone(&former.subscribers);
        }
        if self.options().safe_mode.is_some() {
            let reason = "safe mode keeps every server off".to_owned();
            server.set_phase(Phase::Disabled, Some(("safe-mode", reason)));
        } else if !config.options.enabled {
            server.set_phase(Phase::Disabled, Some(("disabled", "switched off in the config".to_owned())));
        }
        Arc::new(server)
    }

    /// Starts all servers, each by itself and all at once.
    pub(crate) fn start(self: &Arc<Self>) {
        if let Some(variable) = self.options().safe_mode {
            tracing::warn!(variable, "safe mode: no server is started");
            self.publish_state();
            return;
        }
        for server in self.members().iter().filter(|server| server.options().enabled) {
            self.keep(server);
        }
    }

    /// Notes that nothing is started any more: the gateway is stopping.
    pub(crate) fn stay_off(&self) {
        for server in self.members().iter() {
            server.set_phase(Phase::Disabled, Some(("stopped", "the gateway is stopping".to_owned())));
        }
        self.publish_state();
    }

    /// Starts a server and keeps it until it is told to stop.
    pub(super) fn keep(self: &Arc<Self>, server: &Arc<Server>) {
        if !self.starts_processes && matches!(server.entry().launch, Launch::Stdio { .. }) {
            let reason = "this process runs for as many different sets of client capabilities as it may";
            server.set_phase(Phase::Disabled, Some(("too-many-processes", reason.to_owned())));
            tracing::warn!(server = %server.name(), fleet = self.number, reason, "a server is not started");
            return self.note_progress();
        }
        server.set_phase(Phase::Connecting, None);
        let keeper = tokio::spawn(keeper::keep(Arc::clone(self), Arc::clone(server)));
        let mut kept = self.locked_kept();
        kept.retain(|kept| !kept.keeper.is_finished());
        kept.push(Kept { server: Arc::clone(server), keeper });
    }

    fn locked_kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all servers and waits until nothing of them runs.
    pub(crate) async fn stop(&self) {
        let kept = std::mem::take(&mut *self.locked_kept());
        for Kept { server, .. } in &kept {
            server.wishes.add(|wanted| wanted.stop = true);
        }
        for Kept { keeper, .. } in kept {
            if keeper.await.is_err() {
                tracing::error!("the keeper of a server broke");
            }
        }
    }

    /// Stops all servers once their calls have ended.
    pub(crate) async fn retire(&self) {
        let members = self.members();
        let drained = async {
            for server in members.iter() {
                server.drained().await;
            }
        };
        let _ = tokio::time::timeout(LONGEST_DRAIN, drained).await;
        self.stop().await;
    }

    /// Notes that the fleet is in use.
    pub(crate) fn note_use(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns for how long nobody has used it; zero while a session or a call is there.
    pub(crate) fn unused_for(&self) -> Duration {
        if !self.sessions().is_empty() || self.has_exchanges() || self.members().iter().any(|server| server.is_busy()) {
            self.note_use();
            return Duration::ZERO;
        }
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Returns what became of it.
    pub(crate) fn status(&self) -> FleetStatus {
        FleetStatus {
            number: self.number,
            principal: self.key.principal.clone(),
            capabilities: self.key.capabilities.to_string(),
            sessions: self.sessions().len(),
            narrowed: self.narrowed.load(Ordering::Relaxed),
        }
    }

    /// Returns what became of each server.
    pub(crate) fn statuses(&self) -> Vec<ServerStatus> {
        let number = self.number;
        let status =
            |server: &Arc<Server>| ServerStatus { fleet: number, pending: self.pending(server), ..server.status() };
        self.members().iter().map(status).collect()
    }

    /// Has every server judged again, unless that generation of policies did or does.
    pub(crate) fn rejudge(&self, generation: u64) {
        let proving: Vec<_> = self.locked_offers().proving.values().cloned().collect();
        for server in self.members().iter().chain(&proving) {
            server.rejudge(generation);
        }
    }

    /// Has one server, or all, judged again by the same policies: an operator's answers changed.
    pub(crate) fn reconsider(&self, only: Option<&str>) {
        let proving: Vec<_> = self.locked_offers().proving.values().cloned().collect();
        let is_meant = |server: &&Arc<Server>| only.is_none_or(|only| server.name().as_str() == only);
        for server in self.members().iter().chain(&proving).filter(is_meant) {
            server.wishes.add(|wanted| wanted.rejudge = true);
        }
    }

    /// Waits until the first try to reach each server has ended, well or not.
    pub(crate) async fn settled(&self) {
        loop {
            let progressed = self.progressed.notified();
            if self.is_settled() {
                return;
            }
            progressed.await;
        }
    }

    /// Returns true once the first try to reach each server has ended.
    pub(crate) fn is_settled(&self) -> bool {
        self.members().iter().all(|server| server.is_settled())
    }

    /// Notes that a server got further.
    pub(crate) fn note_progress(&self) {
        self.progressed.notify_waiters();
    }

    pub(crate) fn gates(&self) -> &Gates {
        &self.shared.gates
    }

    pub(crate) fn options(&self) -> &GatewayOptions {
        &self.shared.options
    }

    /// Returns the context of a passage that no client asked for.
    pub(crate) fn own_context(&self, server: &Server) -> Context {
        self.shared.own_context(server)
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    /// Returns the servers.
    pub(crate) fn members(&self) -> Arc<Members> {
        Arc::clone(&self.published.load().members)
    }

    pub(crate) fn versions(&self) -> watch::Receiver<Versions> {
        self.versions.subscribe()
    }

    pub(super) fn locked_offers(&self) -> MutexGuard<'_, Offers> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Fleet {
    /// Builds a fleet without servers.
    pub(crate) fn empty() -> Arc<Self> {
        let (config, options) = (portcullis_config::Config::default(), GatewayOptions::default());
        let gates = Gates::new(portcullis_gates::PolicySet::default(), Arc::new(portcullis_gates::NoJournal));
        let gateway = super::Gateway::new(&config, Arc::new(gates), options);
        let principal = Principal::parse("local").unwrap();
        Self::new(Arc::clone(&gateway.shared), FleetKey { principal, capabilities: CapabilitySet::default() }, 1, true)
    }
}

/// What is published, as gates ask for it: after an approval the definition must still be the one that was shown.
struct PublishedDefinitions(Weak<Fleet>);

impl Definitions for PublishedDefinitions {
    fn current(&self, server: &ServerName, kind: CallKind, name: &str) -> Option<Digest> {
        let snapshot = self.0.upgrade()?.snapshot();
        let catalogue = &snapshot.catalogue;
        let item = match kind {
            CallKind::Tool => catalogue.tools().iter().find(|tool| tool.server() == server && tool.name() == name),
            CallKind::Prompt => catalogue.prompt_of(server, name),
            CallKind::Resource => catalogue.resource_of(server, name),
            CallKind::Completion => {
                let template = |item: &&portcullis_registry::Published| {
                    item.kind() == ItemKind::ResourceTemplate && item.server() == server && item.name() == name
                };
                catalogue.prompt_of(server, name).or_else(|| catalogue.published().find(template))
            }
        };
        item.map(portcullis_registry::Published::definition)
    }
}
