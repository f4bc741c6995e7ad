//! Instances that wait for the next evaluation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_gates::Isolation;

use super::Core;
use crate::template::Live;

/// Instances of one policy that are kept: enough for two evaluations at once, few enough to leave slots for others.
const MOST_KEPT: usize = 2;

/// Instances that are kept for the next evaluation: used ones where the operator allowed it, else freshly configured
/// ones of a policy that has no snapshot.
pub(super) struct Instances {
    isolation: Isolation,
    kept: Mutex<Vec<Live>>,
    preparing: AtomicBool,
}

impl Instances {
    pub(super) fn new(isolation: Isolation) -> Self {
        Self { isolation, kept: Mutex::default(), preparing: AtomicBool::new(false) }
    }

    pub(super) fn take(&self) -> Option<Live> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn has_one(&self) -> bool {
        self.len() > 0
    }

    fn len(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn keep(&self, live: Live) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST_KEPT {
            kept.push(live);
        }
    }

    pub(super) fn give_back(&self, live: Live) {
        match self.isolation {
            Isolation::Reuse => self.keep(live),
            Isolation::Fresh => drop(live),
        }
    }
}

impl Core {
    /// Sees to it that a policy without snapshot has freshly configured instances waiting. Off the path of any
    /// message: on a worker, and skipped where those are busy.
    pub(super) fn prepare(self: &Arc<Self>) {
        if self.configuration.is_none() || self.instances.len() >= MOST_KEPT {
            return;
        }
        if self.instances.preparing.swap(true, Ordering::AcqRel) {
            return;
        }
        let core = Arc::downgrade(self);
        let job = move || {
            let Some(core) = core.upgrade() else { return };
            while let Some(configuration) = &core.configuration
                && core.instances.len() < MOST_KEPT
                // Nobody else holds the policy: it was replaced meanwhile.
                && Arc::strong_count(&core) > 1
            {
                match core.configured(configuration) {
                    Ok(live) => core.instances.keep(live),
                    Err(fault) => {
                        tracing::warn!(policy = %core.name, %fault, "an instance could not be prepared");
                        break;
                    }
                }
            }
            core.instances.preparing.store(false, Ordering::Release);
        };
        if self.engine.workers().submit(Box::new(job)).is_err() {
            self.instances.preparing.store(false, Ordering::Release);
        }
    }
}
