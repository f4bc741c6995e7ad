//! # passed-names
//!
//! **What it does.** Passes what the operator named under `pass`, for all servers or for one. Variables that the host marks as
//! tagged, because a source of secrets offers them for servers, pass without being named.
//!
//! **Why.** Proxies, certificates and tokens have to reach some servers. Naming them is a decision; passing everything is none.
//!
//! **Example.** `servers: { web: { pass: ["HTTPS_PROXY", "NODE_EXTRA_*"] } }`.

use crate::pattern;
use crate::settings::{ServerSettings, Settings};

/// Returns true for a name that the settings pass.
pub(crate) fn matches(name: &str, settings: &Settings, server: Option<&ServerSettings>, windows: bool) -> bool {
    let own = server.map_or(&[][..], |server| &server.pass);
    settings.pass.iter().chain(own).any(|known| pattern::names(known, name, windows))
}
