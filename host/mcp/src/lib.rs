//! MCP traffic: clients in front, servers behind, the gates between.
//!
//! [`Gateway`] keeps the servers of a config and publishes what of them passed its gate; [`serve_stdio`] serves a client
//! on two pipes, [`serve_http`] any number of them over HTTP. Everything is carried as lossless
//! values ([`jsonrpc`]): what no policy edits reaches the other side unchanged, and only ids, tokens, names and members of
//! an era are rewritten around it. [`upstream`] and [`transport`] speak to servers.
//!
//! A client speaks the era with `initialize` (2024-11-05 to 2025-11-25) or the stateless one (2026-07-28), over either
//! transport, whatever the servers speak. What a server or a gate asks during a stateless call is answered by a further
//! round of that call.
//!
//! This crate knows nothing of WebAssembly or of how a policy comes to its verdict.

#![forbid(unsafe_code)]

pub mod jsonrpc;
pub mod transport;
pub mod upstream;

mod approver;
mod chat;
mod downstream;
mod gateway;
pub mod method;
pub mod status;

pub use approver::answers_by_itself;
pub use downstream::{
    HttpOptions, Schemas, ServeError, ServeHttpError, own_code, serve_figures, serve_http, serve_stdio,
    serve_stdio_with,
};
#[cfg(unix)]
pub use downstream::{Input, Output, standard_streams};
pub use gateway::{Gateway, GatewayOptions, StderrLog, safe_mode};
