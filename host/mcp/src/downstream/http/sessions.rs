//! The sessions of an HTTP door.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::session::Session;
use crate::downstream::Entrance;

/// The sessions of an HTTP door, by id.
#[derive(Debug)]
pub(super) struct Sessions {
    all: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
}

/// There are too many sessions, and none of them is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Sessions {
    /// Prepares for so many at once.
    pub(super) fn new(most: usize) -> Self {
        Self { all: Mutex::default(), most }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session of that id. To somebody else it is as if there were none.
    pub(super) fn find(&self, id: &str, entrance: &Entrance) -> Option<Arc<Session>> {
        let session = self.all().get(id).filter(|session| session.belongs_to(entrance)).cloned()?;
        session.touch();
        Some(session)
    }

    /// Adds a session. Where there are too many, the one that was idle for longest ends.
    pub(super) fn add(&self, session: Arc<Session>) -> Result<(), TooMany> {
        let mut ended = None;
        let added = {
            let mut all = self.all();
            if all.len() >= self.most {
                let idle = all.values().filter_map(|other| Some((other.idle_since()?, other.id())));
                let oldest = idle.min().map(|(_, id)| id.to_owned());
                ended = oldest.and_then(|id| all.remove(&id));
            }
            if all.len() < self.most {
                all.insert(session.id().to_owned(), session);
                Ok(())
            } else {
                Err(TooMany)
            }
        };
        // Outside of the lock: much may belong to it.
        if let Some(ended) = ended {
            ended.end();
        }
        added
    }

    /// Ends the session of that id. Returns false where there is none.
    pub(super) fn remove(&self, id: &str, entrance: &Entrance) -> bool {
        let removed = {
            let mut all = self.all();
            let mine = all.get(id).is_some_and(|session| session.belongs_to(entrance));
            if mine { all.remove(id) } else { None }
        };
        removed.inspect(|session| session.end()).is_some()
    }

    /// Ends sessions that were idle for so long, and has the others forget streams that ended so long ago.
    pub(super) fn sweep(&self, idle: Duration, replay: Duration) {
        let now = Instant::now();
        let is_over =
            |session: &Session| session.idle_since().is_some_and(|since| now.saturating_duration_since(since) >= idle);
        let mut over = Vec::new();
        let mut rest = Vec::new();
        self.all().retain(|_, session| {
            let place = if is_over(session) { &mut over } else { &mut rest };
            place.push(Arc::clone(session));
            !is_over(session)
        });
        for session in over {
            session.end();
        }
        for session in rest {
            session.streams.forget(replay, now);
        }
    }

    /// Ends those that are not kept.
    pub(super) fn retain(&self, keep: impl Fn(&Session) -> bool) {
        let mut over = Vec::new();
        self.all().retain(|_, session| {
            let stays = keep(session);
            if !stays {
                over.push(Arc::clone(session));
            }
            stays
        });
        for session in over {
            session.end();
        }
    }

    /// Ends all sessions.
    pub(super) fn close(&self) {
        let all = std::mem::take(&mut *self.all());
        for session in all.into_values() {
            session.end();
        }
    }
}
