//! When to try a server again.

use std::time::Duration;

/// A server that ends at once is started so often in a row before it is parked: enough for one that needs a moment,
/// too few for a storm of processes.
const BUDGET: u32 = 5;
/// The longest wait between two tries within the budget.
const LONGEST: Duration = Duration::from_mins(1);
/// A parked server is tried once in this time.
const PARKED: Duration = Duration::from_mins(5);

/// How often a server failed in a row, and what follows.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    failures: u32,
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// How long to wait.
    pub(crate) wait: Duration,
    /// True where the budget is used up: what the server offered is withdrawn meanwhile.
    pub(crate) parked: bool,
}

impl BackOff {
    /// Notes a failure. `random` is any number; it spreads the waits by a fifth either way, so that servers that died
    /// together do not all start together.
    pub(crate) fn failed(&mut self, random: u32) -> Pause {
        self.failures = self.failures.saturating_add(1);
        let parked = self.failures > BUDGET;
        let base = if parked { PARKED } else { Duration::from_secs(1 << (self.failures - 1).min(6)).min(LONGEST) };
        let percent = 80 + random % 41;
        Pause { wait: base * percent / 100, parked }
    }

    /// Notes that the server proved itself by real traffic.
    pub(crate) fn proven(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_the_server_is_then_parked() {
        let mut back_off = BackOff::default();
        let waits: Vec<u64> = (0..5).map(|_| back_off.failed(20).wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16]);
        assert_eq!(back_off.failed(20), Pause { wait: PARKED, parked: true });
        assert!(back_off.failed(20).parked);
    }

    #[test]
    fn traffic_gives_the_whole_budget_back() {
        let mut back_off = BackOff::default();
        for _ in 0..10 {
            back_off.failed(20);
        }
        back_off.proven();
        assert_eq!(back_off.failed(20), Pause { wait: Duration::from_secs(1), parked: false });
    }

    #[test]
    fn waits_are_spread_by_a_fifth_either_way() {
        let wait = |random| BackOff::default().failed(random).wait.as_millis();
        assert_eq!((wait(0), wait(40)), (800, 1_200));
    }
}
