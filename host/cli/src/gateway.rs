//! The composition: config, policies, gates and servers, put together and taken apart.

mod policy_sets;
mod threads;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use portcullis_config::{Approvals, Config, Durability, JournalSection, Payloads, UpdateSection};
#[cfg(unix)]
use portcullis_door::FrontDoor;
use portcullis_gates::{ApprovalLimits, Gates, Launching, NoApprover, Refusal, Session};
use portcullis_mcp::{Gateway, GatewayOptions, safe_mode};
use portcullis_model::{ClientFacts, Era, Occasion, Principal, Secret, ServerEntry, SessionId};
use portcullis_runtime::{PolicyStore, Watching};
use portcullis_store::{Home, PayloadKey, Retention, SqliteStore, StoreOptions};
use portcullis_supervisor::Launcher;
use tokio::sync::Notify;
use tokio::sync::watch;

pub(crate) use threads::{Clients, runtime, runtime_for};

use policy_sets::{load, remember};

use crate::config_watch::{ConfigWatch, Running};
use crate::failure::OrExit as _;
#[cfg(unix)]
use crate::operator::{Surface, Watched};
use crate::updates::{UpdateState, Updates};
use crate::{Exit, Failure, policies, stderr_log, stop};

/// The folder of the home with tokens of logins at servers.
pub(crate) const TOKENS: &str = "tokens";

/// What a gateway is started with besides its config.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartOptions {
    /// Variables of this process that are meant for servers.
    pub(crate) tagged: Vec<String>,
    /// The program that supervises stdio servers; this one where nothing is said.
    pub(crate) supervisor: Option<PathBuf>,
    /// The folder with tokens of logins; that of the home where nothing is said.
    pub(crate) token_folder: Option<PathBuf>,
}

/// A gateway with everything that belongs to it: what a program that embeds Portcullis starts.
#[derive(Debug)]
pub struct Composition {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) policies: Arc<PolicyStore>,
    pub(crate) store: Arc<SqliteStore>,
    gates: Arc<Gates>,
    /// Where clients are served, once they are.
    front: Arc<OnceLock<String>>,
    /// True where it was started while the servers of the home are stopped.
    stopped: bool,
    /// Has the config and the switch looked at now.
    look: Arc<Notify>,
    /// Hears operators until it is dropped.
    #[cfg(unix)]
    surface: Option<Surface>,
    /// Tells when the first set of policies is published.
    ready: watch::Receiver<bool>,
    loading: Option<std::thread::JoinHandle<Option<Watching>>>,
    remembering: tokio::task::JoinHandle<()>,
    watching: Option<tokio::task::JoinHandle<()>>,
    /// The program that supervises and fetches, in processes of its own.
    program: Option<PathBuf>,
    /// Fetches what is new from a registry.
    updating: Option<tokio::task::JoinHandle<()>>,
    updates: UpdateState,
}

/// Opens the database of a home as the config says.
pub(crate) fn open_store(home: &Home, journal: &JournalSection) -> Result<Arc<SqliteStore>, Failure> {
    let durability = match journal.durability {
        Durability::Process => portcullis_store::Durability::Process,
        Durability::Power => portcullis_store::Durability::Power,
    };
    let kept = Retention::default();
    let retention = Retention {
        age: journal.keep.unwrap_or(kept.age),
        bytes: journal.most_bytes.unwrap_or(kept.bytes),
        payloads: journal.keep_payloads.unwrap_or(kept.payloads),
        ..kept
    };
    let options = StoreOptions { durability, retention };
    let opened = match &journal.path {
        Some(path) => {
            // Links on the way are the operator's own; the file itself must not be one.
            let folder = path.parent().unwrap_or(Path::new(".")).canonicalize();
            let path = folder.map_or_else(|_| path.clone(), |folder| folder.join(path.file_name().unwrap_or_default()));
            if path == home.database() {
                SqliteStore::open(home, options)
            } else {
                SqliteStore::open_file(&path, options)
            }
        }
        None => SqliteStore::open(home, options),
    };
    opened
        .map(Arc::new)
        .or_exit(Exit::State, "opening the database")
        .map_err(|failure| failure.hint("another one can be named with `--home`, `PORTCULLIS_HOME` or `journal.path`"))
}

impl Composition {
    /// Puts a gateway together and begins to load its policies. Every gate is shut until they are there; servers wait
    /// for that, and a client is greeted meanwhile. `tagged` names variables of this process that are meant for servers.
    ///
    /// Call it inside a tokio runtime; `Gateway::start` (which a client's `initialize` does) then starts the servers.
    pub fn start(home: &Home, config: &Config, tagged: Vec<String>) -> Result<Self, Failure> {
        Self::start_with(home, config, StartOptions { tagged, ..StartOptions::default() })
    }

