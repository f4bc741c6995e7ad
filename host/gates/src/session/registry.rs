//! All live sessions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_model::{ClientFacts, Era, LabelFact, Principal, SessionId};
use tokio::time::Instant;

use super::{Session, lock};

/// A stateless client that was silent for so long is another session when it comes back (design §3).
const IDLE: Duration = Duration::from_mins(30);

/// So many sessions live at once: far more than one gateway serves, and each costs a few kilobytes.
const MOST_SESSIONS: usize = 4096;

/// No further session can be opened: all live ones are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many sessions are open")]
pub struct TooManySessions(());

/// A live session, as operators are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSession {
    /// Its opaque name.
    pub id: SessionId,
    /// Whom it belongs to.
    pub principal: Principal,
    /// The client's claim.
    pub client: ClientFacts,
    /// The client's lifecycle.
    pub era: Era,
    /// Its labels, each with the source that set it first.
    pub labels: Vec<LabelFact>,
}

#[derive(Debug)]
struct Live {
    session: Arc<Session>,
    last: Instant,
}

impl Live {
    /// Returns true where nobody holds the session and it was silent for the idle window.
    fn is_idle(&self, now: Instant) -> bool {
        Arc::strong_count(&self.session) == 1 && now.duration_since(self.last) >= IDLE
    }
}

/// All live sessions.
///
/// A stateless session ends when it was silent for the idle window. One of the `initialize` era ends when it is closed;
/// where room is needed, those that were silent for the idle window and are held by nobody end as well.
#[derive(Debug, Default)]
pub struct Sessions {
    live: Mutex<BTreeMap<SessionId, Live>>,
}

impl Sessions {
    /// Returns the session of that id, or opens it. Whoever makes up ids gives no two principals the same one.
    pub fn open(
        &self,
        id: &SessionId,
        principal: &Principal,
        client: &ClientFacts,
        era: Era,
    ) -> Result<Arc<Session>, TooManySessions> {
        let now = Instant::now();
        let mut live = lock(&self.live);
        if let Some(known) = live.get_mut(id) {
            if era == Era::Initialize || !known.is_idle(now) {
                known.last = now;
                return Ok(Arc::clone(&known.session));
            }
            live.remove(id);
        }
        if live.len() >= MOST_SESSIONS {
            live.retain(|_, known| !known.is_idle(now));
        }
        if live.len() >= MOST_SESSIONS {
            return Err(TooManySessions(()));
        }
        let session = Arc::new(Session::new(id.clone(), principal.clone(), client.clone(), era));
        live.insert(id.clone(), Live { session: Arc::clone(&session), last: now });
        Ok(session)
    }

    /// Returns the session of that id, if it lives and belongs to that principal, and counts as a sign of life.
    pub fn get(&self, id: &SessionId, principal: &Principal) -> Option<Arc<Session>> {
        let now = Instant::now();
        let mut live = lock(&self.live);
        let known = live.get_mut(id).filter(|known| known.session.principal == *principal)?;
        if known.session.era == Era::Stateless && known.is_idle(now) {
            live.remove(id);
            return None;
        }
        known.last = now;
        Some(Arc::clone(&known.session))
    }

    /// Returns the name of the live session of that id that no other session shares.
    pub(crate) fn instance(&self, id: &SessionId) -> Option<String> {
        lock(&self.live).get(id).map(|known| known.session.instance().to_owned())
    }

    /// Ends a session: what was remembered of it is gone. Returns true where it lived.
    pub fn close(&self, id: &SessionId) -> bool {
        lock(&self.live).remove(id).is_some()
    }

    /// Returns all live sessions, by their names. To be shown is no sign of life.
    pub fn list(&self) -> Vec<LiveSession> {
        let now = Instant::now();
        let is_over = |known: &Live| known.session.era == Era::Stateless && known.is_idle(now);
        let shown = |known: &Live| LiveSession {
            id: known.session.id.clone(),
            principal: known.session.principal.clone(),
            client: known.session.client.clone(),
            era: known.session.era,
            labels: known.session.labels(),
        };
        lock(&self.live).values().filter(|known| !is_over(known)).map(shown).collect()
    }

    /// Returns how many sessions live.
    pub fn count(&self) -> usize {
        lock(&self.live).len()
    }
}
