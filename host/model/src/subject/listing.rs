//! What the listing gate judges.

use std::sync::Arc;

use crate::json::Value;
use crate::{Annotations, Digest, PinState, Segment, ServerName};
use serde::{Deserialize, Serialize};

/// What kind of thing a server lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ItemKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    ResourceTemplate,
    /// The server's instructions.
    Instructions,
}

impl ItemKind {
    /// Returns the name used in output and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource-template",
            Self::Instructions => "instructions",
        }
    }
}

/// The digest of one field of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDigest {
    /// JSON pointer of the field.
    pub pointer: String,
    /// Digest of its canonical form.
    pub digest: Digest,
}

/// The definition that was approved before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pinned {
    /// Digest of the whole definition.
    pub digest: Digest,
    /// Digest of each field.
    pub fields: Vec<FieldDigest>,
    /// The definition.
    pub document: Value,
}

/// A field that differs from the pinned definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftedField {
    /// JSON pointer of the field.
    pub pointer: String,
    /// What was approved; nothing where the field is new.
    pub before: Option<Value>,
    /// What is there now; nothing where the field is gone.
    pub after: Option<Value>,
}

/// One item that a server lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it; empty for instructions.
    pub name: String,
    /// As the server sent it.
    pub document: Value,
    /// Its model-visible strings.
    pub segments: Vec<Segment>,
    /// What the server says of its effects.
    pub annotations: Annotations,
    /// Digest of the whole definition.
    pub digest: Digest,
    /// Digest of each field.
    pub fields: Vec<FieldDigest>,
    /// State against what was approved.
    pub pin: PinState,
    /// What was approved.
    pub pinned: Option<Pinned>,
    /// What changed since.
    pub drift: Vec<DriftedField>,
}

/// Something that is published already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueEntry {
    /// The server that offers it.
    pub server: ServerName,
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it.
    pub name: String,
    /// Digest of its definition.
    pub digest: Digest,
}

/// The subject of the listing gate: at most [`Batch::LARGEST`] items of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The server.
    pub server: ServerName,
    /// The items.
    pub items: Vec<Item>,
    /// What else is published.
    #[serde(with = "shared")]
    pub catalogue: Arc<Vec<CatalogueEntry>>,
}

impl Batch {
    /// The most items of one batch: bounds the time of one evaluation.
    pub const LARGEST: usize = 64;
}

/// A shared list is written as the list that it is.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::CatalogueEntry;

    pub(super) fn serialize<S: Serializer>(
        catalogue: &Arc<Vec<CatalogueEntry>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        catalogue.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Vec<CatalogueEntry>>, D::Error> {
        Vec::deserialize(deserializer).map(Arc::new)
    }
}
