//! What an operator may set.

use portcullis_sdk::ConfigureError;
use serde::Deserialize;

use crate::rules;

/// The settings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What happens to text that carries instructions for the model.
    pub injection: InjectionMode,
    /// Where credentials are looked for, and how eagerly.
    pub credentials: CredentialMode,
    /// Rules that only report: what they find stays in the text. `direction-mark` for those who work with Arabic or
    /// Hebrew texts, `terminal-escape` where a client shows colours.
    pub report_only: Vec<String>,
    /// Keys of `_meta` that stay although their prefix is reserved.
    pub keep_meta: Vec<String>,
}

/// What happens to text that carries instructions for the model.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum InjectionMode {
    /// Nothing is looked for.
    Off,
    /// A finding.
    #[default]
    Flag,
    /// A finding, and the segment is put between the host's markers for data.
    Fence,
}

/// Where credentials are looked for, and how eagerly.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CredentialMode {
    /// Nowhere.
    Off,
    /// Whatever looks like a credential, everywhere.
    Careful,
    /// Careful in results; in errors and log lines also every value behind a name such as `token=`.
    #[default]
    Auto,
    /// Every value behind a name such as `token=`, everywhere.
    Eager,
}

impl Settings {
    /// Refuses rule ids that the policy does not have.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        match self.report_only.iter().position(|id| !rules::is_declared(id)) {
            Some(index) => Err(ConfigureError::at(format!("/report_only/{index}"), "the policy has no such rule")),
            None => Ok(()),
        }
    }
}
