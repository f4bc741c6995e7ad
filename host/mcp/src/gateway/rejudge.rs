//! A new policy set judges again what runs and what is published.

use std::sync::Weak;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::Gateway;

/// What has servers judged again.
enum Cause {
    /// A policy set that was not seen yet.
    Policies,
    /// An operator's answer about a server; nothing where it may be about any.
    Answer(Option<String>),
}

/// Has every server judged again at each generation that was not seen yet, and the one about which a standing question
/// was answered, until the gateway is gone.
pub(crate) async fn follow(gateway: Weak<Gateway>, mut generations: watch::Receiver<u64>) {
    let Some(mut answers) = gateway.upgrade().map(|gateway| gateway.gates().answers()) else {
        return;
    };
    loop {
        let cause = tokio::select! {
            changed = generations.changed() => match changed {
                Ok(()) => Cause::Policies,
                Err(_) => return,
            },
            answer = answers.recv() => match answer {
                Ok(server) => Cause::Answer(Some(server).filter(|server| !server.is_empty())),
                Err(RecvError::Lagged(_)) => Cause::Answer(None),
                Err(RecvError::Closed) => return,
            },
        };
        let Some(gateway) = gateway.upgrade() else {
            return;
        };
        match cause {
            Cause::Policies => {
                let generation = *generations.borrow_and_update();
                tracing::info!(generation, "a new policy set judges again what runs and what is published");
                for fleet in gateway.fleets() {
                    fleet.rejudge(generation);
                }
            }
            Cause::Answer(server) => {
                tracing::info!(server, "an answer of an operator has servers judged again");
                for fleet in gateway.fleets() {
                    fleet.reconsider(server.as_deref());
                }
            }
        }
    }
}
