//! Instances before and after their evaluation: what can be done then is not done while a message waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_gates::Isolation;

use super::Core;
use crate::state::Purpose;
use crate::template::Live;

/// Instances of one policy that are kept: enough for two evaluations at once, few enough to leave slots for others.
const MOST_KEPT: usize = 2;

/// Instances of one policy that have judged and whose memory is not cleared yet. Further ones are cleared at once, so that slots
/// do not run out while messages come faster than the rest is done.
const MOST_USED: usize = 4;

/// Instances that are kept for the next evaluation: used ones where the operator allowed it, else fresh ones, configured where
/// the policy has no snapshot.
pub(super) struct Instances {
    isolation: Isolation,
    kept: Mutex<Vec<Live>>,
    /// Instances that have judged and judge nothing more.
    used: Mutex<Vec<Live>>,
    preparing: AtomicBool,
    tidying: AtomicBool,
}

impl Instances {
    pub(super) fn new(isolation: Isolation) -> Self {
        Self {
            isolation,
            kept: Mutex::default(),
            used: Mutex::default(),
            preparing: AtomicBool::new(false),
            tidying: AtomicBool::new(false),
        }
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

    /// Takes an instance that has judged. What is cleared later holds its slot until then.
    pub(super) fn give_back(&self, live: Live, slots_are_plenty: bool) {
        match self.isolation {
            Isolation::Reuse => self.keep(live),
            Isolation::Fresh => self.retire(live, slots_are_plenty),
        }
    }

    fn retire(&self, live: Live, slots_are_plenty: bool) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if slots_are_plenty && used.len() < MOST_USED {
            used.push(live);
        } else {
            drop(used);
            drop(live);
        }
    }

    fn clear(&self) {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        drop(used);
    }
}

impl Core {
    /// Clears used instances and makes a fresh one ready when the thread has nothing better to do: the message that was judged is
    /// on its way by then. Searching a guest's memory for what it wrote takes as long as most evaluations.
    pub(super) fn tidy_later(self: &Arc<Self>) {
        if self.instances.tidying.swap(true, Ordering::AcqRel) {
            return;
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let core = Arc::clone(self);
                drop(runtime.spawn(async move {
                    core.tidy();
                    core.make_ready();
                }));
            }
            Err(_) => self.tidy(),
        }
    }

    /// Clears used instances now.
    pub(super) fn tidy(&self) {
        self.instances.tidying.store(false, Ordering::Release);
        self.instances.clear();
    }

    /// Makes an instance of a snapshot for the next evaluation, where slots are plenty.
    fn make_ready(&self) {
        if self.configuration.is_some() || self.template.has_wasi() || self.instances.has_one() {
            return;
        }
        let allowance = self.budget.allowance(0);
        let (policy, client) = (Some(&self.name), None);
        let purpose = Purpose { policy, configuring: false, allowance, measured: false, client };
        // A fault shows again where somebody waits for the verdict, and is reported there.
        if self.engine.slots().are_plenty()
            && let Ok(live) = self.template.instantiate(&self.budget, purpose, false)
        {
            self.instances.keep(live);
        }
    }

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
