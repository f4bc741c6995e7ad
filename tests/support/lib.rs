//! What the integration tests share: a raw MCP client, temporary homes, and real servers from the registries.

#![forbid(unsafe_code)]

mod client;
mod home;
mod install;

pub use client::{Client, Reply};
pub use home::Home;
pub use install::{Installed, python_servers, real_servers};
