//! Takes changes of the config while the gateway runs, and those of the switch that stops its servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use portcullis_config::{Config, JournalSection, Level, Source, Surroundings, UpdateSection};
use portcullis_gates::Gates;
use portcullis_mcp::Gateway;
use portcullis_mcp::status::ConfigChanges;
use portcullis_runtime::{PolicyStore, StoreConfig};
use portcullis_store::Home;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::commands::serve::report;
use crate::failure::one_line;
use crate::policies::{folder, store_config};
use crate::settings::surroundings;
use crate::stop;

/// The file is looked at this often, by its path: so it does not matter whether it is written, replaced, or a link. Reports
/// of the system would have to be of its folder, which is that of the database, and each record of it would be one.
const LOOK: Duration = Duration::from_secs(1);

/// A change is taken once the file was the same for so long: a half-written one may read as a whole one.
const SETTLE: Duration = Duration::from_millis(500);

/// A file that never settles is read all the same.
const LONGEST_SETTLE: Duration = Duration::from_secs(5);

/// What tells one state of a file from another. Nothing where there is none.
type Stamp = Option<(SystemTime, u64, u64)>;

/// What a change of the config has to reach.
pub(crate) struct ConfigWatch {
    pub(crate) home: Home,
    /// The file that it was read from; nothing where no file can change.
    pub(crate) source: Option<Source>,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) policies: Arc<PolicyStore>,
    pub(crate) gates: Arc<Gates>,
    /// What of the config that runs is not the gateway's own.
    pub(crate) running: Running,
    /// The config that counts, as it was last taken.
    pub(crate) config: Config,
    /// What of the file is not in use, and why.
    pub(crate) note: Option<String>,
    /// The folder with tokens of logins.
    pub(crate) tokens: PathBuf,
    /// True while every server is stopped.
    pub(crate) stopped: bool,
    /// Told by an operator to look at once.
    pub(crate) look: Arc<Notify>,
    /// Tells whoever fetches updates where from.
    pub(crate) updates: watch::Sender<Option<UpdateSection>>,
}

/// What of a config counts beside servers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Running {
    policies: StoreConfig,
    folder: PathBuf,
    journal: JournalSection,
}

impl Running {
    pub(crate) fn of(home: &Home, config: &Config) -> Self {
        Self { policies: store_config(home, config), folder: folder(home, config), journal: config.journal.clone() }
    }
}

impl ConfigWatch {
    /// Follows the file and the switch until the task is ended. Looks at once where the process is told to (SIGHUP), or an
    /// operator asks.
    pub(crate) async fn follow(mut self) {
        let mut told = Told::new();
        let mut known = self.stamp().await;
        let mut logins = stamp(&self.tokens).await;
        loop {
            let by_wish = tokio::select! {
                () = tokio::time::sleep(LOOK) => false,
                () = told.reload() => true,
                () = self.look.notified() => true,
            };
            let home = self.home.clone();
            // Should looking break, nothing runs.
            let is_set = tokio::task::spawn_blocking(move || stop::is_set(&home)).await.unwrap_or(true);
            if is_set != self.stopped {
                self.switch();
            }
            // A folder changes whenever a file in it is replaced.
            let logins_now = stamp(&self.tokens).await;
            if logins_now != logins {
                logins = logins_now;
                // Servers that are up take new tokens by themselves; those that are down are tried again.
                self.gateway.reconfigure(&self.in_force());
            }
            let mut now = self.stamp().await;
            if self.source.is_none() || (now == known && !by_wish) {
                continue;
            }
            let until = Instant::now() + LONGEST_SETTLE;
            loop {
                tokio::time::sleep(SETTLE).await;
                let later = self.stamp().await;
                if later == now || Instant::now() >= until {
                    break;
                }
                now = later;
            }
            known = now;
            // Policies may have to be compiled.
            let taken = tokio::task::spawn_blocking(move || {
                self.take();
                self
            });
            let Ok(watch) = taken.await else {
                tracing::error!("taking the config broke: changes of it are not noticed until a restart");
                return;
            };
            self = watch;
        }
    }

    async fn stamp(&self) -> Stamp {
        match &self.source {
            Some(source) => stamp(&source.path).await,
            None => None,
        }
    }

    /// Stops every server, or lets them run again.
    fn switch(&mut self) {
        self.stopped = !self.stopped;
        if self.stopped {
            tracing::warn!("the operator stops every server");
        } else {
            tracing::warn!("the operator lets servers run again");
        }
        self.gateway.reconfigure(&self.in_force());
        self.show_note();
    }

