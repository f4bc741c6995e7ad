//! How bytes travel: over the standard streams of a process, or over HTTP.
//!
//! Transports know lines, bodies and headers, and what a JSON-RPC text is; they know nothing about MCP methods.

pub mod http;
pub mod stdio;
