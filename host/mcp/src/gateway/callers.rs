//! The calls that are running at a server: whom its requests belong to, and whether it may be put to sleep.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::downstream::Outlet;
use crate::upstream::CallerId;

/// The calls that are running at a server.
#[derive(Default)]
pub(crate) struct Callers {
    running: Mutex<Running>,
    drained: Notify,
}

#[derive(Default)]
struct Running {
    /// By the number of their session.
    sessions: HashMap<u64, Calls>,
    /// Since when none is, where one was.
    idle_since: Option<Instant>,
}

/// The running calls of one session.
#[derive(Default)]
struct Calls {
    next: u64,
    outlets: BTreeMap<u64, Option<Outlet>>,
}

impl Callers {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a running call of a session until the returned guard is dropped.
    pub(crate) fn note(self: &Arc<Self>, session: u64, outlet: Option<&Outlet>) -> CallGuard {
        let mut running = self.running();
        let mine = running.sessions.entry(session).or_default();
        mine.next += 1;
        mine.outlets.insert(mine.next, outlet.cloned());
        CallGuard { callers: Arc::clone(self), session, number: mine.next }
    }

    /// Returns where goes what the server says to a session during a call: the way of the latest one that is running.
    pub(crate) fn outlet_to(&self, session: u64) -> Option<Outlet> {
        let running = self.running();
        running.sessions.get(&session)?.outlets.last_key_value().and_then(|(_, outlet)| outlet.clone())
    }

    /// Returns where goes what the server says to that call of a session; nothing where it is over.
    pub(crate) fn outlet_of(&self, caller: CallerId) -> Option<Outlet> {
        self.running().sessions.get(&caller.session)?.outlets.get(&caller.call)?.clone()
    }

    /// Waits until no call is running.
    pub(crate) async fn drained(&self) {
        loop {
            let drained = self.drained.notified();
            if !self.is_busy() {
                return;
            }
            drained.await;
        }
    }

    /// Returns true while a call is running.
    pub(crate) fn is_busy(&self) -> bool {
        !self.running().sessions.is_empty()
    }

    /// Returns since when no call is running, where one was.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        self.running().idle_since
    }

    /// Returns the numbers of the sessions that have calls running.
    pub(crate) fn sessions(&self) -> Vec<u64> {
        self.running().sessions.keys().copied().collect()
    }
}

/// A running call.
pub(crate) struct CallGuard {
    callers: Arc<Callers>,
    session: u64,
    number: u64,
}

impl CallGuard {
    /// Returns which of its session's calls it is.
    pub(crate) fn call(&self) -> u64 {
        self.number
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut running = self.callers.running();
        if let Some(mine) = running.sessions.get_mut(&self.session) {
            mine.outlets.remove(&self.number);
            if mine.outlets.is_empty() {
                running.sessions.remove(&self.session);
            }
        }
        if running.sessions.is_empty() {
            running.idle_since = Some(Instant::now());
            self.callers.drained.notify_waiters();
        }
    }
}
