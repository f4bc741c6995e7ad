//! How many guests may live at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts the slots of the pool that are free. Waiting here is bounded; failing inside the engine would not tell why.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    count: usize,
    free: Mutex<usize>,
    released: Condvar,
}

/// A slot that is taken. Free again when dropped, so it must outlive the guest.
#[derive(Debug)]
pub(crate) struct Slot {
    shared: Arc<Shared>,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self { shared: Arc::new(Shared { count, free: Mutex::new(count), released: Condvar::new() }) }
    }

    /// Takes a slot if one is free now.
    pub(crate) fn try_take(&self) -> Option<Slot> {
        let mut free = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.checked_sub(1)?;
        Some(Slot { shared: Arc::clone(&self.shared) })
    }

    /// Returns true where more than half of them are free, so that one may be taken ahead of its use.
    pub(crate) fn are_plenty(&self) -> bool {
        *self.shared.free.lock().unwrap_or_else(PoisonError::into_inner) > self.shared.count / 2
    }

    /// Takes a slot, waiting for one at most that long.
    pub(crate) fn take(&self, wait: Duration) -> Option<Slot> {
        let until = Instant::now() + wait;
        let mut free = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            let left = until.checked_duration_since(Instant::now())?;
            (free, _) = self.shared.released.wait_timeout(free, left).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Some(Slot { shared: Arc::clone(&self.shared) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.shared.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.shared.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_slot_can_be_taken_again() {
        let slots = Slots::new(1);
        let slot = slots.try_take().unwrap();
        assert!(slots.try_take().is_none());
        assert!(slots.take(Duration::from_millis(1)).is_none());
        assert!(!slots.are_plenty());
        drop(slot);
        assert!(slots.are_plenty());
        assert!(slots.try_take().is_some());
    }

    #[test]
    fn whoever_waits_gets_the_slot_that_is_released() {
        let slots = Slots::new(1);
        let slot = slots.try_take().unwrap();
        let waiting = std::thread::spawn({
            let slots = slots.clone();
            move || slots.take(Duration::from_secs(10)).is_some()
        });
        std::thread::sleep(Duration::from_millis(5));
        drop(slot);
        assert!(waiting.join().unwrap());
    }
}
