//! The life of one server: started, listed, scanned, published; listed and judged again; stopped or tried again.

mod connection;
mod pause;
mod sleep;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use portcullis_gates::Refusal;

use super::back_off::BackOff;
use super::faults::is_fault;
use super::items::RawListing;
use super::launch::{NotStarted, list_all};
use super::link::Boxed;
use super::server::{Connected, Server};
use super::wishes::Wanted;
use super::{Fleet, Link};
use crate::approver::shown;
use crate::status::Phase;

use connection::{End, run};
use pause::{Failure, denied, failed};
use sleep::{Asleep, Woken, keep_lists, note as note_sleep, remember, sleep};

#[cfg(test)]
pub(super) use connection::next_wish;

/// Reasons for operators are cut to this many characters.
const LONGEST_REASON: usize = 1_000;

/// Keeps one server until the gateway stops.
pub(crate) async fn keep(gateway: Arc<Fleet>, server: Arc<Server>) {
    let mut back_off = BackOff::default();
    let mut number = 0;
    if let Some(mut ready) = gateway.options().ready.clone() {
        // Whoever loads the policies may be gone without a word; then the gates are shut and say so.
        tokio::select! {
            _ = ready.wait_for(|ready| *ready) => {}
            _ = server.wishes.take(|wanted| wanted.stop) => {
                server.set_phase(Phase::Disabled, Some(("stopped", "the gateway is stopping".to_owned())));
                return;
            }
        }
    }
    let (mut asleep, mut refused) = match remember(&gateway, &server).await {
        Ok(asleep) => (asleep.map(Box::new), None),
        Err(refusal) => (None, Some(refusal)),
    };
    loop {
        let mut retired = None;
        let outcome = if let Some(refusal) = refused.take() {
            Outcome::Refused(refusal)
        } else if let Some(sleeping) = asleep.take() {
            match sleep(&gateway, &server, &sleeping).await {
                Woken::Wanted => continue,
                Woken::Refused(refusal) => {
                    gateway.publish(&server, None);
                    Outcome::Refused(refusal)
                }
                Woken::Stopped => Outcome::Stopped,
            }
        } else {
            number += 1;
            live(&gateway, &server, number, &mut back_off, &mut retired).await
        };
        let stopped = match outcome {
            Outcome::Stopped => true,
            Outcome::Refused(refusal) if is_fault(&refusal) => {
                let failure = Failure { code: "policy-fault", detail: describe(&refusal), retry: true };
                failed(&gateway, &server, &mut back_off, failure, retired.take()).await
            }
            Outcome::Refused(refusal) => denied(&gateway, &server, &refusal, retired.take()).await,
            Outcome::Failed(failure) => failed(&gateway, &server, &mut back_off, failure, retired.take()).await,
            Outcome::Expired => {
                server.set_phase(Phase::Connecting, None);
                close(retired.take()).await;
                false
            }
            Outcome::Due(sleeping) => {
                note_sleep(&server, sleeping.why);
                // A call that took the connection a moment ago finishes on it.
                tokio::select! {
                    () = server.drained() => {}
                    () = server.wishes.wait(|wanted| wanted.stop) => {}
                }
                close(retired.take()).await;
                asleep = Some(sleeping);
                false
            }
        };
        if stopped {
            close(retired).await;
            gateway.publish(&server, None);
            server.set_phase(Phase::Disabled, Some(("stopped", "the gateway is stopping".to_owned())));
            return;
        }
    }
}

async fn close(retired: Option<Arc<Connected>>) {
    if let Some(retired) = retired {
        retired.link.close().await;
    }
}

/// What became of one start.
enum Outcome {
    /// The gateway stops.
    Stopped,
    /// A gate refused the entry, then or later.
    Refused(Refusal),
    /// It could not be reached, or it ended.
    Failed(Failure),
    /// It forgot the session of a connection that had answered: another one can be had at once.
    Expired,
    /// It is due to sleep.
    Due(Box<Asleep>),
}

