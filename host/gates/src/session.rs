//! What the host remembers of a session, so that policies need not.

mod meters;
mod registry;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use portcullis_model::{ApproverClass, ClientFacts, Digest, Era, LabelFact, Principal, SessionId};

pub(crate) use meters::{Meters, Pending};
pub use registry::{Sessions, TooManySessions};

/// So many approvals of one session are remembered; further ones hold for their passage alone. A person gives fewer.
const MOST_APPROVALS: usize = 1024;

/// One session: a stdio process, a legacy HTTP session, or a stateless client with its idle window.
#[derive(Debug)]
pub struct Session {
    /// Its opaque name.
    pub id: SessionId,
    /// Whom it belongs to.
    pub principal: Principal,
    /// The client's claim.
    pub client: ClientFacts,
    /// The client's lifecycle.
    pub era: Era,
    /// Only grows. Bounded by what policies declare: the chain refuses undeclared labels.
    labels: Mutex<Vec<LabelFact>>,
    /// What was approved for the session, with the class that the answer counts for.
    approved: Mutex<BTreeMap<Digest, ApproverClass>>,
}

impl Session {
    /// Builds a session that remembers nothing yet.
    pub fn new(id: SessionId, principal: Principal, client: ClientFacts, era: Era) -> Self {
        Self { id, principal, client, era, labels: Mutex::default(), approved: Mutex::default() }
    }

    /// Returns the labels, each with the source that set it first.
    pub fn labels(&self) -> Vec<LabelFact> {
        lock(&self.labels).clone()
    }

    /// Adds labels. One that is there keeps its first source.
    pub(crate) fn add_labels(&self, new: impl IntoIterator<Item = LabelFact>) {
        let mut labels = lock(&self.labels);
        for label in new {
            if !labels.iter().any(|known| known.name == label.name) {
                labels.push(label);
            }
        }
    }

    /// Remembers an approval of a class; a higher class is not lowered.
    pub(crate) fn approve(&self, key: Digest, class: ApproverClass) {
        let mut approved = lock(&self.approved);
        if approved.len() < MOST_APPROVALS || approved.contains_key(&key) {
            let known = approved.entry(key).or_insert(class);
            *known = (*known).max(class);
        }
    }

    /// Returns true where an approval of at least that class is remembered.
    pub(crate) fn has_approved(&self, key: &Digest, class: ApproverClass) -> bool {
        lock(&self.approved).get(key).is_some_and(|known| *known >= class)
    }
}

/// Locks. No code panics while it holds one of these locks, and each guards a value that is whole after every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