    /// Puts a gateway together as [`Composition::start`] does.
    pub(crate) fn start_with(home: &Home, config: &Config, start: StartOptions) -> Result<Self, Failure> {
        let store = open_store(home, &config.journal)?;
        let policies = Arc::new(policies::store(home, config, &store)?);
        let key = home.key("digest.key").or_exit(Exit::State, "reading the key of digests")?;
        let gates = Gates::new(policies::shut(config), Arc::clone(&store) as _)
            .with_digest_key(key)
            .with_grants(Arc::clone(&store) as _)
            .with_approval_limits(limits(&config.approvals))
            .with_inputs_kept(keep_payloads(home, config, &store)?);
        let gates = Arc::new(gates);
        let logs = home.folder("logs").or_exit(Exit::State, "opening the folder for logs")?;
        let token_folder = match start.token_folder {
            Some(folder) => folder,
            None => home.folder(TOKENS).or_exit(Exit::State, "opening the folder for tokens")?,
        };
        let (loaded, ready) = watch::channel(false);
        let program = start.supervisor.clone();
        let options = GatewayOptions {
            safe_mode: safe_mode(|name| std::env::var(name).ok()),
            environment: environment(),
            tagged: start.tagged,
            supervisor: start.supervisor.map(supervised_by),
            stderr_log: Some(stderr_log::in_folder(logs)),
            schema_folder: Some(home.folder("cache/schemas").or_exit(Exit::State, "opening the folder for lists")?),
            sandboxes: Some(home.folder("sandboxes").or_exit(Exit::State, "opening the folder for sandboxes")?),
            protected: std::iter::once(home.path().to_owned()).chain(config.journal.path.clone()).collect(),
            results_folder: Some(home.folder("results").or_exit(Exit::State, "opening the folder for results")?),
            lock_folder: Some(home.folder("locks").or_exit(Exit::State, "opening the folder for locks")?),
            token_folder: Some(token_folder),
            ready: Some(ready.clone()),
            pins: Some(Arc::clone(&store) as _),
            ..GatewayOptions::default()
        };
        let stopped = stop::is_set(home);
        let gateway = if stopped {
            tracing::warn!("{}", stop::NOTE);
            Gateway::new(&stop::without_servers(config), Arc::clone(&gates), options)
        } else {
            Gateway::new(config, Arc::clone(&gates), options)
        };
        gateway.set_config_note(stopped.then(|| stop::NOTE.to_owned()));
        // Listened to before anything is published, so that the first set counts.
        let events = policies.events();
        let loading = std::thread::Builder::new()
            .name("policies".to_owned())
            .spawn({
                let (policies, gates) = (Arc::clone(&policies), Arc::clone(&gates));
                move || load(&policies, &gates, &loaded)
            })
            .or_exit(Exit::Policies, "starting the thread that loads policies")?;
        let remembering = tokio::spawn(remember(events, Arc::clone(&policies), Arc::clone(&store)));
        Ok(Self {
            gateway,
            policies,
            store,
            gates,
            front: Arc::default(),
            stopped,
            look: Arc::default(),
            #[cfg(unix)]
            surface: None,
            ready,
            loading: Some(loading),
            remembering,
            watching: None,
            program,
            updating: None,
            updates: UpdateState::default(),
        })
    }

    /// Takes changes of the config from now on, where it was read from a file: servers that are new, gone or different, and
    /// what it says of policies and names. A file that cannot be used changes nothing. From now on, too, servers are stopped
    /// and started as operators say (`portcullis stop`, `resume`). Call it inside a tokio runtime.
    pub fn watch_config(&mut self, home: &Home, config: &Config) {
        let (wanted, section) = watch::channel(config.policies.update.clone());
        self.follow_updates(home, config, section);
        let watch = ConfigWatch {
            home: home.clone(),
            source: config.source.clone(),
            gateway: Arc::clone(&self.gateway),
            policies: Arc::clone(&self.policies),
            gates: Arc::clone(&self.gates),
            running: Running::of(home, config),
            tokens: home.path().join(TOKENS),
            config: config.clone(),
            note: None,
            stopped: self.stopped,
            look: Arc::clone(&self.look),
            updates: wanted,
        };
        if let Some(former) = self.watching.replace(tokio::spawn(watch.follow())) {
            former.abort();
        }
    }

