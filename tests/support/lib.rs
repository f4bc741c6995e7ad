//! What the integration tests share: a raw MCP client, temporary homes, real servers and clients from the registries, and the official
//! conformance suite.

#![forbid(unsafe_code)]

pub mod browser;
pub mod chat;
mod client;
pub mod conformance;
mod home;
mod install;
mod registry;
mod scripted;

pub use browser::consent;
pub use client::{Client, Reply};
pub use home::Home;
pub use install::{Installed, RealClients, cache as test_cache, more_servers, real_servers};
pub use registry::Registry;
pub use scripted::{Script, Scripted};
