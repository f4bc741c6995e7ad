//! What a gateway is told besides the config.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_model::Secret;

use super::StderrLog;

/// What a gateway is told besides the config.
#[derive(Clone)]
pub struct GatewayOptions {
    /// How long the first lists wait for servers that are still starting. Clients give up between 10 s and a minute;
    /// what comes later is told by `list_changed`.
    pub list_wait: Duration,
    /// The variable that switched safe mode on, if one did; see [`crate::safe_mode`]. No server is started then.
    pub safe_mode: Option<&'static str>,
    /// Variables of the gateway's own environment, which stdio servers are offered.
    pub environment: Vec<(String, Secret)>,
    /// Names among them that the operator tagged as meant for servers.
    pub tagged: Vec<String>,
    /// How the supervisor of a stdio server is started; this very program where nothing is said.
    pub supervisor: Option<portcullis_supervisor::Launcher>,
    /// Where lines of standard error are kept; nowhere where nothing is said.
    pub stderr_log: Option<StderrLog>,
    /// How long servers that were started for clients with other capabilities than the first one's stay without a
    /// client. A client that is restarted is back within moments, and a person at another client within minutes; further on
    /// their processes only cost memory.
    pub fleet_idle: Duration,
    /// Where is kept what servers list that start at their first call; nowhere where nothing is said.
    pub schema_folder: Option<PathBuf>,
    /// Where full copies of shortened results are kept; nowhere where nothing is said.
    pub results_folder: Option<PathBuf>,
    /// Where servers in a sandbox have a home of their own, each one folder; where nothing is said, none is started.
    pub sandboxes: Option<PathBuf>,
    /// Folders that no sandbox opens, whatever the config says: the gateway's own.
    pub protected: Vec<PathBuf>,
    /// Where gateways of one home wait for each other while they connect a server; nowhere where nothing is said.
    pub lock_folder: Option<PathBuf>,
    /// Where tokens of logins at servers are kept; where nothing is said, nobody is logged in anywhere.
    pub token_folder: Option<PathBuf>,
    /// Becomes true once there are policies to judge by. Clients are greeted before, servers are started after: so the
    /// first lists wait for the policies and are not empty because every gate was still shut.
    pub ready: Option<tokio::sync::watch::Receiver<bool>>,
    /// Where approved definitions are kept; where nothing is said, none are, and no change is noticed.
    pub pins: Option<Arc<dyn portcullis_store::Pins>>,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            list_wait: Duration::from_secs(8),
            safe_mode: None,
            environment: Vec::new(),
            tagged: Vec::new(),
            supervisor: None,
            stderr_log: None,
            fleet_idle: Duration::from_mins(10),
            schema_folder: None,
            results_folder: None,
            sandboxes: None,
            protected: Vec::new(),
            lock_folder: None,
            token_folder: None,
            ready: None,
            pins: None,
        }
    }
}

impl std::fmt::Debug for GatewayOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GatewayOptions")
            .field("list_wait", &self.list_wait)
            .field("safe_mode", &self.safe_mode)
            .field("tagged", &self.tagged)
            .finish_non_exhaustive()
    }
}
