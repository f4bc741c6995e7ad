//! What an operator may set.

use std::collections::BTreeMap;

use portcullis_sdk::ConfigureError;
use serde::Deserialize;

use crate::rules;

/// What a hit of a rule leads to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Nothing: the rule is not applied.
    Off,
    /// A finding for the operator.
    Flag,
    /// The operator confirms once.
    Ask,
    /// The entry is refused.
    Deny,
}

/// The settings. What is not set is as each rule has it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What hits lead to, by rule: nothing softer and nothing harder than this.
    pub rules: BTreeMap<String, Action>,
    /// The same for one server, by the name of its entry. Stronger than the general settings.
    pub servers: BTreeMap<String, BTreeMap<String, Action>>,
    /// Hosts of package registries that are as good as the public ones.
    pub registries: Vec<String>,
}

impl Settings {
    /// Refuses rules that do not exist.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        check("/rules", &self.rules)?;
        for (server, actions) in &self.servers {
            check(&["/servers/", server].concat(), actions)?;
        }
        Ok(())
    }

    /// Returns what a hit leads to, where the operator has said so.
    pub(crate) fn action(&self, server: &str, rule: &str) -> Option<Action> {
        let own = self.servers.get(server).and_then(|actions| actions.get(rule));
        own.or_else(|| self.rules.get(rule)).copied()
    }
}

fn check(place: &str, actions: &BTreeMap<String, Action>) -> Result<(), ConfigureError> {
    let unknown = actions.keys().find(|name| !rules::ALL.iter().any(|rule| rule.id == name.as_str()));
    unknown.map_or(Ok(()), |name| Err(ConfigureError::at([place, "/", name].concat(), "there is no rule of this name")))
}