    /// Returns what of the config counts now.
    fn in_force(&self) -> Config {
        if self.stopped { stop::without_servers(&self.config) } else { self.config.clone() }
    }

    fn show_note(&self) {
        let notes: Vec<&str> = self.stopped.then_some(stop::NOTE).into_iter().chain(self.note.as_deref()).collect();
        self.gateway.set_config_note((!notes.is_empty()).then(|| notes.join("; ")));
    }

    /// Reads the config and takes it, unless it is none.
    fn take(&mut self) {
        let Some(Source { path, origin }) = &self.source else {
            return;
        };
        // Without the secrets of the home, what names them is left out, and says so.
        let surroundings = surroundings(self.home.path()).unwrap_or_else(|failure| {
            tracing::error!("{failure}");
            Surroundings::process()
        });
        let config = match Config::read(path, *origin, &surroundings) {
            Ok(config) => config,
            Err(error) => {
                let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
                return self.refuse(&one_line(&format!("{error}{cause}")));
            }
        };
        report(&config);
        // A mistake in a server's entry concerns that server alone; any other one leaves open what was meant.
        let mistake = config
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.level == Level::Error && diagnostic.server.is_none());
        if let Some(mistake) = mistake {
            return self.refuse(&one_line(&mistake.to_string().replace('\n', "; ")));
        }
        let mut notes = self.take_policies(&config);
        self.config = config.clone();
        let changes = self.gateway.reconfigure(&self.in_force());
        if changes == ConfigChanges::default() {
            tracing::info!("the config was read again: no server differs");
        } else {
            let names = |names: &[portcullis_model::ServerName]| {
                one_line(&names.iter().map(portcullis_model::ServerName::as_str).collect::<Vec<_>>().join(", "))
            };
            tracing::info!(
                added = names(&changes.added),
                removed = names(&changes.removed),
                changed = names(&changes.changed),
                naming = changes.naming,
                "the config changed"
            );
        }
        if !config.left_out.is_empty() {
            let left_out = one_line(&config.left_out.join(", "));
            notes.push(format!("the entries of these servers have errors, so they stay as they were: {left_out}"));
        }
        for note in &notes {
            tracing::warn!("{note}");
        }
        self.note = (!notes.is_empty()).then(|| notes.join("; "));
        self.show_note();
    }

    /// Changes nothing, and says why.
    fn refuse(&mut self, reason: &str) {
        tracing::error!(reason, "the changed config cannot be used: the former one still counts");
        self.note = Some(format!("the changed config cannot be used: {reason}"));
        self.show_note();
    }

    /// Takes what the config says of policies, which judge whatever else changed. Returns what needs a restart.
    fn take_policies(&mut self, config: &Config) -> Vec<String> {
        let mut wanted = Running::of(&self.home, config);
        let mut notes = Vec::new();
        if wanted.folder != self.running.folder {
            notes.push("another `policies.directory` counts after a restart".to_owned());
            wanted.policies.folder.clone_from(&self.running.policies.folder);
            wanted.policies.trial.clone_from(&self.running.policies.trial);
        }
        if wanted.journal != self.running.journal {
            notes.push("what changed under `journal` counts after a restart".to_owned());
        }
        if wanted.policies != self.running.policies {
            self.policies.configure(wanted.policies.clone());
            if let Some(generation) = self.policies.refresh(&self.gates) {
                tracing::info!(generation, "the config changed what judges");
            }
            self.running.policies = wanted.policies;
            // Other keys may vouch for what was refused.
            self.updates.send_modify(|_| {});
        }
        self.updates.send_if_modified(|section| {
            let is_other = *section != config.policies.update;
            section.clone_from(&config.policies.update);
            is_other
        });
        notes
    }
}

async fn stamp(path: &std::path::Path) -> Stamp {
    let metadata = tokio::fs::metadata(path).await.ok()?;
    Some((metadata.modified().ok()?, metadata.len(), inode(&metadata)))
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &std::fs::Metadata) -> u64 {
    0
}

/// Tells when the process is told to read its config again.
struct Told {
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Told {
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            hangup: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    #[cfg(unix)]
    async fn reload(&mut self) {
        let told = match &mut self.hangup {
            Some(hangup) => hangup.recv().await,
            None => None,
        };
        if told.is_none() {
            // Nobody can tell any more.
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    async fn reload(&mut self) {
        std::future::pending().await
    }
}
