//! What time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A moment, in milliseconds since 1970.
pub(crate) type Moment = u64;

/// What time it is: the system's clock, or one that a test turns by hand. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// Returns a clock that stands still until it is moved on.
    #[cfg(any(test, feature = "test-util"))]
    pub fn still() -> Self {
        // Some day in 2027, so that sums and differences stay far from zero.
        Self(Some(Arc::new(AtomicU64::new(1_800_000_000_000))))
    }

    /// Moves a clock on that stands still.
    #[cfg(any(test, feature = "test-util"))]
    pub fn advance(&self, by: Duration) {
        if let Some(now) = &self.0 {
            now.fetch_add(millis(by), Ordering::SeqCst);
        }
    }

    /// Returns the moment that it is.
    pub(crate) fn now(&self) -> Moment {
        match &self.0 {
            Some(still) => still.load(Ordering::SeqCst),
            None => millis(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()),
        }
    }
}

/// Returns a duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
