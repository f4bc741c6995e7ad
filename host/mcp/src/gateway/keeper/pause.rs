//! A server that is not running: refused, or waiting for another try.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::Refusal;
use tokio::time::Instant;

use super::{LONGEST_REASON, describe};
use crate::approver::shown;
use crate::gateway::Fleet;
use crate::gateway::back_off::{BackOff, Pause};
use crate::gateway::server::{Connected, Server};
use crate::gateway::wishes::Wanted;
use crate::status::Phase;

/// Calls that run when a server is refused have so long to finish: a server that is believed hostile is not waited for.
const DRAIN: Duration = Duration::from_secs(2);

/// Why a server is not available.
pub(super) struct Failure {
    pub(super) code: &'static str,
    pub(super) detail: String,
    /// False where another try can't end differently.
    pub(super) retry: bool,
}

/// Withdraws a server that a gate refused, and waits for a new policy set. Returns true where the gateway stops.
pub(super) async fn denied(
    gateway: &Fleet,
    server: &Server,
    refusal: &Refusal,
    running: Option<Arc<Connected>>,
) -> bool {
    let reason = describe(refusal);
    tracing::warn!(server = %server.name(), code = refusal.code.as_str(), reason, "a server was refused");
    server.set_phase(Phase::Denied, Some((refusal.code.as_str(), shown(&reason, LONGEST_REASON))));
    server.set_withdrawn(HashSet::new());
    gateway.publish(server, None);
    gateway.note_progress();
    gateway.tell_operator(server);
    if let Some(running) = running {
        let _ = tokio::time::timeout(DRAIN, server.drained()).await;
        running.link.close().await;
    }
    server.wishes.take(|wanted| wanted.stop || wanted.rejudge).await.stop
}

/// Notes a failure and waits until another try is due. Returns true where the gateway stops.
pub(super) async fn failed(
    gateway: &Fleet,
    server: &Server,
    back_off: &mut BackOff,
    failure: Failure,
    ended: Option<Arc<Connected>>,
) -> bool {
    let Failure { code, detail, retry } = failure;
    let now = Instant::now();
    let pause = back_off.failed(getrandom::u32().unwrap_or_default());
    let withdrawn = pause.parked || !retry;
    let next = if retry {
        format!("another try in {} s", pause.wait.as_secs_f64().ceil())
    } else {
        "no further try until a policy or the config changes".to_owned()
    };
    let reason = format!("{}; {next}", shown(&detail, LONGEST_REASON));
    tracing::warn!(server = %server.name(), code, reason, "a server is not available");
    let phase = if withdrawn { Phase::Parked } else { Phase::CoolingDown };
    server.set_down(phase, code, reason, retry.then(|| now + pause.wait));
    if withdrawn {
        gateway.withdraw(server);
    } else {
        gateway.publish_state();
    }
    gateway.note_progress();
    gateway.tell_operator(server);
    if let Some(ended) = ended {
        // Told first: what is left of a dead server may take a while to be cleared away.
        ended.link.close().await;
    }
    wait(server, retry.then_some(pause), now).await
}

/// Waits until another try is due: by the clock, by a call that needs the server, or by a new policy set, which may judge
/// it otherwise. Returns true where the gateway stops.
async fn wait(server: &Server, pause: Option<Pause>, since: Instant) -> bool {
    let wished = |wanted: &Wanted| wanted.stop || wanted.rejudge || wanted.wake;
    let Some(pause) = pause else {
        return server.wishes.take(|wanted| wanted.stop || wanted.rejudge).await.stop;
    };
    let (mut until, earliest) = (since + pause.wait, since + pause.earliest);
    loop {
        match tokio::time::timeout_at(until, server.wishes.take(wished)).await {
            Ok(wanted) if wanted.stop || wanted.rejudge => return wanted.stop,
            Ok(_) if earliest < until => {
                until = earliest;
                server.set_retry(until);
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

impl Fleet {
    /// Withdraws what a server offers, and remembers the names of its tools: a client that still knows one is told that
    /// the server is down, not that there is no such tool.
    fn withdraw(&self, server: &Server) {
        let snapshot = self.snapshot();
        let tools = snapshot.catalogue.tools().iter().filter(|tool| tool.server() == server.name());
        let utilities = snapshot.catalogue.utilities().iter().filter(|tool| tool.server == *server.name());
        let names: HashSet<String> =
            tools.map(|tool| tool.exposed().to_owned()).chain(utilities.map(|tool| tool.exposed.clone())).collect();
        if !names.is_empty() {
            server.set_withdrawn(names);
        }
        self.publish(server, None);
    }
}
