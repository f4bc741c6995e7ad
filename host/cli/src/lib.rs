//! Portcullis: the layer between an AI agent and its MCP servers in which every security decision is made by a
//! WebAssembly component.
//!
//! This crate is the composition root: the only one that sees policies' runtime and MCP transports at once. The binary
//! is [`main`]. An agent that has the gateway inside starts an [`Embedded`] one, lists its tools in the form that model
//! providers take, and gives its model the outcomes of calls:
//!
//! ```no_run
//! use portcullis::model::object;
//! use portcullis::{Embedded, EmbeddedOptions};
//!
//! # async fn example() -> Result<(), portcullis::Failure> {
//! let options = EmbeddedOptions::new("/home/me/.portcullis").named("my-agent", "1.0");
//! let gateway = Embedded::start(options).await?;
//! for tool in gateway.tools().await? {
//!     println!("{}: {}", tool.name, tool.schema.to_json());
//! }
//! let outcome = gateway.call("mcp__files__read_file", object! { "path" => "notes.txt" }).await;
//! println!("{}", outcome.envelope().to_json()); // {"result":"…"} or {"error":"…"}
//! gateway.shut_down().await;
//! # Ok(())
//! # }
//! ```
//!
//! Stdio servers are supervised by this very program: its `main` calls [`main`] of this crate where its first argument is
//! `supervise`, or [`EmbeddedOptions::supervised_by`] names an installed `portcullis`.
//!
//! A program that serves clients of its own starts a [`Composition`]:
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
//! let (reader, writer) = tokio::io::split(client);
//! mcp::serve_stdio(composition.gateway().clone(), reader, writer).await?;
//! composition.shut_down().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod arguments;
mod backup;
mod commands;
mod config_file;
mod config_watch;
#[cfg(unix)]
mod control_server;
mod demo;
mod dispatch;
mod embedded;
mod exit;
mod failure;
mod files;
mod gateway;
mod log_file;
mod moment;
#[cfg(unix)]
mod operator;
mod passages;
mod policies;
mod policy_report;
mod probe;
mod progress;
mod report;
mod screening;
mod secrets_file;
mod server_report;
mod settings;
mod stderr_log;
mod stop;
mod telemetry;
mod terminal;
mod updates;

pub use dispatch::main;
pub use embedded::{Embedded, EmbeddedOptions, Outcome, Tool};
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
