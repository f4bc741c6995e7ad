//! Servers that are not running and are started when a call needs them: put to sleep by their age or by idleness.

use std::time::Duration;

use portcullis_gates::Refusal;
use tokio::time::Instant;

use crate::gateway::items::RawListing;
use crate::gateway::schema_cache::{Place, Remembered};
use crate::gateway::server::{Connected, Server};
use crate::gateway::{Fleet, Greeting};

/// A call waits so long for a server that it wakes; the reference client does the same.
const WAKING: Duration = Duration::from_secs(15);

/// Why a server sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// It ran for as long as the config lets it.
    Old,
    /// No call came for as long as the config lets it wait.
    Idle,
    /// It starts at its first call; what it offers is known from an earlier run.
    Lazy,
}

/// A server that sleeps, with what it offers meanwhile.
pub(super) struct Asleep {
    pub(super) why: Sleep,
    pub(super) greeting: Greeting,
    pub(super) raw: RawListing,
}

/// How sleep ended.
pub(super) enum Woken {
    /// A call needs the server.
    Wanted,
    /// A new policy set refuses the entry.
    Refused(Refusal),
    /// The gateway stops.
    Stopped,
}

/// Waits until a server is due to sleep, by its age first, then by idleness. Never while a call is running.
pub(super) async fn due(server: &Server, connected: &Connected) -> Sleep {
    let options = server.options();
    loop {
        server.drained().await;
        let idle_since = server.callers.idle_since().map_or(connected.since, |since| since.max(connected.since));
        let old_at = options.max_lifetime.map(|lifetime| connected.since + lifetime);
        let idle_at = options.idle_timeout.map(|timeout| idle_since + timeout);
        let now = Instant::now();
        if old_at.is_some_and(|at| at <= now) {
            return Sleep::Old;
        }
        if idle_at.is_some_and(|at| at <= now) {
            return Sleep::Idle;
        }
        match old_at.into_iter().chain(idle_at).min() {
            // A call that comes meanwhile is seen then.
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

/// Notes that a server sleeps from now on. Calls wake it and wait.
pub(super) fn note(server: &Server, why: Sleep) {
    let (code, text) = match why {
        Sleep::Old => ("lifetime", "it ran for as long as the config allows; the next call starts it"),
        Sleep::Idle => ("idle", "no call came for some time; the next call starts it"),
        Sleep::Lazy => ("lazy", "what it offered when it last ran is listed; the first call starts it"),
    };
    let limit = if why == Sleep::Lazy { server.options().connect_timeout } else { WAKING };
    tracing::info!(server = %server.name(), reason = text, "a server sleeps until a call needs it");
    server.set_asleep(code, text, limit);
}

/// Remembers a server that starts at its first call, and publishes what it offered when it last ran. Nothing where that is
/// not known, or where the server is to be started at once.
pub(super) async fn remember(fleet: &Fleet, server: &Server) -> Result<Option<Asleep>, Refusal> {
    let Some(place) = fleet.place(server) else {
        return Ok(None);
    };
    let Ok(Some(Remembered { greeting, raw })) = tokio::task::spawn_blocking(move || place.load()).await else {
        return Ok(None);
    };
    server.begin_judging(fleet.gates().set().generation);
    fleet.rescreen(server).await?;
    let offer = fleet.scan(server, &greeting, &raw).await;
    fleet.publish(server, Some(offer));
    let asleep = Asleep { why: Sleep::Lazy, greeting, raw };
    note(server, asleep.why);
    fleet.note_progress();
    Ok(Some(asleep))
}

/// Keeps what a server offers for the time when it is not running.
pub(super) fn keep_lists(fleet: &Fleet, server: &Server, greeting: &Greeting, raw: &RawListing) {
    let Some(place) = fleet.place(server) else {
        return;
    };
    let (name, remembered) = (server.name().clone(), Remembered { greeting: greeting.clone(), raw: raw.clone() });
    tokio::task::spawn_blocking(move || {
        if let Err(error) = place.store(&remembered) {
            tracing::warn!(server = %name, %error, "what a server lists could not be kept");
        }
    });
}

impl Fleet {
    /// Returns where the lists of a server are kept, where it starts at its first call.
    fn place(&self, server: &Server) -> Option<Place> {
        let options = server.options();
        let folder = self.options().schema_folder.as_deref().filter(|_| options.lazy)?;
        Some(Place::new(folder, &server.entry(), &options, &self.declared(&options)))
    }
}

/// Waits until a call needs a server that sleeps. What it offers is judged again by each new policy set.
pub(super) async fn sleep(fleet: &Fleet, server: &Server, asleep: &Asleep) -> Woken {
    loop {
        let wanted = server.wishes.take(|wanted| wanted.stop || wanted.wake || wanted.rejudge).await;
        if wanted.stop {
            return Woken::Stopped;
        }
        if wanted.rejudge {
            server.begin_judging(fleet.gates().set().generation);
            if let Err(refusal) = fleet.rescreen(server).await {
                return Woken::Refused(refusal);
            }
            let offer = fleet.scan(server, &asleep.greeting, &asleep.raw).await;
            fleet.publish(server, Some(offer));
        }
        if wanted.wake {
            return Woken::Wanted;
        }
    }
}
