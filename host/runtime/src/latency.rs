//! Whether a policy is fast enough to be evaluated in place.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An evaluation that takes longer holds up everything else on its thread noticeably.
const FAST: Duration = Duration::from_millis(1);

/// A policy is not taken for fast before it was seen so often.
const PROVEN: u32 = 16;

/// The counts are halved here, so that a policy that became slow, or fast, is seen as such.
const WINDOW: u32 = 2048;

/// Counts evaluations and slow ones: the 99th percentile is below [`FAST`] while fewer than one in a hundred is slow.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    seen: AtomicU32,
    slow: AtomicU32,
}

impl Latency {
    /// Counts one evaluation. Threads may race here; a count that is off by a few decides nothing.
    pub(crate) fn record(&self, took: Duration) {
        let slow = if took >= FAST { self.slow.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        if seen >= WINDOW {
            self.seen.store(seen / 2, Ordering::Relaxed);
            let slow = if slow > 0 { slow } else { self.slow.load(Ordering::Relaxed) };
            self.slow.store(slow / 2, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_fast(&self) -> bool {
        let seen = self.seen.load(Ordering::Relaxed);
        seen >= PROVEN && self.slow.load(Ordering::Relaxed).saturating_mul(100) < seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(fast: u32, slow: u32) -> bool {
        let latency = Latency::default();
        (0..slow).for_each(|_| latency.record(FAST));
        (0..fast).for_each(|_| latency.record(Duration::from_micros(10)));
        latency.is_fast()
    }

    #[test]
    fn a_policy_has_to_prove_that_it_is_fast() {
        assert!(!after(PROVEN - 1, 0));
        assert!(after(PROVEN, 0));
    }

    #[test]
    fn one_slow_evaluation_in_a_hundred_is_too_many() {
        assert!(!after(50, 1));
        assert!(!after(198, 2));
        assert!(after(400, 2));
    }

    #[test]
    fn old_slowness_is_forgotten() {
        assert!(after(WINDOW * 4, 40));
    }
}
