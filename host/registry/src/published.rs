//! An item under its published name, and one that has none.

use std::fmt;
use std::sync::Arc;

use portcullis_gates::{Cleared, ListedItem, Refusal, WithheldReason};
use portcullis_model::json::Value;
use portcullis_model::{Annotations, Digest, ItemKind, ServerName};

use crate::offer::Offered;

/// An item under its published name.
#[derive(Clone, Debug)]
pub struct Published {
    pub(crate) exposed: String,
    pub(crate) offered: Arc<Offered>,
}

impl Published {
    /// Returns the published name: of a tool or prompt; the URI of a resource, the URI template of a template.
    pub fn exposed(&self) -> &str {
        &self.exposed
    }

    /// Returns the server.
    pub fn server(&self) -> &ServerName {
        &self.offered.item.get().server
    }

    /// Returns what kind of thing it is.
    pub fn kind(&self) -> ItemKind {
        self.offered.item.get().kind
    }

    /// Returns the server's own name for it.
    pub fn name(&self) -> &str {
        &self.offered.item.get().name
    }

    /// Returns the digest of the definition as it is published, names aside.
    pub fn definition(&self) -> Digest {
        self.offered.definition
    }

    /// Returns what the server says of its effects.
    pub fn annotations(&self) -> &Annotations {
        &self.offered.annotations
    }

    /// Returns the item as it passed its gate.
    pub fn cleared(&self) -> &Cleared<ListedItem> {
        &self.offered.item
    }

    /// Returns the document for the client: as it passed the gate, under the published name.
    pub fn document(&self) -> Value {
        let item = self.offered.item.get();
        let mut document = item.document.clone();
        if matches!(item.kind, ItemKind::Tool | ItemKind::Prompt)
            && let Some(object) = document.as_object_mut()
        {
            object.insert("name", self.exposed.as_str());
        }
        document
    }
}

/// Why an item is not published.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The operator's filter leaves it out.
    Filtered,
    /// The listing gate withheld it.
    Withheld(WithheldReason, Refusal),
    /// Its published name is that of another item, of the named server.
    Collision(ServerName),
    /// It has a shape that can't be published.
    Malformed(&'static str),
}

impl Reason {
    /// Returns the stable code.
    pub fn code(&self) -> &str {
        match self {
            Self::Filtered => "filtered",
            Self::Withheld(_, refusal) => refusal.code.as_str(),
            Self::Collision(_) => "name-collision",
            Self::Malformed(_) => "malformed",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filtered => formatter.write_str("left out by the filter of the config"),
            Self::Withheld(WithheldReason::Hidden, refusal) => write!(formatter, "hidden: {}", refusal.detail),
            Self::Withheld(WithheldReason::Quarantined, refusal) => {
                write!(formatter, "quarantined until approved: {}", refusal.detail)
            }
            Self::Collision(server) => write!(formatter, "has the published name of an item of `{server}`"),
            Self::Malformed(what) => formatter.write_str(what),
        }
    }
}

/// An item that is not published, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpublished {
    /// The server.
    pub server: ServerName,
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it; may be any text.
    pub name: String,
    /// Why it is not published.
    pub reason: Reason,
}
