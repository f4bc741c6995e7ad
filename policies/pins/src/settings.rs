//! What an operator may set.

use serde::Deserialize;

/// What is done about a change.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reaction {
    /// A finding; the new definition is published and pinned.
    Record,
    /// The item is held back until an operator approves it.
    Ask,
}

/// The settings. A new instruction, a suspicious parameter and a hint that claims less harm ask whatever they say.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A text changed that tells the model nothing new, or what people see alone.
    pub cosmetic: Reaction,
    /// More is accepted than before: a parameter that finds nothing, a wider type.
    pub widened_schema: Reaction,
    /// The server says that the tool does more harm than before, or says no longer that it does none.
    pub new_capability: Reaction,
    /// The item has another name.
    pub renamed: Reaction,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cosmetic: Reaction::Record,
            widened_schema: Reaction::Record,
            new_capability: Reaction::Record,
            renamed: Reaction::Record,
        }
    }
}
