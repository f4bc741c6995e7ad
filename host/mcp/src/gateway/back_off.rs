//! When to try a server again.

use std::time::Duration;

/// A server that fails is tried again so often in quick succession: enough for one that needs a moment, too few for a
/// storm of processes. Together the waits are half a minute.
const BUDGET: u32 = 5;
/// The first of the quick waits; each is twice the one before, …
const FIRST: Duration = Duration::from_secs(1);
/// … up to this one.
const LONGEST: Duration = Duration::from_mins(1);
/// After the quick tries a server cools down for so long, twice as long each time, …
const COOLDOWN: Duration = Duration::from_secs(30);
/// … up to this. From there on it is parked and tried once in this time.
const LONGEST_COOLDOWN: Duration = Duration::from_mins(10);

/// How often a server failed since it last proved itself, and what follows.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    failures: u32,
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// How long to wait.
    pub(crate) wait: Duration,
    /// After so long a call that needs the server may have it tried earlier. A client that calls again and again starts
    /// no more processes than this allows.
    pub(crate) earliest: Duration,
    /// True where the server failed for so long that what it offered is withdrawn.
    pub(crate) parked: bool,
}

impl BackOff {
    /// Notes a failure. `random` is any number; it spreads the waits by a fifth either way, so that servers that died
    /// together do not all start together.
    pub(crate) fn failed(&mut self, random: u32) -> Pause {
        self.failures = self.failures.saturating_add(1);
        let doubled = |first: Duration, times: u32| first * (1 << times.min(10));
        let base = if self.failures <= BUDGET {
            doubled(FIRST, self.failures - 1).min(LONGEST)
        } else {
            doubled(COOLDOWN, self.failures - BUDGET - 1).min(LONGEST_COOLDOWN)
        };
        let wait = base * (80 + random % 41) / 100;
        Pause { wait, earliest: wait.min(COOLDOWN), parked: base == LONGEST_COOLDOWN }
    }

    /// Notes that the server proved itself by real traffic. A handshake proves nothing: servers exist that die right
    /// after each.
    pub(crate) fn proven(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_a_cooldown_and_the_server_is_parked_where_they_end() {
        let mut back_off = BackOff::default();
        let pauses: Vec<Pause> = (0..12).map(|_| back_off.failed(20)).collect();
        let waits: Vec<u64> = pauses.iter().map(|pause| pause.wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 60, 120, 240, 480, 600, 600]);
        let parked: Vec<bool> = pauses.iter().map(|pause| pause.parked).collect();
        assert_eq!(parked.iter().position(|parked| *parked), Some(10));
        let earliest: Vec<u64> = pauses.iter().map(|pause| pause.earliest.as_secs()).collect();
        assert_eq!(earliest, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]);
    }

    #[test]
    fn traffic_gives_the_whole_budget_back() {
        let mut back_off = BackOff::default();
        for _ in 0..20 {
            back_off.failed(20);
        }
        back_off.proven();
        assert_eq!(back_off.failed(20).wait, FIRST);
    }

    #[test]
    fn waits_are_spread_by_a_fifth_either_way() {
        let wait = |random| BackOff::default().failed(random).wait.as_millis();
        assert_eq!((wait(0), wait(40)), (800, 1_200));
    }

    #[test]
    fn any_number_of_failures_has_an_answer() {
        let mut back_off = BackOff { failures: u32::MAX - 1 };
        assert!(back_off.failed(u32::MAX).parked && back_off.failed(0).parked);
    }
}
