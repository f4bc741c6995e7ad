//! The life of one server: started, listed, scanned, published; listed and judged again; stopped or tried again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use portcullis_gates::Refusal;
use portcullis_model::json::Object;
use rmcp::model::{ConstString as _, PingRequestMethod};

use super::back_off::BackOff;
use super::faults::is_fault;
use super::items::RawListing;
use super::launch::{NotStarted, list_all, list_one};
use super::link::Boxed;
use super::server::{Connected, Server};
use super::wishes::Wanted;
use super::{Fleet, Link, LinkError};
use crate::approver::shown;
use crate::method::Listable;
use crate::status::Phase;

/// Servers send `list_changed` in bursts: so long they are let finish.
const SETTLE: Duration = Duration::from_millis(100);
/// Calls that run when a server is refused have so long to finish: a server that is believed hostile is not waited for.
const DRAIN: Duration = Duration::from_secs(2);
/// A connection that lasted so long proved the server even without a call.
const PROVEN: Duration = Duration::from_mins(1);
/// An answer to a ping is awaited so long.
const PING_LIMIT: Duration = Duration::from_secs(30);
/// Reasons for operators are cut to this many characters.
const LONGEST_REASON: usize = 1_000;

/// How a connection ended.
enum End {
    /// The gateway stops.
    Stopped,
    /// A new policy set refuses the entry.
    Refused(Refusal),
    /// By itself.
    Closed(String),
}

/// Why a server is not available.
struct Failure {
    code: &'static str,
    detail: String,
    retry: bool,
}

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
    loop {
        number += 1;
        let mut retired = None;
        server.set_phase(Phase::Connecting, None);
        server.begin_judging(gateway.gates().set().generation);
        gateway.note_progress();
        let end = match start(&gateway, &server, number).await {
            Ok((connected, raw)) => {
                let since = Instant::now();
                let end = run(&gateway, &server, &connected, raw).await;
                if server.answers.load(Ordering::Relaxed) > 0 || since.elapsed() >= PROVEN {
                    back_off.proven();
                }
                server.set_connected(None);
                if !matches!(end, End::Closed(_)) {
                    // Withdrawn at once; what runs may finish through the result gate of its own set.
                    gateway.publish(&server, None);
                }
                retired = Some(connected);
                Ok(end)
            }
            Err(NotStarted::Failed { code: "stopped", .. }) => Ok(End::Stopped),
            Err(not_started) => Err(not_started),
        };
        let stopped = match end {
            Ok(End::Stopped) => true,
            Ok(End::Refused(refusal)) | Err(NotStarted::Refused(refusal)) if is_fault(&refusal) => {
                let failure = Failure { code: "policy-fault", detail: describe(&refusal), retry: true };
                failed(&gateway, &server, &mut back_off, failure, retired.take()).await
            }
            Ok(End::Refused(refusal)) | Err(NotStarted::Refused(refusal)) => {
                denied(&gateway, &server, &refusal, retired.take()).await
            }
            Ok(End::Closed(detail)) => {
                let failure = Failure { code: "ended", detail, retry: true };
                failed(&gateway, &server, &mut back_off, failure, retired.take()).await
            }
            Err(NotStarted::Failed { code, detail, retry }) => {
                failed(&gateway, &server, &mut back_off, Failure { code, detail, retry }, None).await
            }
        };
        if stopped {
            if let Some(connected) = retired {
                connected.link.close().await;
            }
            gateway.publish(&server, None);
            server.set_phase(Phase::Disabled, Some(("stopped", "the gateway is stopping".to_owned())));
            return;
        }
    }
}

fn describe(refusal: &Refusal) -> String {
    let policy = refusal.policy.as_ref().map_or("the gateway", |policy| policy.as_str());
    format!("refused at the {} gate by {policy}: {}", refusal.gate, refusal.detail)
}

/// Withdraws a server that a gate refused, and waits for a new policy set. Returns true where the gateway stops.
async fn denied(gateway: &Fleet, server: &Server, refusal: &Refusal, running: Option<Arc<Connected>>) -> bool {
    let reason = describe(refusal);
    tracing::warn!(server = %server.name(), code = refusal.code.as_str(), reason, "a server was refused");
    server.set_phase(Phase::Denied, Some((refusal.code.as_str(), shown(&reason, LONGEST_REASON))));
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
async fn failed(
    gateway: &Fleet,
    server: &Server,
    back_off: &mut BackOff,
    failure: Failure,
    ended: Option<Arc<Connected>>,
) -> bool {
    let Failure { code, detail, retry } = failure;
    let pause = back_off.failed(getrandom::u32().unwrap_or_default());
    let next = if retry {
        format!("another try in {} s", pause.wait.as_secs())
    } else {
        "no further try until a policy or the config changes".to_owned()
    };
    let reason = format!("{}; {next}", shown(&detail, LONGEST_REASON));
    tracing::warn!(server = %server.name(), code, reason, "a server is not available");
    server.set_phase(Phase::Failed, Some((code, reason)));
    if pause.parked || !retry {
        gateway.publish(server, None);
    } else {
        gateway.publish_state();
    }
    gateway.note_progress();
    gateway.tell_operator(server);
    if let Some(ended) = ended {
        // Told first: what is left of a dead server may take a while to be cleared away.
        ended.link.close().await;
    }
    let wished = |wanted: &Wanted| wanted.stop || (wanted.rejudge && !retry);
    if retry {
        let waiting = server.wishes.take(wished);
        tokio::time::timeout(pause.wait, waiting).await.is_ok_and(|wanted| wanted.stop)
    } else {
        server.wishes.take(wished).await.stop
    }
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
            Ok((raw, failures)) => Ok((link, raw, failures)),
            Err(error) => {
                link.close().await;
                Err(NotStarted::Failed { code: "ended", detail: error.to_string(), retry: true })
            }
        }
    });
    let (link, raw, failures) = loop {
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
    let connected = Arc::new(Connected { link, number });
    server.set_connected(Some(Arc::clone(&connected)));
    gateway.publish(server, Some(offer));
    note_ready(server, &*connected.link, began.elapsed(), &failures);
    gateway.note_progress();
    gateway.greet(&*connected.link).await;
    Ok((connected, raw))
}

