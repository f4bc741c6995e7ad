//! Portcullis: the layer between an AI agent and its MCP servers in which every security decision is made by a
//! WebAssembly component.
//!
//! This crate is the composition root: the only one that sees policies' runtime and MCP transports at once. The binary
//! is [`main`]; a program that embeds the gateway starts a [`Composition`]:
//!
//! ```no_run
//! use portcullis::config::{Config, Surroundings};
//! use portcullis::model::Origin;
//! use portcullis::store::Home;
//! use portcullis::{Composition, mcp};
//!
//! # async fn example(client: tokio::io::DuplexStream) -> Result<(), Box<dyn std::error::Error>> {
//! let home = Home::open("/home/me/.portcullis".as_ref())?;
//! let config = Config::read(&home.config_file(), Origin::ConfigFile, &Surroundings::process())?;
//! let composition = Composition::start(&home, &config, Vec::new())?;
//! // Stdio servers are supervised by this very program: it calls `portcullis_supervisor::run` for `supervise`.
//! let (reader, writer) = tokio::io::split(client);
//! mcp::serve_stdio(composition.gateway().clone(), reader, writer).await?;
//! composition.shut_down().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod config_watch;
mod demo;
mod dispatch;
mod exit;
mod failure;
mod gateway;
mod log_file;
mod moment;
#[cfg(unix)]
mod operator;
mod passages;
mod policies;
mod policy_report;
mod probe;
mod report;
mod settings;
mod stderr_log;
mod telemetry;

pub use dispatch::main;
pub use exit::Exit;
pub use failure::Failure;
pub use gateway::Composition;

pub use portcullis_bundle as bundle;
pub use portcullis_config as config;
pub use portcullis_gates as gates;
pub use portcullis_mcp as mcp;
pub use portcullis_model as model;
pub use portcullis_runtime as runtime;
pub use portcullis_store as store;