/// Starts a server and keeps it until its connection ends. That connection is left in `retired`, still to be closed.
async fn live(
    gateway: &Arc<Fleet>,
    server: &Arc<Server>,
    number: u64,
    back_off: &mut BackOff,
    retired: &mut Option<Arc<Connected>>,
) -> Outcome {
    server.set_phase(Phase::Connecting, None);
    server.count_start();
    server.begin_judging(gateway.gates().set().generation);
    gateway.note_progress();
    let (connected, raw) = match start(gateway, server, number).await {
        Ok(started) => started,
        Err(NotStarted::Failed { code: "stopped", .. }) => return Outcome::Stopped,
        Err(NotStarted::Failed { code, detail, retry }) => return Outcome::Failed(Failure { code, detail, retry }),
        Err(NotStarted::Refused(refusal)) => return Outcome::Refused(refusal),
    };
    let end = run(gateway, server, &connected, raw).await;
    let proven = server.answers.load(Ordering::Relaxed) > 0;
    if proven {
        back_off.proven();
    }
    server.set_connected(None);
    gateway.note_progress();
    let outcome = match end {
        End::Stopped => Outcome::Stopped,
        End::Refused(refusal) => Outcome::Refused(refusal),
        End::Closed(ended) if ended.expired && proven => Outcome::Expired,
        End::Closed(ended) => Outcome::Failed(Failure { code: "ended", detail: ended.detail, retry: true }),
        End::Due(why, raw) => Outcome::Due(Box::new(Asleep { why, greeting: connected.link.greeting().clone(), raw })),
    };
    if matches!(outcome, Outcome::Stopped | Outcome::Refused(_)) {
        // Withdrawn at once; what runs may finish through the result gate of its own set.
        gateway.publish(server, None);
    }
    *retired = Some(connected);
    outcome
}

fn describe(refusal: &Refusal) -> String {
    let policy = refusal.policy.as_ref().map_or("the gateway", |policy| policy.as_str());
    format!("refused at the {} gate by {policy}: {}", refusal.gate, refusal.detail)
}

/// Starts a server and publishes what it offers. A new policy set that refuses the entry meanwhile ends the start.
async fn start(
    gateway: &Arc<Fleet>,
    server: &Arc<Server>,
    number: u64,
) -> Result<(Arc<Connected>, RawListing), NotStarted> {
    let began = Instant::now();
    // In a box: without one the compiler cannot tell that the future may move between threads.
    let mut starting: Boxed<'_, Result<_, NotStarted>> = Box::pin(async move {
        let link = gateway.launch(server, number).await?;
        match list_all(&*link).await {
            Ok(raw) => Ok((link, raw)),
            Err(error) => {
                link.close().await;
                Err(NotStarted::Failed { code: "ended", detail: error.to_string(), retry: true })
            }
        }
    });
    let (link, raw) = loop {
        tokio::select! {
            started = &mut starting => break started?,
            wanted = server.wishes.take(|wanted| wanted.stop || wanted.rejudge) => {
                if wanted.stop {
                    return Err(NotStarted::Failed { code: "stopped", detail: String::new(), retry: false });
                }
                gateway.rescreen(server).await.map_err(NotStarted::Refused)?;
                // The lists will be judged by the current set anyway; the other wishes stand.
                server.wishes.add(|wishes| *wishes = Wanted { rejudge: wishes.rejudge, ..wanted.join(wishes) });
            }
        }
    };
    let offer = gateway.scan(server, link.greeting(), &raw).await;
    let connected = Arc::new(Connected::new(link, number));
    // Published first: a call that waited for the connection compares what it was judged by with what is offered now.
    gateway.publish(server, Some(offer));
    server.set_connected(Some(Arc::clone(&connected)));
    gateway.shared.tasks.known().note(server, connected.link.greeting());
    keep_lists(gateway, server, connected.link.greeting(), &raw);
    note_ready(server, &*connected.link, began.elapsed(), &raw);
    gateway.note_progress();
    gateway.greet(&*connected.link).await;
    gateway.subscribe_anew(server, &connected);
    Ok((connected, raw))
}

fn note_ready(server: &Server, link: &dyn Link, elapsed: Duration, raw: &RawListing) {
    let greeting = link.greeting();
    server.set_withdrawn(HashSet::new());
    server.set_up(raw.incomplete());
    server.set_status(|status| {
        status.implementation = greeting.implementation.as_deref().map(|text| shown(text, 100));
        status.protocol = Some(shown(&greeting.revision, 32));
        status.started_in = Some(elapsed);
        status.confinement = link.confinement().cloned();
    });
    if let Some(confinement) = link.confinement() {
        let (confined, open) = (confinement.confined.join("; "), confinement.open.join("; "));
        tracing::info!(server = %server.name(), confined, not_confined = open, "it runs in a sandbox");
    }
    let counts = server.status().counts;
    tracing::info!(
        server = %server.name(),
        elapsed_ms = elapsed.as_millis(),
        listed = counts.listed,
        exposed = counts.exposed,
        withheld = counts.withheld,
        "registered {} tools", counts.tools_exposed
    );
}