    /// Fetches new policies and packs from the registry that the config names, where it does.
    fn follow_updates(&mut self, home: &Home, config: &Config, section: watch::Receiver<Option<UpdateSection>>) {
        let Some(source) = &config.source else { return };
        let program = self.program.clone().map_or_else(std::env::current_exe, Ok);
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "updates are not fetched: this program has no path"
                );
                return;
            }
        };
        let updates = Updates {
            home: home.clone(),
            program,
            config: source.path.clone(),
            folder: policies::folder(home, config),
            policies: Arc::clone(&self.policies),
            gates: Arc::clone(&self.gates),
            store: Arc::clone(&self.store),
            state: self.updates.clone(),
        };
        if let Some(former) = self.updating.replace(tokio::spawn(updates.follow(self.ready.clone(), section))) {
            former.abort();
        }
    }

    /// Lets operators answer questions from other terminals, unless the config says that nobody may. Without it, what
    /// needs an operator is refused.
    pub fn hear_operators(&mut self, home: &Home, config: &Config) -> Result<(), Failure> {
        #[cfg(unix)]
        if config.approvals.operator {
            let watched = Watched {
                gates: Arc::clone(&self.gates),
                gateway: Arc::clone(&self.gateway),
                policies: Arc::clone(&self.policies),
                config: config.source.as_ref().map(|source| source.path.clone()),
                front: Arc::clone(&self.front),
                look: Arc::clone(&self.look),
                since: SystemTime::now(),
                updates: self.updates.clone(),
            };
            self.surface = Some(Surface::open(home, watched, &config.approvals, Some(Arc::clone(&self.store)))?);
        }
        #[cfg(not(unix))]
        let _: (&Home, &Config, &Arc<Gates>) = (home, config, &self.gates);
        Ok(())
    }

    /// Notes where clients are served, for operators who ask.
    pub(crate) fn note_front(&self, front: impl Into<String>) {
        // Served once, in one way.
        let _known = self.front.set(front.into());
    }

    /// Lets operators, from other terminals, consent to clients at a front door.
    #[cfg(unix)]
    pub(crate) fn attend(&self, front_door: &Arc<FrontDoor>) {
        if let Some(surface) = &self.surface {
            surface.attend(front_door);
        }
    }

    /// Returns the gates, to answer what they ask.
    pub(crate) fn gates(&self) -> &Arc<Gates> {
        &self.gates
    }

    /// Returns the gateway, to be given clients.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Asks the config gate about a server that is about to be logged in at.
    pub(crate) async fn screen(&self, entry: Arc<ServerEntry>) -> Result<(), Failure> {
        let session = SessionId::parse("login").or_exit(Exit::Internal, "naming the session")?;
        let principal = Principal::parse("operator").or_exit(Exit::Internal, "naming the principal")?;
        let session = Session::new(session, principal, ClientFacts::default(), Era::Initialize);
        let name = entry.name.clone();
        let context = self.gates.context(Arc::new(session), Arc::new(NoApprover), None);
        let launching = Launching { entry, occasion: Occasion::Probe };
        let refused = |refusal: Refusal| {
            let text = format!("`{name}` is refused ({}): {}", refusal.code.as_str(), refusal.detail);
            Failure::new(Exit::Failed, text).hint(format!("`portcullis test {name}` shows what each gate said"))
        };
        self.gates.config(&context, launching).await.map(|_| ()).map_err(refused)
    }

    /// Returns the policies, to be asked what they are.
    pub fn policies(&self) -> &Arc<PolicyStore> {
        &self.policies
    }

    /// Returns the store, to read the journal.
    pub fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    /// Waits until the policies are loaded.
    pub async fn ready(&self) {
        // The sender is gone only where loading panicked; then every gate stays shut, and that is told elsewhere.
        let mut ready = self.ready.clone();
        let _gone = ready.wait_for(|ready| *ready).await;
    }

    /// Ends all servers, then stops watching.
    pub async fn shut_down(mut self) {
        for task in [&self.watching, &self.updating].into_iter().flatten() {
            task.abort();
        }
        self.gateway.shutdown().await;
        self.remembering.abort();
        // A compile that still runs cannot be cancelled; the process ends without it.
        if let Some(loading) = self.loading.take().filter(std::thread::JoinHandle::is_finished) {
            let _panicked = loading.join();
        }
    }
}

fn supervised_by(program: PathBuf) -> Launcher {
    Launcher { program, arguments: vec!["supervise".into()] }
}

/// Lets the store keep what policies are told, where the config wants it. Returns true where it does.
fn keep_payloads(home: &Home, config: &Config, store: &SqliteStore) -> Result<bool, Failure> {
    let is_wanted = config.journal.payloads == Payloads::Full;
    if is_wanted {
        let key = PayloadKey::of(home).or_exit(Exit::State, "reading the key of payloads")?;
        store.keep_payloads(Arc::new(key));
    }
    Ok(is_wanted)
}

pub(crate) fn limits(approvals: &Approvals) -> ApprovalLimits {
    ApprovalLimits {
        wait: approvals.timeout,
        waiting: usize::try_from(approvals.waiting).unwrap_or(usize::MAX),
        expire: approvals.expire,
    }
}

/// Returns the environment that is offered to servers. What is no UTF-8 cannot be named in a policy and is not offered.
fn environment() -> Vec<(String, Secret)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, Secret::new(value.into_string().ok()?))))
        .collect()
}
