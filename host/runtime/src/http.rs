//! Requests over HTTP, for policies that an operator granted them to.
//!
//! The only capability there is. A policy imports `wasi:http/outgoing-handler` of WASI 0.2, and the config names the origins
//! that it may reach. The host resolves a name once and connects to what it has checked; it follows no redirect, asks no
//! proxy, and reads answers whole and bounded before the policy sees their first byte.

mod answers;
mod client;
mod hooks;
mod link;
mod resolve;

pub(crate) use client::Client;
pub(crate) use hooks::Http;
pub(crate) use link::add_to_linker;
