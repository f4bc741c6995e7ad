//! Whether a policy is fast enough to be evaluated in place.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An evaluation that takes longer holds up everything else on its thread noticeably.
const FAST: Duration = Duration::from_millis(1);

/// A policy is not taken for fast before it was measured so often.
const PROVEN: u32 = 16;

/// The first evaluations touch memory that nobody touched before; they say nothing about those that follow.
const WARM_UP: u32 = 4;

/// One evaluation of a fast policy in so many is measured: the clock costs more than the evaluation.
const EVERY: u32 = 64;

/// The counts are halved here, so that a policy that became slow, or fast, is seen as such.
const WINDOW: u32 = 512;

/// Counts measured evaluations and slow ones: the 99th percentile is below [`FAST`] while fewer than one in a hundred is
/// slow. It is CPU time that counts: a busy machine makes no policy slow.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    evaluations: AtomicU32,
    measured: AtomicU32,
    slow: AtomicU32,
}

impl Latency {
    /// Counts an evaluation that begins, and returns true where it is to be measured.
    pub(crate) fn wants_sample(&self) -> bool {
        self.evaluations.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY) || !self.is_fast()
    }

    /// Counts a measured evaluation. Threads may race here; a count that is off by a few decides nothing.
    pub(crate) fn record(&self, took: Duration) {
        if self.evaluations.load(Ordering::Relaxed) <= WARM_UP {
            return;
        }
        if took >= FAST {
            self.slow.fetch_add(1, Ordering::Relaxed);
        }
        let measured = self.measured.fetch_add(1, Ordering::Relaxed) + 1;
        if measured >= WINDOW {
            self.measured.store(measured / 2, Ordering::Relaxed);
            self.slow.store(self.slow.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_fast(&self) -> bool {
        let measured = self.measured.load(Ordering::Relaxed);
        measured >= PROVEN && self.slow.load(Ordering::Relaxed).saturating_mul(100) < measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(fast: u32, slow: u32) -> bool {
        let latency = Latency::default();
        latency.evaluations.store(WARM_UP + 1, Ordering::Relaxed);
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

    #[test]
    fn every_evaluation_is_measured_at_first_and_few_later() {
        let latency = Latency::default();
        for _ in 0..WARM_UP {
            assert!(latency.wants_sample());
            latency.record(FAST);
        }
        for _ in 0..PROVEN {
            assert!(latency.wants_sample());
            latency.record(Duration::ZERO);
        }
        let measured = (0..EVERY * 10).filter(|_| latency.wants_sample()).count();
        assert_eq!(measured, 10);
    }
}
