//! Checks that broke instead of answering. They are tried again: a busy machine is no reason to stop a server for good.

use std::time::Duration;

use portcullis_gates::{Cleared, Launching, Refusal, RefusalCode};
use portcullis_model::Occasion;

use super::Fleet;
use super::server::Server;

/// A check that broke is repeated after each of these pauses; then the refusal stands.
pub(crate) const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

/// Returns true where a gate refused because a check broke, not because a policy said no.
pub(crate) fn is_fault(refusal: &Refusal) -> bool {
    matches!(refusal.code, RefusalCode::PolicyFault(_) | RefusalCode::JournalFailed)
}

impl Fleet {
    /// Asks the config gate again about a server that runs.
    pub(crate) async fn rescreen(&self, server: &Server) -> Result<Cleared<Launching>, Refusal> {
        for pause in PAUSES {
            match self.screen(server, Occasion::Rejudge).await {
                Err(refusal) if is_fault(&refusal) => tokio::time::sleep(pause).await,
                other => return other,
            }
        }
        self.screen(server, Occasion::Rejudge).await
    }
}
