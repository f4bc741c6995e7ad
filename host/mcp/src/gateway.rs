//! The gateway: all servers behind the gates, and all clients in front of them.

mod ask;
mod back_off;
mod call;
mod connector;
mod eras;
mod faults;
mod instructions;
mod items;
mod keeper;
mod launch;
mod link;
mod lists;
mod notice;
mod options;
mod peer;
mod publish;
mod rejudge;
mod route;
mod safe_mode;
mod server;
mod sessions;
mod snapshot;
mod stateless;
mod utility;
mod wishes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwap;
use portcullis_config::{Approvals, Config, Naming};
use portcullis_gates::{Context, Definitions, Gates, NoApprover, Session};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, ClientFacts, Digest, Era, ItemKind, Principal, ServerName, SessionId};
use portcullis_registry::{Catalogue, Offer};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::downstream::{ClientSession, LogLevel};
use crate::status::{Phase, Status};

use connector::Connector;
use server::Server;
use snapshot::{Snapshot, Versions};

pub use connector::StderrLog;
pub use options::GatewayOptions;
pub use safe_mode::safe_mode;

pub(crate) use ask::check_elicitation;
pub(crate) use call::ClientCall;
pub(crate) use link::{Answer, Boxed, Greeting, LaunchError, Launcher, Link, LinkError, Pages};
pub(crate) use peer::ServerPeer;

/// All servers of a config behind the gates.
///
/// Built idle: [`Gateway::start`] starts the servers, [`Gateway::shutdown`] ends them. It serves any number of clients;
/// see [`crate::serve_stdio`].
pub struct Gateway {
    gates: Arc<Gates>,
    options: GatewayOptions,
    approvals: Approvals,
    naming: Naming,
    launcher: Arc<dyn Launcher>,
    servers: Vec<Arc<Server>>,
    by_name: HashMap<ServerName, usize>,
    /// The session that the gateway's own passages belong to: screening, starting, listing.
    own: Arc<Session>,
    definitions: Arc<dyn Definitions>,
    offers: Mutex<Vec<Option<Arc<Offer>>>>,
    published: ArcSwap<Snapshot>,
    versions: watch::Sender<Versions>,
    sessions: Mutex<Vec<Arc<ClientSession>>>,
    /// Requests of the stateless era that are being worked on, each a session of its own towards servers.
    exchanges: Mutex<HashMap<u64, Arc<ClientSession>>>,
    /// What servers are told that the client can do, fixed at the first start.
    capabilities: OnceLock<Value>,
    level: Mutex<Option<LogLevel>>,
    keepers: Mutex<Vec<JoinHandle<()>>>,
    /// Told whenever a server gets further.
    progressed: Notify,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gateway").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Builds a gateway for a config. No server is started yet.
    pub fn new(config: &Config, gates: Arc<Gates>, options: GatewayOptions) -> Arc<Self> {
        let launcher = Connector {
            supervisor: options.supervisor.clone(),
            stderr_log: options.stderr_log.clone(),
            eras: Arc::default(),
        };
        Self::with_launcher(config, gates, options, Arc::new(launcher))
    }

    /// Builds a gateway that connects its servers by the given launcher.
    pub(crate) fn with_launcher(
        config: &Config,
        gates: Arc<Gates>,
        options: GatewayOptions,
        launcher: Arc<dyn Launcher>,
    ) -> Arc<Self> {
        let servers: Vec<Arc<Server>> = config
            .servers
            .iter()
            .enumerate()
            .map(|(index, server)| Arc::new(Server::new(index, Arc::clone(&server.entry), server.options.clone())))
            .collect();
        for server in &servers {
            if options.safe_mode.is_some() {
                let reason = "safe mode keeps every server off".to_owned();
                server.set_phase(Phase::Disabled, Some(("safe-mode", reason)));
            } else if !server.options.enabled {
                server.set_phase(Phase::Disabled, Some(("disabled", "switched off in the config".to_owned())));
            }
        }
        let by_name = servers.iter().map(|server| (server.name().clone(), server.index)).collect();
        let offers = Mutex::new(vec![None; servers.len()]);
        Arc::new_cyclic(|gateway| Self {
            definitions: Arc::new(PublishedDefinitions(Weak::clone(gateway))),
            gates,
            options,
            approvals: config.approvals.clone(),
            naming: config.naming.clone(),
            launcher,
            servers,
            by_name,
            own: Arc::new(own_session()),
            offers,
            published: ArcSwap::default(),
            versions: watch::Sender::new(Versions::default()),
            sessions: Mutex::default(),
            exchanges: Mutex::default(),
            capabilities: OnceLock::new(),
            level: Mutex::default(),
            keepers: Mutex::default(),
            progressed: Notify::new(),
        })
    }

