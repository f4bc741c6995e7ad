//! What the host remembers of a session, so that policies need not.

mod meters;
mod registry;

use std::sync::{Mutex, MutexGuard, PoisonError};

use portcullis_model::{ClientFacts, Era, LabelFact, Principal, SessionId};

use crate::grant::new_id;

pub(crate) use meters::{Meters, Pending};
pub use registry::{Sessions, TooManySessions};

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
    /// Tells it from an earlier session of the same id, whose approvals ended with it.
    instance: String,
}

impl Session {
    /// Builds a session that remembers nothing yet.
    pub fn new(id: SessionId, principal: Principal, client: ClientFacts, era: Era) -> Self {
        let instance = format!("{}#{}", id.as_str(), new_id(12));
        Self { id, principal, client, era, labels: Mutex::default(), instance }
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

    /// Returns the name that no other session had or will have: what is approved for a session is bound to it.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }
}

/// Locks. No code panics while it holds one of these locks, and each guards a value that is whole after every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
