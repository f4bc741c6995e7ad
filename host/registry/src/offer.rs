//! What one server offers after its gate.

use std::collections::HashSet;
use std::sync::Arc;

use portcullis_gates::{Cleared, ListedItem, Withheld};
use portcullis_model::{Annotations, Digest, ItemKind, ServerName};

use crate::{Reason, Unpublished};

/// What a server's capabilities and the config allow besides its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    /// The server advertises resources and the config does not switch their tools off.
    pub resources: bool,
    /// The server advertises prompts and the config does not switch their tools off.
    pub prompts: bool,
}

/// A cleared item, with what is asked of it often.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) item: Cleared<ListedItem>,
    pub(crate) definition: Digest,
    pub(crate) annotations: Annotations,
}

/// What one server offers after its gate. Kept until the server lists anew, then replaced as a whole.
#[derive(Clone, Debug)]
pub struct Offer {
    pub(crate) server: ServerName,
    pub(crate) items: Vec<Arc<Offered>>,
    pub(crate) withheld: Vec<Unpublished>,
    pub(crate) advertised: Advertised,
    seen: HashSet<(ItemKind, String, Digest)>,
}

impl Offer {
    /// Starts an offer of a server.
    pub fn new(server: ServerName, advertised: Advertised) -> Self {
        Self { server, items: Vec::new(), withheld: Vec::new(), advertised, seen: HashSet::new() }
    }

    /// Adds what the listing gate said of an item. An item of another server is withheld: it would be published under a
    /// name that it has no right to.
    pub fn push(&mut self, outcome: Result<Cleared<ListedItem>, Withheld>) {
        match outcome {
            Ok(item) if item.get().server == self.server => {
                let definition = item.get().document.digest();
                let key = (item.get().kind, item.get().name.clone(), definition);
                if !self.seen.insert(key) {
                    self.leave_out(item.get().kind, &item.get().name, Reason::Malformed("it is listed twice"));
                    return;
                }
                let annotations = portcullis_gates::annotations(&item.get().document);
                self.items.push(Arc::new(Offered { item, definition, annotations }));
            }
            Ok(item) => self.leave_out(item.get().kind, &item.get().name, Reason::Malformed("it is of another server")),
            Err(withheld) => {
                let reason = Reason::Withheld(withheld.reason, withheld.refusal);
                self.leave_out(withheld.kind, &withheld.name, reason);
            }
        }
    }

    /// Notes an item that is not offered, with its reason: the operator's filter, or a shape that can't be published.
    pub fn leave_out(&mut self, kind: ItemKind, name: &str, reason: Reason) {
        self.withheld.push(Unpublished { server: self.server.clone(), kind, name: name.to_owned(), reason });
    }

    /// Returns the server.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Returns how many items passed the gate.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true where no item passed the gate.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
