//! What operators decide while a gateway runs: back to the former policy, forth again, and out of the shadow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_gates::{ActivePolicy, Gates, Mode};
use portcullis_model::PolicyName;

use super::update::Inner;
use super::{PolicyEvent, PolicyStore, lock};

/// What an operator's decision came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The policy.
    pub policy: PolicyName,
    /// The version that judged before.
    pub from: String,
    /// The version that judges now.
    pub to: String,
    /// True where a key signed what judges now, so that its version is the one to go on from.
    pub signed: bool,
    /// The generation of the set that was published.
    pub generation: u64,
    /// From the decision until messages are judged by it.
    pub took: Duration,
}

/// An operator's decision changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// Files could not be moved; the reason with its causes.
    #[error("the files of what is tried could not be moved into the policies folder: {0}")]
    Files(String),
    /// There is no such policy.
    #[error("no policy named `{0}` judges here")]
    Unknown(PolicyName),
    /// Nothing was replaced since the gateway started.
    #[error("nothing judged in the place of `{0}` before, since this gateway started")]
    NoFormer(PolicyName),
    /// It is what was gone back to.
    #[error("`{0}` was rolled back already; hint: `portcullis policy promote` goes forth again")]
    RolledBack(PolicyName),
    /// It judges already, and nothing waits.
    #[error("`{0}` enforces already, and nothing of it was rolled back")]
    NothingToPromote(PolicyName),
}

impl PolicyStore {
    /// Puts the policy that judged before back in its place. Its compiled module stayed resident, so that this takes no
    /// longer than publishing a set, whatever else compiles meanwhile.
    ///
    /// What was rolled back is not taken again from where it is, until something else is there or it is promoted. A new
    /// process knows nothing of it.
    pub fn rollback(&self, gates: &Gates, name: &PolicyName) -> Result<Moved, MoveError> {
        self.exchange(gates, name, |inner| {
            if inner.held.contains_key(name) {
                return Err(MoveError::RolledBack(name.clone()));
            }
            let (Some(current), Some(former)) = (inner.current.get(name).cloned(), inner.former.remove(name)) else {
                return Err(MoveError::NoFormer(name.clone()));
            };
            inner.held.insert(name.clone(), current.wanted.clone());
            inner.former.insert(name.clone(), current);
            inner.current.insert(name.clone(), former);
            Ok(())
        })
    }

    /// Lets a policy in shadow enforce, or puts what was rolled back in its place again. Of what is tried in shadow, one
    /// promotes all: its files belong together.
    pub fn promote(&self, gates: &Gates, name: &PolicyName) -> Result<Moved, MoveError> {
        let config = lock(&self.config).clone();
        self.exchange(gates, name, |inner| {
            if inner.tried.contains_key(name) {
                return inner.promote_tried(&config);
            }
            if inner.held.contains_key(name)
                && let Some(newer) = inner.former.remove(name)
            {
                inner.held.remove(name);
                if let Some(current) = inner.current.insert(name.clone(), newer) {
                    inner.former.insert(name.clone(), current);
                }
                return Ok(());
            }
            let current = inner.current.get_mut(name).ok_or_else(|| MoveError::Unknown(name.clone()))?;
            if current.active.mode != Mode::Shadow {
                return Err(MoveError::NothingToPromote(name.clone()));
            }
            current.active = Arc::new(ActivePolicy { mode: Mode::Enforce, ..(*current.active).clone() });
            Ok(())
        })
    }

    /// Changes what is current and publishes it. Waits for nobody who compiles: whoever does so starts from what it finds
    /// afterwards.
    fn exchange(
        &self,
        gates: &Gates,
        name: &PolicyName,
        change: impl FnOnce(&mut Inner) -> Result<(), MoveError>,
    ) -> Result<Moved, MoveError> {
        let began = Instant::now();
        let mut inner = self.lock();
        let version = |inner: &Inner| inner.current.get(name).map(|current| current.loaded.description.version.clone());
        let is_tried = inner.tried.contains_key(name);
        let from = version(&inner).or_else(|| is_tried.then(|| "nothing".to_owned()));
        let from = from.ok_or_else(|| MoveError::Unknown(name.clone()))?;
        change(&mut inner)?;
        inner.interventions += 1;
        let to = version(&inner).unwrap_or_default();
        let signed = inner.current.get(name).is_some_and(|current| current.wanted.signer.key.is_some());
        if signed {
            inner.seen.admit_policy(name.clone(), to.clone());
        }
        let generation = gates.publish(inner.set());
        let took = began.elapsed();
        drop(inner);
        self.tell(PolicyEvent::Moved { policy: name.clone(), from: from.clone(), to: to.clone() });
        self.tell(PolicyEvent::Published { generation });
        Ok(Moved { policy: name.clone(), from, to, signed, generation, took })
    }
}
