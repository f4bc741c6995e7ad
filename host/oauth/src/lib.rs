//! OAuth towards servers: how the gateway, as a client, gets tokens for a remote MCP server, keeps them and renews them.
//!
//! Discovery (RFC 9728, RFC 8414), the client's identity (one that is known, one that a document describes, one that is
//! registered), the code flow with PKCE (RFC 7636), `resource` (RFC 8707) and `iss` (RFC 9207), the device flow (RFC 8628),
//! refresh (RFC 6749 §6) under one lock across processes, revocation (RFC 7009).
//!
//! It stands beside the registry, above `config`, whose settings it takes, and below `mcp`, which sends the tokens: it knows
//! nothing of MCP messages, policies or WebAssembly. What a server names is reached only where the server itself could be
//! reached ([`Web`]); tokens are bound to the URL in the config and to the authorization server that gave them.
//!
//! The OAuth client of the official SDK was not taken: it writes codes into its log at the level of debugging, keeps no secret
//! of a registered client for the next refresh, replaces tokens before anybody tried the new ones, and has no device flow.

#![forbid(unsafe_code)]

mod challenge;
mod discovery;
mod file;
mod grant;
mod keeper;
mod login;
mod loopback;
mod reach;
mod token;
mod web;

pub use challenge::Challenge;
pub use discovery::DiscoveryError;
pub use file::{FileError, GrantFile};
pub use keeper::{Keeper, KeeperError};
pub use login::{Browser, Consent, Device, LoggedOut, Login, LoginError, log_out};
pub use loopback::Loopback;
pub use reach::ReachError;
pub use token::TokenError;
pub use web::{Certificates, Web, WebError};

#[cfg(test)]
mod tests;
