//! # withheld-names
//!
//! **What it does.** Withholds what the operator named under `withhold`, even base names and tagged variables.
//!
//! **Why.** A server that nobody trusts needs neither `HOME` nor a token that is meant for others.
//!
//! **Example.** `servers: { web: { withhold: ["HOME", "GITHUB_*"] } }`.

use crate::pattern;
use crate::settings::{ServerSettings, Settings};

/// Returns true for a name that the settings withhold.
pub(crate) fn matches(name: &str, settings: &Settings, server: Option<&ServerSettings>, windows: bool) -> bool {
    let own = server.map_or(&[][..], |server| &server.withhold);
    settings.withhold.iter().chain(own).any(|known| pattern::names(known, name, windows))
}