fn note_ready(server: &Server, link: &dyn Link, elapsed: Duration, failures: &[String]) {
    let greeting = link.greeting();
    let reason = (!failures.is_empty()).then(|| ("partly-listed", shown(&failures.join("; "), LONGEST_REASON)));
    server.set_phase(Phase::Ready, reason);
    server.set_status(|status| {
        status.implementation = greeting.implementation.as_deref().map(|text| shown(text, 100));
        status.protocol = Some(shown(&greeting.revision, 32));
        status.started_in = Some(elapsed);
    });
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

/// Runs a connected server until it ends.
async fn run(gateway: &Arc<Fleet>, server: &Arc<Server>, connected: &Connected, mut raw: RawListing) -> End {
    let mut wanted = Wanted::default();
    loop {
        if wanted.stop {
            return End::Stopped;
        }
        if let Some((number, detail)) = wanted.closed.take()
            && number == connected.number
        {
            return End::Closed(detail);
        }
        if wanted.rejudge
            && let Err(refusal) = gateway.rescreen(server).await
        {
            return End::Refused(refusal);
        }
        if wanted.relist() {
            tokio::time::sleep(SETTLE).await;
        }
        let urgent = |wanted: &Wanted| wanted.stop || wanted.rejudge || wanted.closed.is_some();
        let refreshing: Boxed<'_, _> = Box::pin(refresh(gateway, server, connected, &mut raw, &wanted));
        tokio::select! {
            outcome = refreshing => match outcome {
                Ok(()) => wanted = next_wish(server, connected).await,
                Err(error) => return End::Closed(error.to_string()),
            },
            // What was not finished is still wanted.
            () = server.wishes.wait(urgent) => {
                wanted = server.wishes.take(urgent).await.join(&wanted);
            }
        }
    }
}

/// Waits for a wish, and asks a silent server for a sign of life meanwhile.
pub(super) async fn next_wish(server: &Server, connected: &Connected) -> Wanted {
    let mut answers = server.answers.load(Ordering::Relaxed);
    loop {
        tokio::select! {
            wanted = server.wishes.take(|_| true) => return wanted,
            () = tokio::time::sleep(server.options().keepalive_interval) => {}
        }
        let now = server.answers.load(Ordering::Relaxed);
        if now == answers {
            let (link, name) = (Arc::clone(&connected.link), server.name().clone());
            // An ended connection or a lost session shows itself by this and becomes a wish. Silence alone proves nothing:
            // servers exist that do not answer pings.
            tokio::spawn(async move {
                let pinged = tokio::time::timeout(PING_LIMIT, link.ask(PingRequestMethod::VALUE, Object::new().into()));
                if pinged.await.is_err() {
                    tracing::info!(server = %name, "a server does not answer a ping");
                }
            });
        }
        answers = now;
    }
}

/// Lists again what is wanted, judges everything that is listed, and publishes it.
async fn refresh(
    gateway: &Fleet,
    server: &Server,
    connected: &Connected,
    raw: &mut RawListing,
    wanted: &Wanted,
) -> Result<(), LinkError> {
    if !wanted.relist() && !wanted.rejudge {
        return Ok(());
    }
    let link = &*connected.link;
    let mut failures = Vec::new();
    let kinds = [
        (wanted.tools, Listable::Tools),
        (wanted.prompts, Listable::Prompts),
        (wanted.resources, Listable::Resources),
        (wanted.resources, Listable::Templates),
    ];
    for (_, listable) in kinds.into_iter().filter(|(wanted, _)| *wanted) {
        list_one(link, listable, raw, &mut failures).await?;
    }
    for failure in failures {
        tracing::warn!(server = %server.name(), failure, "a server could not be listed again");
    }
    let before = server.status().counts;
    let offer = gateway.scan(server, link.greeting(), raw).await;
    gateway.publish(server, Some(offer));
    let after = server.status().counts;
    tracing::info!(
        server = %server.name(),
        rejudged = wanted.rejudge,
        tools_before = before.tools_exposed,
        tools_now = after.tools_exposed,
        withheld_now = after.withheld,
        "the lists of a server were judged again"
    );
    Ok(())
}
