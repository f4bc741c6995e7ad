//! Who a passage belongs to.

use std::sync::Arc;

use crate::{Approver, PolicySet, Session};
use portcullis_model::{CallKind, Digest, ServerName, Trust};

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
    /// What is published now, so that a change voids an answer; nothing where nobody can tell.
    pub definitions: Option<Arc<dyn Definitions>>,
}

/// Tells what is published at the moment: asked again after an approver answered.
pub trait Definitions: Send + Sync {
    /// Returns the digest of the definition that a call of this kind and name refers to, if one is published.
    fn current(&self, server: &ServerName, kind: CallKind, name: &str) -> Option<Digest>;
}

impl Context {
    /// Returns the context with the number of calls with tools in a row.
    #[must_use]
    pub fn with_tool_rounds(mut self, tool_rounds: u32) -> Self {
        self.tool_rounds = tool_rounds;
        self
    }

    /// Returns the context with someone who tells what is published.
    #[must_use]
    pub fn with_definitions(mut self, definitions: Arc<dyn Definitions>) -> Self {
        self.definitions = Some(definitions);
        self
    }
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
