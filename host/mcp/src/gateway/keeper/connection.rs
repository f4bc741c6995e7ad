//! A connected server until its connection ends: what it lists anew, and signs of life.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_gates::Refusal;
use portcullis_model::json::Object;
use rmcp::model::{ConstString as _, PingRequestMethod};

use super::sleep::{Sleep, due};
use crate::gateway::items::RawListing;
use crate::gateway::launch::list_one;
use crate::gateway::link::Boxed;
use crate::gateway::server::{Connected, Server};
use crate::gateway::wishes::{Ended, Wanted};
use crate::gateway::{Fleet, LinkError};
use crate::method::Listable;

/// Servers send `list_changed` in bursts: so long they are let finish.
const SETTLE: Duration = Duration::from_millis(100);
/// An answer to a ping is awaited so long.
const PING_LIMIT: Duration = Duration::from_secs(30);

/// How a connection ended.
pub(super) enum End {
    /// The gateway stops.
    Stopped,
    /// A new policy set refuses the entry.
    Refused(Refusal),
    /// By itself.
    Closed(Ended),
    /// It is due to sleep until a call needs it.
    Due(Sleep, RawListing),
}

/// Runs a connected server until it ends.
pub(super) async fn run(gateway: &Arc<Fleet>, server: &Arc<Server>, connected: &Connected, mut raw: RawListing) -> End {
    let mut wanted = Wanted::default();
    loop {
        if wanted.stop {
            return End::Stopped;
        }
        if let Some(ended) = wanted.closed.take()
            && ended.number == connected.number
        {
            return End::Closed(ended);
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
                Ok(()) => {}
                Err(error) => {
                    let (number, detail) = (connected.number, error.to_string());
                    return End::Closed(Ended { number, detail, expired: false });
                }
            },
            // What was not finished is still wanted.
            () = server.wishes.wait(urgent) => {
                wanted = server.wishes.take(urgent).await.join(&wanted);
                continue;
            }
        }
        wanted = tokio::select! {
            wanted = next_wish(server, connected) => wanted,
            sleep = due(server, connected) => return End::Due(sleep, raw),
        };
    }
}

/// Waits for a wish, and asks a silent server for a sign of life meanwhile.
pub(crate) async fn next_wish(server: &Server, connected: &Connected) -> Wanted {
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
    let kinds = [
        (wanted.tools, Listable::Tools),
        (wanted.prompts, Listable::Prompts),
        (wanted.resources, Listable::Resources),
        (wanted.resources, Listable::Templates),
    ];
    for (_, listable) in kinds.into_iter().filter(|(wanted, _)| *wanted) {
        list_one(link, listable, raw).await?;
    }
    let incomplete = raw.incomplete();
    if let Some(failure) = &incomplete {
        tracing::warn!(server = %server.name(), failure, "a server could not be listed again");
    }
    server.set_incomplete(incomplete);
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
