//! What an operator may set.

use std::collections::BTreeMap;

use portcullis_sdk::ConfigureError;
use serde::Deserialize;

use crate::pattern;

/// The settings. Patterns are names of variables, or prefixes that end with `*`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Variables that every server gets besides the base names.
    pub pass: Vec<String>,
    /// Variables that no server gets. Stronger than every other rule.
    pub withhold: Vec<String>,
    /// The same for one server, by the name of its entry.
    pub servers: BTreeMap<String, ServerSettings>,
}

/// What holds for one server besides the general settings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Variables that this server gets too.
    pub pass: Vec<String>,
    /// Variables that this server does not get.
    pub withhold: Vec<String>,
}

impl Settings {
    /// Refuses patterns that make no sense.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        pattern::check("/pass", &self.pass)?;
        pattern::check("/withhold", &self.withhold)?;
        for (server, settings) in &self.servers {
            pattern::check(&["/servers/", server, "/pass"].concat(), &settings.pass)?;
            pattern::check(&["/servers/", server, "/withhold"].concat(), &settings.withhold)?;
        }
        Ok(())
    }
}
