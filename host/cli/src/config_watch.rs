//! Takes changes of the config while the gateway runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use portcullis_config::{Config, JournalSection, Level, Source, Surroundings};
use portcullis_gates::Gates;
use portcullis_mcp::Gateway;
use portcullis_mcp::status::ConfigChanges;
use portcullis_runtime::{PolicyStore, StoreConfig};
use portcullis_store::Home;
use tokio::time::Instant;

use crate::commands::serve::report;
use crate::failure::one_line;
use crate::policies::{folder, store_config};

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
    pub(crate) source: Source,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) policies: Arc<PolicyStore>,
    pub(crate) gates: Arc<Gates>,
    /// What of the config that runs is not the gateway's own.
    pub(crate) running: Running,
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
    /// Follows the file until the task is ended. Looks at once where the process is told to (SIGHUP).
    pub(crate) async fn follow(mut self) {
        let mut told = Told::new();
        let mut known = stamp(&self.source.path).await;
        loop {
            let by_signal = tokio::select! {
                () = tokio::time::sleep(LOOK) => false,
                () = told.reload() => true,
            };
            let mut now = stamp(&self.source.path).await;
            if now == known && !by_signal {
                continue;
            }
            let until = Instant::now() + LONGEST_SETTLE;
            loop {
                tokio::time::sleep(SETTLE).await;
                let later = stamp(&self.source.path).await;
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

    /// Reads the config and takes it, unless it is none.
    fn take(&mut self) {
        let Source { path, origin } = &self.source;
        let config = match Config::read(path, *origin, &Surroundings::process()) {
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
        let changes = self.gateway.reconfigure(&config);
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
        self.gateway.set_config_note((!notes.is_empty()).then(|| notes.join("; ")));
    }

    /// Changes nothing, and says why.
    fn refuse(&self, reason: &str) {
        tracing::error!(reason, "the changed config cannot be used: the former one still counts");
        self.gateway.set_config_note(Some(format!("the changed config cannot be used: {reason}")));
    }

    /// Takes what the config says of policies, which judge whatever else changed. Returns what needs a restart.
    fn take_policies(&mut self, config: &Config) -> Vec<String> {
        let mut wanted = Running::of(&self.home, config);
        let mut notes = Vec::new();
        if wanted.folder != self.running.folder {
            notes.push("another `policies.directory` counts after a restart".to_owned());
            wanted.policies.folder.clone_from(&self.running.policies.folder);
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
        }
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
