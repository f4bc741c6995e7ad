//! What an operator may set.

use std::collections::BTreeMap;

use portcullis_sdk::{ConfigureError, glob};
use serde::Deserialize;

/// How far a server is trusted.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// As the operator's own: nothing is asked for the tier.
    Full,
    /// Asked before anything is changed.
    Untrusted,
}

/// Where a changed definition asks.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum AskOnDrift {
    /// At both tiers.
    Always,
    /// At untrusted servers.
    Untrusted,
    /// Nowhere: another policy watches definitions.
    Never,
}

/// The settings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The tier of a server whose entry states none.
    pub default_trust: Tier,
    /// Where a definition that changed since it was approved asks.
    pub ask_on_drift: AskOnDrift,
    /// What the operator knows better than the hints of a server.
    pub tools: Overrides,
}

impl Default for Settings {
    fn default() -> Self {
        Self { default_trust: Tier::Full, ask_on_drift: AskOnDrift::Always, tools: Overrides::default() }
    }
}

/// Globs over names of tools and prompts and over URIs of resources, by a glob over names of servers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    /// What changes nothing, whatever the server says.
    pub read_only: BTreeMap<String, Vec<String>>,
    /// What changes something, whatever the server says. Stronger than `read_only`.
    pub write: BTreeMap<String, Vec<String>>,
}

impl Overrides {
    /// Returns true where the operator vouches that nothing is changed.
    pub(crate) fn read_only(&self, server: &str, name: &str) -> bool {
        covers(&self.read_only, server, name)
    }

    /// Returns true where the operator says that something is changed.
    pub(crate) fn write(&self, server: &str, name: &str) -> bool {
        covers(&self.write, server, name)
    }
}

fn covers(map: &BTreeMap<String, Vec<String>>, server: &str, name: &str) -> bool {
    map.iter()
        .filter(|(servers, _)| glob::matches(servers, server))
        .any(|(_, names)| names.iter().any(|pattern| glob::matches(pattern, name)))
}

impl Settings {
    /// Refuses a pattern that can match nothing.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        for (key, map) in [("read_only", &self.tools.read_only), ("write", &self.tools.write)] {
            for (server, names) in map {
                for (index, name) in names.iter().enumerate() {
                    if name.is_empty() {
                        let place = ["/tools/", key, "/", server, "/", &index.to_string()].concat();
                        return Err(ConfigureError::at(place, "an empty pattern matches no name"));
                    }
                }
            }
        }
        Ok(())
    }
}
