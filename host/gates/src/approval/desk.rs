//! Where questions wait.

use std::collections::BTreeMap;
use std::sync::Mutex;

use portcullis_model::Principal;
use tokio::time::timeout;

use super::{Approver, LONGEST_WAIT, MOST_WAITING, Prompt, Reply, Scope};
use crate::RefusalCode;
use crate::session::lock;

/// Counts the questions that wait, by principal.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    waiting: Mutex<BTreeMap<Principal, usize>>,
}

impl Desk {
    /// Asks and waits. Dropping the future withdraws the question and frees its place.
    pub(crate) async fn ask(
        &self,
        principal: &Principal,
        approver: &dyn Approver,
        prompt: Prompt,
    ) -> Result<Scope, RefusalCode> {
        let _place = Place::take(self, principal).ok_or(RefusalCode::TooManyQuestions)?;
        match timeout(LONGEST_WAIT, approver.ask(prompt)).await {
            Ok(Reply::Approved(scope)) => Ok(scope),
            Ok(Reply::Declined) => Err(RefusalCode::Declined),
            Ok(Reply::Unavailable) => Err(RefusalCode::NoApprover),
            Err(_) => Err(RefusalCode::ApprovalTimedOut),
        }
    }

    /// Returns how many questions of a principal wait.
    pub(crate) fn waiting(&self, principal: &Principal) -> usize {
        lock(&self.waiting).get(principal).copied().unwrap_or_default()
    }
}

/// A place at the desk, given back when dropped.
struct Place<'a> {
    desk: &'a Desk,
    principal: &'a Principal,
}

impl<'a> Place<'a> {
    fn take(desk: &'a Desk, principal: &'a Principal) -> Option<Self> {
        let mut waiting = lock(&desk.waiting);
        let count = waiting.entry(principal.clone()).or_default();
        if *count >= MOST_WAITING {
            return None;
        }
        *count += 1;
        Some(Self { desk, principal })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.desk.waiting);
        if let Some(count) = waiting.get_mut(self.principal) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                waiting.remove(self.principal);
            }
        }
    }
}
