//! Calls to a server that does not answer are held back: each would cost its client the whole time limit.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::status::Breaker as Shown;

/// So many calls in a row without an answer hold the next ones back.
const STRIKES: u32 = 3;
/// They are held back for so long. Then one call is let through, and decides.
const OPEN: Duration = Duration::from_mins(1);

/// What lets calls through to a server, or does not.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    strikes: u32,
    /// The connection whose end was counted: it takes every call that runs with it, and is one failure.
    lost: Option<u64>,
    open_until: Option<Instant>,
    /// True while the call that decides is running.
    probing: bool,
}

/// How a call failed. An error that the server itself answers is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// It did not answer in time, or what it answered could not be used.
    NoAnswer,
    /// The connection of that number ended.
    Lost(u64),
}

/// Calls are held back for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held(pub(crate) Duration);

impl Breaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a call would be held back now.
    pub(crate) fn held(&self) -> Option<Held> {
        self.state().held()
    }

    /// Returns what is told of it.
    pub(crate) fn shown(&self) -> Shown {
        let state = self.state();
        match (state.open_until, state.held()) {
            (None, _) => Shown::Closed,
            (Some(_), Some(Held(left))) if !state.probing => Shown::Open(left),
            (Some(_), _) => Shown::HalfOpen,
        }
    }

    /// Lets a call through. Where calls were held back this one decides, and others are held back until it did.
    pub(crate) fn admit(&self) -> Result<Admitted<'_>, Held> {
        let mut state = self.state();
        if let Some(held) = state.held() {
            return Err(held);
        }
        state.probing = state.open_until.is_some();
        Ok(Admitted { breaker: self, decides: state.probing })
    }
}

impl State {
    fn held(&self) -> Option<Held> {
        /// While one call decides there is no telling how long it takes.
        const DECIDING: Duration = Duration::from_secs(1);
        let left = self.open_until?.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Some(Held(left));
        }
        self.probing.then_some(Held(DECIDING))
    }
}

/// A call that was let through. Where it is given up before its outcome is known, nothing is learned.
#[derive(Debug)]
pub(crate) struct Admitted<'a> {
    breaker: &'a Breaker,
    decides: bool,
}

impl Admitted<'_> {
    /// Notes that the server answered, with whatever. Returns true where calls were held back before.
    pub(crate) fn answered(self) -> bool {
        let mut state = self.breaker.state();
        let was_open = state.open_until.is_some();
        // A call from before the failures says nothing of what comes after them.
        if self.decides || !was_open {
            *state = State { lost: state.lost, ..State::default() };
        }
        was_open && self.decides
    }

    /// Notes that it did not. Returns true where calls are held back from now on.
    pub(crate) fn failed(self, strike: Strike) -> bool {
        let mut state = self.breaker.state();
        if let Strike::Lost(number) = strike {
            if state.lost == Some(number) && !self.decides {
                return false;
            }
            state.lost = Some(number);
        }
        state.strikes = state.strikes.saturating_add(1);
        let opens = self.decides || (state.strikes >= STRIKES && state.open_until.is_none());
        if opens {
            state.open_until = Some(Instant::now() + OPEN);
        }
        opens
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if self.decides {
            self.breaker.state().probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strike(breaker: &Breaker) -> bool {
        breaker.admit().unwrap().failed(Strike::NoAnswer)
    }

    fn open(breaker: &Breaker) {
        let opened = (0..STRIKES).map(|_| strike(breaker)).last();
        assert_eq!(opened, Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn three_failures_in_a_row_hold_calls_back_for_a_minute() {
        let breaker = Breaker::default();
        assert_eq!([strike(&breaker), strike(&breaker), strike(&breaker)], [false, false, true]);
        assert_eq!(breaker.admit().unwrap_err(), Held(OPEN));
        tokio::time::advance(Duration::from_secs(18)).await;
        assert_eq!(breaker.shown(), Shown::Open(Duration::from_secs(42)));
        tokio::time::advance(Duration::from_secs(42)).await;
        assert_eq!(breaker.shown(), Shown::HalfOpen);
        let probe = breaker.admit().unwrap();
        assert!(breaker.admit().is_err(), "one call decides");
        assert!(probe.answered());
        assert_eq!(breaker.shown(), Shown::Closed);
        assert_eq!([strike(&breaker), strike(&breaker), strike(&breaker)], [false, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_between_starts_the_count_again() {
        let breaker = Breaker::default();
        for _ in 0..5 {
            assert!(!strike(&breaker) && !strike(&breaker));
            assert!(!breaker.admit().unwrap().answered());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deciding_call_that_fails_holds_calls_back_again_and_one_that_is_given_up_decides_nothing() {
        let breaker = Breaker::default();
        open(&breaker);
        tokio::time::advance(OPEN).await;
        drop(breaker.admit().unwrap());
        assert!(breaker.admit().unwrap().failed(Strike::Lost(7)));
        assert_eq!(breaker.held(), Some(Held(OPEN)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_one_connection_is_one_failure_however_many_calls_it_takes() {
        let breaker = Breaker::default();
        let running: Vec<Admitted<'_>> = (0..10).map(|_| breaker.admit().unwrap()).collect();
        assert!(running.into_iter().all(|call| !call.failed(Strike::Lost(1))));
        assert!(!breaker.admit().unwrap().failed(Strike::Lost(2)));
        assert!(breaker.admit().unwrap().failed(Strike::Lost(3)), "a server that dies of each call");
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_of_an_earlier_call_does_not_let_calls_through() {
        let breaker = Breaker::default();
        let slow = breaker.admit().unwrap();
        open(&breaker);
        assert!(!slow.answered());
        assert!(breaker.held().is_some());
    }
}
