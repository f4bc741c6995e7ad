//! Grants that live as long as the process, where no store keeps them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use portcullis_model::Digest;

use super::{Grant, GrantError, Grants, MOST_ALIKE, MOST_GRANTS};
use crate::session::lock;

/// Keeps grants as long as the process lives.
#[derive(Debug, Default)]
pub(crate) struct InMemory(Mutex<BTreeMap<String, Grant>>);

impl Grants for InMemory {
    fn find(&self, key: &Digest) -> Result<Vec<Grant>, GrantError> {
        let grants = lock(&self.0);
        Ok(grants.values().filter(|grant| grant.bound.key() == *key).take(MOST_ALIKE).cloned().collect())
    }

    fn add(&self, new: &[Grant]) -> Result<(), GrantError> {
        let mut grants = lock(&self.0);
        let now = std::time::SystemTime::now();
        grants.retain(|_, grant| now < grant.expires_at);
        if grants.len() + new.len() > MOST_GRANTS {
            return Err(GrantError::Full);
        }
        grants.extend(new.iter().map(|grant| (grant.id.clone(), grant.clone())));
        Ok(())
    }

    fn remove(&self, ids: &[String]) -> Result<Vec<Grant>, GrantError> {
        let mut grants = lock(&self.0);
        Ok(ids.iter().filter_map(|id| grants.remove(id)).collect())
    }

    fn end_session(&self, session: &str) -> Result<(), GrantError> {
        lock(&self.0).retain(|_, grant| grant.session.as_deref() != Some(session));
        Ok(())
    }
}
