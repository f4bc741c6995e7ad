//! What an operator may set.

use std::collections::BTreeMap;

use portcullis_sdk::ConfigureError;
use serde::Deserialize;

use crate::rules;

/// The settings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What a rule leads to at most or at least, by rule id: replaces the level of the pack and of the code.
    pub levels: BTreeMap<String, Level>,
}

/// What a match leads to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    Off,
    /// A finding.
    Flag,
    /// A question to the operator: the item is quarantined until it is answered.
    Ask,
    /// A denial: the item is hidden.
    Hide,
}

impl Settings {
    /// Refuses rule ids that the policy does not have.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        match self.levels.keys().find(|id| rules::find(id).is_none()) {
            Some(id) => Err(ConfigureError::at(["/levels/", id].concat(), "the policy has no such rule")),
            None => Ok(()),
        }
    }

    /// Returns the level that holds for a rule.
    pub(crate) fn level(&self, rule: &str, preset: Level) -> Level {
        self.levels.get(rule).copied().unwrap_or(preset)
    }
}
