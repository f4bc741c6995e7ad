//! Sets of policies: the first, those that follow, and what is kept of them.

use std::sync::Arc;

use portcullis_gates::Gates;
use portcullis_runtime::{PolicyEvent, PolicyStore, Unsigned, Watching};
use portcullis_store::SqliteStore;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use crate::policies;

/// Publishes the first set, then watches for more.
pub(super) fn load(policies: &Arc<PolicyStore>, gates: &Arc<Gates>, loaded: &watch::Sender<bool>) -> Option<Watching> {
    policies.refresh(gates);
    for policy in policies.status().iter().filter(|policy| !policy.loosened.is_empty()) {
        tracing::warn!(policy = %policy.name, loosened = policy.loosened.join(", "), "the config loosens a policy");
    }
    if policies.unsigned() == Unsigned::All {
        tracing::warn!("{}", crate::policy_report::ALL_UNSIGNED);
    }
    for (policy, gates) in policies.missing() {
        let gates: Vec<_> = gates.iter().map(|gate| gate.as_str()).collect();
        tracing::error!(%policy, gates = gates.join(", "), "a required policy is missing: its gates stay shut");
    }
    loaded.send_replace(true);
    match Watching::start(Arc::clone(policies), Arc::clone(gates)) {
        Ok(watching) => Some(watching),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "new policies are not noticed until a restart");
            None
        }
    }
}

/// Keeps the versions of packs whenever a set was published: a pack that judged once is not undone by a kill.
pub(super) async fn remember(mut events: Receiver<PolicyEvent>, policies: Arc<PolicyStore>, store: Arc<SqliteStore>) {
    loop {
        match events.recv().await {
            Ok(PolicyEvent::Published { .. }) | Err(RecvError::Lagged(_)) => {
                let (policies, store) = (Arc::clone(&policies), Arc::clone(&store));
                let kept = tokio::task::spawn_blocking(move || policies::remember_versions(&policies, &store));
                let _panicked = kept.await;
            }
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
