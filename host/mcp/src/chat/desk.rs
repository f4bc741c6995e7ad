//! What one agent was given to do: conversations and jobs of everybody, each bound to who began it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::conversations::Conversations;
use super::jobs::Jobs;

/// So many exchanges with an endpoint run at a time: more only wait at the endpoint, and each may hold an answer of some MiB.
const RUNNING: usize = 8;
/// So many more may wait for their turn.
const WAITING: usize = 64;

/// What one agent was given to do.
#[derive(Debug)]
pub(super) struct Desk {
    jobs: Mutex<Jobs>,
    conversations: Mutex<Conversations>,
    /// Room for those that run and those that wait.
    places: Semaphore,
    turns: Semaphore,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            jobs: Mutex::default(),
            conversations: Mutex::default(),
            places: Semaphore::new(RUNNING + WAITING),
            turns: Semaphore::new(RUNNING),
        }
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(super) struct Place<'a> {
    _place: SemaphorePermit<'a>,
}

impl Desk {
    pub(super) fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn conversations(&self) -> MutexGuard<'_, Conversations> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place in the queue; nothing where it is full.
    pub(super) fn place(&self) -> Option<Place<'_>> {
        self.places.try_acquire().ok().map(|place| Place { _place: place })
    }

    /// Waits for a turn; nothing where the desk was closed.
    pub(super) async fn turn(&self, _place: &Place<'_>) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// Ends all that runs: the agent is another one now.
    pub(super) fn close(&self) {
        self.places.close();
        self.turns.close();
        self.jobs().abort_all();
    }
}
