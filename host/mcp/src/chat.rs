//! Endpoints that answer chat completions in the shape of the API of `OpenAI`.
//!
//! Two things are made of them: an agent behind such an endpoint becomes an MCP server of the gateway's own
//! ([`ChatLink`]), which passes every gate like any other, and a server's sampling is answered by one where the client
//! cannot ([`sampling`]). Both speak through [`ChatClient`], over the HTTP client that endpoints of MCP are reached by.

mod book;
mod client;
mod conversations;
mod desk;
mod jobs;
mod link;
pub(crate) mod sampling;
mod tools;

pub(crate) use book::ChatBook;
pub(crate) use client::{Asking, ChatClient, ChatError, Completion};
pub(crate) use link::ChatLink;

#[cfg(test)]
mod tests;
