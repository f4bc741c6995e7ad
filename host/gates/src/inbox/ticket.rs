//! A message's hold on its question.

use std::sync::Arc;

use tokio::sync::Notify;

use super::entry::Given;
use super::{Inbox, Shape};
use crate::session::lock;

/// A message's hold on its question. Dropping it withdraws the question.
#[derive(Debug)]
pub(crate) struct Ticket {
    inbox: Inbox,
    id: String,
    told: Arc<Notify>,
}

impl Ticket {
    pub(super) fn new(inbox: &Inbox, id: String, told: Arc<Notify>) -> Self {
        Self { inbox: inbox.clone(), id, told }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Waits until it is answered.
    pub(super) async fn answered(&self) -> Given {
        loop {
            if let Some(given) = self.given() {
                return given;
            }
            // A permit is kept where the answer comes before the wait.
            self.told.notified().await;
        }
    }

    fn given(&self) -> Option<Given> {
        lock(&self.inbox.shared.state).entries.get(&self.id)?.given.clone()
    }

    /// Ends the question: what was approved happens now. Returns the answer as it stands at this moment, which is a
    /// refusal where one came after the approval.
    pub(crate) fn release(self) -> Option<Given> {
        let entry = lock(&self.inbox.shared.state).entries.remove(&self.id);
        self.inbox.note_change();
        entry.and_then(|entry| entry.given)
    }

    /// Leaves the question in the inbox for the same message when it comes again.
    pub(super) fn leave(self, shape: Shape, deadline: Option<tokio::time::Instant>) -> String {
        if let Some(entry) = lock(&self.inbox.shared.state).entries.get_mut(&self.id) {
            entry.shape = shape;
            entry.deadline = deadline;
        }
        self.inbox.note_change();
        self.id.clone()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = lock(&self.inbox.shared.state);
        // One that was left is nobody's any more; one that was released is gone.
        if state.entries.get(&self.id).is_some_and(|entry| entry.shape == Shape::Waiting) {
            state.entries.remove(&self.id);
            drop(state);
            self.inbox.note_change();
        }
    }
}
