//! A new policy set judges again what runs and what is published.

use std::sync::Weak;

use tokio::sync::watch;

use super::Gateway;

/// Has every server judged again at each generation that was not seen yet, until the gateway is gone.
pub(crate) async fn follow(gateway: Weak<Gateway>, mut generations: watch::Receiver<u64>) {
    while generations.changed().await.is_ok() {
        let generation = *generations.borrow_and_update();
        let Some(gateway) = gateway.upgrade() else {
            return;
        };
        tracing::info!(generation, "a new policy set judges again what runs and what is published");
        for fleet in gateway.fleets() {
            fleet.rejudge(generation);
        }
    }
}