    /// Starts all servers, each by itself and all at once. `capabilities` is what the client declared: servers are told
    /// of sampling, elicitation and roots where it did. Does nothing where they were started before.
    pub fn start(self: &Arc<Self>, capabilities: &Value) {
        if self.capabilities.set(capabilities.clone()).is_err() {
            return;
        }
        if let Some(variable) = self.options.safe_mode {
            tracing::warn!(variable, "safe mode: no server is started");
            self.publish_state();
            return;
        }
        // Before the first server is judged: a set that is published meanwhile must judge it again.
        let mut generations = self.gates.changes();
        generations.borrow_and_update();
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        for server in self.servers.iter().filter(|server| server.options.enabled) {
            server.set_phase(Phase::Connecting, None);
            keepers.push(tokio::spawn(keeper::keep(Arc::clone(self), Arc::clone(server))));
        }
        keepers.push(tokio::spawn(rejudge::follow(Arc::downgrade(self), generations)));
    }

    /// Stops all servers and waits until nothing of them runs.
    pub async fn shutdown(&self) {
        for server in &self.servers {
            server.wishes.add(|wanted| wanted.stop = true);
        }
        let keepers = std::mem::take(&mut *self.keepers.lock().unwrap_or_else(PoisonError::into_inner));
        let mut keepers = keepers;
        // The last one follows policy sets and would not end by itself.
        if let Some(follower) = keepers.pop() {
            follower.abort();
        }
        for keeper in keepers {
            if keeper.await.is_err() {
                tracing::error!("the keeper of a server broke");
            }
        }
    }

    /// Returns what became of each server.
    pub fn status(&self) -> Status {
        Status {
            safe_mode: self.options.safe_mode.is_some(),
            generation: self.gates.set().generation,
            servers: self.servers.iter().map(|server| server.status()).collect(),
        }
    }

    /// Returns what is published now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.snapshot().catalogue)
    }

    /// Waits until the first try to reach each server has ended, well or not. Returns at once where none was started.
    pub async fn settled(&self) {
        loop {
            let progressed = self.progressed.notified();
            if self.is_settled() || self.capabilities.get().is_none() {
                return;
            }
            progressed.await;
        }
    }

    /// Returns true once the first try to reach each server has ended.
    pub(crate) fn is_settled(&self) -> bool {
        self.servers.iter().all(|server| server.is_settled())
    }

    /// Notes that a server got further.
    pub(crate) fn note_progress(&self) {
        self.progressed.notify_waiters();
    }

    pub(crate) fn gates(&self) -> &Gates {
        &self.gates
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    pub(crate) fn versions(&self) -> watch::Receiver<Versions> {
        self.versions.subscribe()
    }

    pub(crate) fn server(&self, name: &ServerName) -> Option<Arc<Server>> {
        self.servers.get(*self.by_name.get(name)?).cloned()
    }

    /// Returns the context of a passage that no client asked for.
    pub(crate) fn own_context(&self, server: &Server) -> Context {
        Context {
            session: Arc::clone(&self.own),
            set: self.gates.set(),
            approver: Arc::new(NoApprover),
            server_trust: server.options.trust,
            tool_rounds: 0,
            definitions: None,
        }
    }
}

/// What is published, as gates ask for it: after an approval the definition must still be the one that was shown.
struct PublishedDefinitions(Weak<Gateway>);

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

/// Returns the session of the gateway itself.
fn own_session() -> Session {
    let fixed = "both names are made of letters only";
    Session::new(
        SessionId::parse("gateway").expect(fixed),
        Principal::parse("operator").expect(fixed),
        ClientFacts::default(),
        Era::Initialize,
    )
}

/// Returns what a server is told that the client can do: what is passed on, and nothing else.
pub(crate) fn passed_on(capabilities: &Value, mut allowed: impl FnMut(&str) -> bool) -> Value {
    let mut declared = Object::new();
    for name in ["roots", "sampling", "elicitation"] {
        if let Some(capability) = capabilities.get(name).filter(|value| !value.is_null() && allowed(name)) {
            declared.insert(name, capability.clone());
        }
    }
    declared.into()
}

#[cfg(test)]
mod tests;
