//! The six gates as the rest of the host sees them.

use std::sync::Arc;

use portcullis_model::json::Object;
use portcullis_model::{CatalogueEntry, ItemKind, Pinned};

use crate::{
    Call, Cleared, Context, Environment, Journal, Launching, ListedItem, PolicySet, Refusal, ServerMessage,
    ServerRequest, Sessions,
};

/// An item with what was approved of it before.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The item.
    pub item: ListedItem,
    /// What was approved, where anything was.
    pub pinned: Option<Pinned>,
}

/// Why an item is not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithheldReason {
    /// Hidden: a policy denied it or could not judge it.
    Hidden,
    /// Quarantined until approved: a policy asked.
    Quarantined,
}

/// An item that is not published, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it.
    pub name: String,
    /// Hidden or quarantined.
    pub reason: WithheldReason,
    /// Who decided and why.
    pub refusal: Refusal,
}

/// The six gates over the current policy set.
#[derive(Debug)]
pub struct Gates {}

impl Gates {
    /// Builds gates over a first set.
    pub fn new(_set: PolicySet, _journal: Arc<dyn Journal>) -> Self {
        Self {}
    }

    /// Returns the current set.
    pub fn set(&self) -> Arc<PolicySet> {
        todo!()
    }

    /// Publishes a set: messages that start from now on are judged by it. Returns its generation.
    pub fn publish(&self, _set: PolicySet) -> u64 {
        todo!()
    }

    /// Returns a receiver that sees each published generation.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        todo!()
    }

    /// Returns the live sessions.
    pub fn sessions(&self) -> &Sessions {
        todo!()
    }

    /// Screens a server entry.
    pub async fn config(&self, _context: &Context, _launching: Launching) -> Result<Cleared<Launching>, Refusal> {
        todo!()
    }

    /// Selects the environment of a stdio server. The entry's own variables are laid over what is left by whoever starts it.
    pub async fn environment(
        &self,
        _context: &Context,
        _environment: Environment,
    ) -> Result<Cleared<Environment>, Refusal> {
        todo!()
    }

    /// Scans what a server lists, in batches. Items come back in order, each cleared or withheld.
    pub async fn listing(
        &self,
        _context: &Context,
        _items: Vec<Listed>,
        _catalogue: Arc<Vec<CatalogueEntry>>,
    ) -> Vec<Result<Cleared<ListedItem>, Withheld>> {
        todo!()
    }

    /// Authorizes a call.
    pub async fn call(&self, _context: &Context, _call: Call) -> Result<Cleared<Call>, Refusal> {
        todo!()
    }

    /// Sanitizes something on its way to the model.
    pub async fn result(&self, _context: &Context, _message: ServerMessage) -> Result<Cleared<ServerMessage>, Refusal> {
        todo!()
    }

    /// Authorizes a request of a server. The object holds the joined extensions: limits that the host lowers to.
    pub async fn request(
        &self,
        _context: &Context,
        _request: ServerRequest,
    ) -> Result<(Cleared<ServerRequest>, Object), Refusal> {
        todo!()
    }
}
