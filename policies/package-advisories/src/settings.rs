//! What an operator may set.

use portcullis_sdk::ConfigureError;
use serde::Deserialize;

/// What something leads to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Reaction {
    /// Nothing.
    Allow,
    /// A finding for the operator.
    Flag,
    /// The operator confirms once.
    Ask,
    /// The entry is refused.
    Deny,
}

/// The settings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to ask: an endpoint of the OSV API, without its `/v1/query`. The grant in the config has to name its host.
    pub endpoint: String,
    /// What an advisory that is not about malice leads to.
    pub advisories: Reaction,
    /// What it leads to that some releases of a package are malicious and the entry does not say which one it runs.
    pub unpinned: Reaction,
    /// What it leads to that the endpoint says nothing.
    pub silent: Reaction,
    /// Advisories that do not count, by id or alias.
    pub ignore: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            endpoint: "https://api.osv.dev".to_owned(),
            advisories: Reaction::Flag,
            unpinned: Reaction::Ask,
            silent: Reaction::Ask,
            ignore: Vec::new(),
        }
    }
}

impl Settings {
    /// Refuses what could not be meant.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        let rest = self.endpoint.strip_prefix("https://").or_else(|| self.endpoint.strip_prefix("http://"));
        let whole = rest.is_some_and(|rest| {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\\".contains(&byte));
            !authority.is_empty() && plain(authority) && plain(path)
        });
        if whole {
            Ok(())
        } else {
            Err(ConfigureError::at("/endpoint", "expected `https://host`, with a port or a path where it has one"))
        }
    }
}
