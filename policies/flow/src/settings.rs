//! What an operator may set.

use std::collections::BTreeMap;

use portcullis_sdk::{ConfigureError, glob};
use serde::Deserialize;

/// What is done about what a rule found.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reaction {
    /// A finding, no more.
    Observe,
    /// An operator is asked; where none is attached, a finding.
    Ask,
    /// The call is refused.
    Deny,
}

/// The settings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Private content goes to a target that untrusted prose named.
    pub private_to_named_target: Reaction,
    /// The target of an outward call stands in untrusted prose that gives its reader instructions.
    pub target_from_instruction: Reaction,
    /// The target of an outward call stands in untrusted prose.
    pub target_from_prose: Reaction,
    /// The target of an outward call is a whole field of untrusted data.
    pub target_from_data: Reaction,
    /// Private content goes outward after untrusted content was read.
    pub private_outward: Reaction,
    /// The index of seen content overflowed, so that only the labels of the session are left to decide by.
    pub incomplete: Reaction,
    /// A shorter echo of private content, in bytes, does not count.
    pub shortest_private: u32,
    /// What the operator knows better than names and lists.
    pub tools: Tools,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            private_to_named_target: Reaction::Deny,
            target_from_instruction: Reaction::Deny,
            target_from_prose: Reaction::Ask,
            target_from_data: Reaction::Observe,
            private_outward: Reaction::Observe,
            incomplete: Reaction::Ask,
            shortest_private: 10,
            tools: Tools::default(),
        }
    }
}

/// Kinds of tools. A tool that is named under any kind has the kinds that it is named under, and no other.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Results may hold what strangers wrote.
    pub reads_untrusted: Globs,
    /// Results hold what is not open to everybody.
    pub reads_private: Globs,
    /// Sends something to others.
    pub outward: Globs,
    /// None of these.
    pub local: Globs,
}

/// Globs over names of tools, by a glob over names of servers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Globs(BTreeMap<String, Vec<String>>);

impl Globs {
    pub(crate) fn cover(&self, server: &str, tool: &str) -> bool {
        self.0
            .iter()
            .filter(|(servers, _)| glob::matches(servers, server))
            .any(|(_, tools)| tools.iter().any(|pattern| glob::matches(pattern, tool)))
    }
}

impl Settings {
    /// Refuses a pattern that can match nothing.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        let kinds = [
            ("reads_untrusted", &self.tools.reads_untrusted),
            ("reads_private", &self.tools.reads_private),
            ("outward", &self.tools.outward),
            ("local", &self.tools.local),
        ];
        for (kind, Globs(map)) in kinds {
            for (server, tools) in map {
                if let Some(index) = tools.iter().position(String::is_empty) {
                    let place = ["/tools/", kind, "/", server, "/", &index.to_string()].concat();
                    return Err(ConfigureError::at(place, "an empty pattern matches no name"));
                }
            }
        }
        Ok(())
    }
}
