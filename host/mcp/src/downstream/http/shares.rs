//! What each principal may take of the requests that run at once: one that has many leaves room for the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_model::Principal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What each principal may take. There are as many entries as principals that have requests running, and so no more than
/// tokens.
#[derive(Debug)]
pub(super) struct Shares {
    each: usize,
    taken: Mutex<HashMap<Principal, Arc<Semaphore>>>,
}

impl Shares {
    pub(super) fn new(each: usize) -> Self {
        Self { each, taken: Mutex::default() }
    }

    /// Takes a place of a principal; nothing where it has all of its own already.
    pub(super) fn take(&self, principal: &Principal) -> Option<OwnedSemaphorePermit> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let share = match taken.get(principal) {
            Some(share) => Arc::clone(share),
            None => Arc::clone(taken.entry(principal.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.each)))),
        };
        share.try_acquire_owned().ok()
    }

    /// Forgets principals that have no request running.
    pub(super) fn sweep(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|_, share| share.available_permits() < self.each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_has_all_of_its_own_leaves_the_others_theirs() {
        let shares = Shares::new(2);
        let (one, other) = (Principal::parse("one").unwrap(), Principal::parse("other").unwrap());
        let held = [shares.take(&one).unwrap(), shares.take(&one).unwrap()];
        assert!(shares.take(&one).is_none() && shares.take(&other).is_some());
        shares.sweep();
        assert!(shares.take(&one).is_none(), "what is held is not forgotten");
        drop(held);
        shares.sweep();
        assert!(shares.taken.lock().unwrap().is_empty());
        assert!(shares.take(&one).is_some());
    }
}
