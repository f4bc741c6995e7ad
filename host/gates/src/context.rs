//! Who a passage belongs to.

use std::sync::Arc;

use crate::{Approver, PolicySet, Session};
use portcullis_model::Trust;

/// Who a passage belongs to, and the policy set that it started with.
#[derive(Clone)]
pub struct Context {
    /// The session.
    pub session: Arc<Session>,
    /// The set that judges; taken once, when the message starts.
    pub set: Arc<PolicySet>,
    /// Who can be asked.
    pub approver: Arc<dyn Approver>,
    /// The tier that the config gives to the server in question.
    pub server_trust: Option<Trust>,
    /// Calls with tools in a row for the server's sampling.
    pub tool_rounds: u32,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Context")
            .field("session", &self.session)
            .field("generation", &self.set.generation)
            .finish_non_exhaustive()
    }
}
