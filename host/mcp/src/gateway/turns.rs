//! Calls to a server that bears only one at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// So many calls wait for their turn; each holds its parameters meanwhile. With a minute a call the last one waits for an
/// hour, which no client does.
const MOST_WAITING: usize = 64;

/// Whose turn it is, where a server takes turns.
#[derive(Debug)]
pub(crate) struct Turns {
    one: Semaphore,
    waiting: AtomicUsize,
}

/// Too many calls wait for their turn already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyWait {
    /// How many do.
    pub(crate) most: usize,
}

impl Default for Turns {
    fn default() -> Self {
        Self { one: Semaphore::new(1), waiting: AtomicUsize::new(0) }
    }
}

impl Turns {
    /// Waits for a turn, first come first served; the turn lasts until the answer is dropped. Where calls need not be
    /// `serial` there is nothing to wait for. A wait that is given up leaves the queue.
    pub(crate) async fn take(&self, serial: bool) -> Result<Option<SemaphorePermit<'_>>, TooManyWait> {
        if !serial {
            return Ok(None);
        }
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) > MOST_WAITING {
            return Err(TooManyWait { most: MOST_WAITING });
        }
        let turn = self.one.acquire().await;
        drop(waiting);
        // It is never closed; if it were, nobody would have to wait any more.
        Ok(turn.ok())
    }
}

/// A place in the queue.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    #[tokio::test(start_paused = true)]
    async fn turns_are_taken_one_after_the_other_and_a_wait_that_is_given_up_leaves_the_queue() {
        let turns = Turns::default();
        let first = turns.take(true).await.unwrap();
        assert!(first.is_some());
        for _ in 0..3 * MOST_WAITING {
            assert!(timeout(MOMENT, turns.take(true)).await.is_err());
        }
        drop(first);
        assert!(timeout(MOMENT, turns.take(true)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_has_an_end() {
        let turns = Turns::default();
        let _first = turns.take(true).await;
        let mut waiting: Vec<_> = (0..=MOST_WAITING).map(|_| Box::pin(turns.take(true))).collect();
        for wait in &mut waiting {
            assert!(timeout(MOMENT, wait).await.is_err());
        }
        let refused = turns.take(true).await.unwrap_err();
        assert_eq!(refused.most, MOST_WAITING);
        waiting.clear();
        assert!(timeout(MOMENT, turns.take(true)).await.is_err(), "there is room again");
    }

    #[tokio::test]
    async fn calls_may_run_at_the_same_time_where_nothing_is_said() {
        let turns = Turns::default();
        assert!(turns.take(false).await.unwrap().is_none() && turns.take(false).await.unwrap().is_none());
    }
}
