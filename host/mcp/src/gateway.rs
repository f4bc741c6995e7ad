//! The gateway: all servers behind the gates, and all clients in front of them.

mod ask;
mod back_off;
mod breaker;
mod call;
mod callers;
mod capabilities;
mod connect_lock;
mod connector;
mod deliver;
mod eras;
mod failure;
mod faults;
mod fleet;
mod instructions;
mod items;
mod keeper;
mod launch;
mod link;
mod lists;
mod members;
mod notice;
mod options;
mod pages;
mod peer;
mod pins;
mod pool;
mod publish;
mod reach;
mod rejudge;
mod reload;
mod results;
mod route;
mod safe_mode;
mod sandbox;
mod schema_cache;
mod server;
mod sessions;
mod shared;
mod snapshot;
mod stateless;
mod subscribers;
mod tasks;
mod turns;
mod usage;
mod utility;
mod voice;
mod wishes;

use std::sync::{Arc, Mutex, PoisonError};

use portcullis_config::Config;
use portcullis_gates::Gates;
use portcullis_model::ServerName;
use portcullis_model::json::Value;
use portcullis_registry::Catalogue;
use tokio::task::JoinHandle;

use crate::chat::ChatBook;
use crate::downstream::{ClientSession, Reply, local};
use crate::method::Listable;
use crate::status::Status;

use capabilities::CapabilitySet;
use connector::Connector;
use fleet::FleetKey;
use pool::Pool;
use shared::Shared;

pub use connector::StderrLog;
pub use options::GatewayOptions;
pub use safe_mode::safe_mode;

pub(crate) use ask::{check_elicitation, not_offered};
pub(crate) use call::ClientCall;
pub(crate) use fleet::Fleet;
pub(crate) use link::{
    Answer, Boxed, Caller, Greeting, LaunchError, Launcher, Link, LinkError, LoginTrouble, OnProgress, Pages,
};
pub(crate) use peer::ServerPeer;
pub(crate) use tasks::{TaskForm, declares_tasks};

/// All servers of a config behind the gates.
///
/// Built idle: the first client's introduction, or [`Gateway::start`], starts the servers; [`Gateway::shutdown`] ends
/// them. It serves any number of clients; see [`crate::serve_stdio`].
///
/// What servers list and ask depends on what the client declared that it can do. So clients that declared the same share
/// servers, a fleet, and clients that declared something else have servers of their own.
#[derive(Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
    pool: Mutex<Pool>,
    tasks: Mutex<Tasks>,
}

/// What runs beside the servers.
#[derive(Debug, Default)]
struct Tasks {
    /// Follow policy sets, and the use of fleets; they would not end by themselves.
    followers: Vec<JoinHandle<()>>,
    /// Stop fleets that nobody uses any more.
    retiring: Vec<JoinHandle<()>>,
}

impl Gateway {
    /// Builds a gateway for a config. No server is started yet.
    pub fn new(config: &Config, gates: Arc<Gates>, options: GatewayOptions) -> Arc<Self> {
        let launcher = Connector {
            supervisor: options.supervisor.clone(),
            stderr_log: options.stderr_log.clone(),
            eras: Arc::default(),
            token_folder: options.token_folder.clone(),
            chats: ChatBook::default(),
            sandboxes: options.sandboxes.clone(),
            protected: options.protected.clone(),
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
        let shared = Arc::new(Shared::new(config, gates, options, launcher));
        Arc::new(Self { shared, pool: Mutex::default(), tasks: Mutex::default() })
    }

    /// Starts the servers for clients of the local user with these capabilities, as the introduction of such a client does.
    /// Does nothing where they were started before.
    pub fn start(self: &Arc<Self>, capabilities: &Value) {
        let _started = self.fleet_for(&local(), capabilities);
    }

    /// Follows policy sets and the use of fleets from now on.
    fn follow(self: &Arc<Self>) {
        // Before the first server is judged: a set that is published meanwhile must judge it again.
        let mut generations = self.shared.gates.changes();
        generations.borrow_and_update();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.followers.push(tokio::spawn(rejudge::follow(Arc::downgrade(self), generations)));
        tasks.followers.push(tokio::spawn(pool::watch_use(Arc::downgrade(self))));
    }

    /// Stops all servers and waits until nothing of them runs.
    pub async fn shutdown(&self) {
        let fleets = self.close_pool();
        let Tasks { followers, retiring } = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        for follower in followers {
            follower.abort();
        }
        for fleet in fleets {
            fleet.stop().await;
        }
        for retiring in retiring {
            let _panicked = retiring.await;
        }
    }

    /// Returns what became of each server.
    pub fn status(&self) -> Status {
        let fleets = self.fleets();
        Status {
            safe_mode: self.shared.options.safe_mode.is_some(),
            generation: self.shared.gates.set().generation,
            config_note: self.shared.config_note.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            servers: if fleets.is_empty() {
                // One that is not started tells what the config says of each server.
                let key = FleetKey { principal: local(), capabilities: CapabilitySet::default() };
                Fleet::new(Arc::clone(&self.shared), key, 0, true).statuses()
            } else {
                fleets.iter().flat_map(|fleet| fleet.statuses()).collect()
            },
            fleets: fleets.iter().map(|fleet| fleet.status()).collect(),
        }
    }

    /// Returns what is published for the first clients.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        let first = self.fleets().into_iter().next();
        first.map(|fleet| Arc::clone(&fleet.snapshot().catalogue)).unwrap_or_default()
    }

    /// Waits until the first try to reach each server has ended, well or not. Returns at once where none was started.
    pub async fn settled(&self) {
        for fleet in self.fleets() {
            fleet.settled().await;
        }
    }

    /// Returns true where the config has a server of that name.
    pub(crate) fn has_server(&self, name: &ServerName) -> bool {
        self.shared.arrangement.load().servers.iter().any(|server| server.name() == name)
    }

    pub(crate) fn gates(&self) -> &Gates {
        &self.shared.gates
    }

    /// Answers a list.
    pub(crate) async fn list(&self, session: &ClientSession, listable: Listable) -> Reply {
        session.fleet.list(session, listable).await
    }

    /// Answers a call of a client.
    pub(crate) async fn call(&self, session: Arc<ClientSession>, call: ClientCall) -> Reply {
        let fleet = Arc::clone(&session.fleet);
        fleet.call(session, call).await
    }
}

#[cfg(test)]
impl Gateway {
    /// Returns the sessions of all fleets.
    pub(crate) fn sessions(&self) -> Vec<Arc<ClientSession>> {
        self.fleets().iter().flat_map(|fleet| fleet.sessions()).collect()
    }

    /// Returns true while something that a server said is on its way.
    pub(crate) fn has_unheard(&self) -> bool {
        self.fleets().iter().any(|fleet| fleet.members().iter().any(|server| server.voice.is_unheard()))
    }

    /// Returns true while a request of the stateless era is being worked on.
    pub(crate) fn has_exchanges(&self) -> bool {
        self.fleets().iter().any(|fleet| fleet.has_exchanges())
    }
}

#[cfg(test)]
mod tests;
