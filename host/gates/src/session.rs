//! What the host remembers of a session, so that policies need not.

mod meters;
mod registry;

use std::sync::{Mutex, MutexGuard, PoisonError};

use portcullis_model::{ClientFacts, Era, Facts, LabelFact, Principal, Segment, SessionId};

use crate::echo::Echoes;
use crate::grant::new_id;
pub(crate) use meters::{Meters, Pending};
pub use registry::{LiveSession, Sessions, TooManySessions};

/// A label that a verdict set, with where the segment stands that caused it; nothing where the whole subject did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) fact: LabelFact,
    pub(crate) pointer: Option<String>,
}

impl Marked {
    /// Returns true where it says all that a label of this name for this place says.
    pub(crate) fn covers(&self, name: &str, pointer: Option<&str>) -> bool {
        self.fact.name == name && self.pointer.as_deref().is_none_or(|known| Some(known) == pointer)
    }
}

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
    /// Content that carries labels, so that it is recognised in arguments.
    echoes: Mutex<Echoes>,
}

impl Session {
    /// Builds a session that remembers nothing yet.
    pub fn new(id: SessionId, principal: Principal, client: ClientFacts, era: Era) -> Self {
        let instance = format!("{}#{}", id.as_str(), new_id(12));
        Self { id, principal, client, era, labels: Mutex::default(), instance, echoes: Mutex::default() }
    }

    /// Returns the labels, each with the source that set it first.
    pub fn labels(&self) -> Vec<LabelFact> {
        lock(&self.labels).clone()
    }

    /// Adds labels, and remembers the texts that they are for. A label that is there keeps its first source.
    pub(crate) fn learn(&self, marked: Vec<Marked>, texts: &[Segment]) {
        if !texts.is_empty() {
            lock(&self.echoes).learn(&marked, texts);
        }
        let mut labels = lock(&self.labels);
        for Marked { fact, pointer: _ } in marked {
            if !labels.iter().any(|known| known.name == fact.name) {
                labels.push(fact);
            }
        }
    }

    /// Returns the name that no other session had or will have: what is approved for a session is bound to it.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// Tells what of the arguments of a call is known from labelled content.
    pub(crate) fn echoes(&self, arguments: &[Segment], facts: &mut Facts) {
        let found = lock(&self.echoes).find(arguments);
        facts.echoes = found.echoes;
        facts.echoes_incomplete = found.incomplete;
    }
}

/// Locks. No code panics while it holds one of these locks, and each guards a value that is whole after every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
