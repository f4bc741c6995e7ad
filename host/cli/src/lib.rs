//! Portcullis: the layer between an AI agent and its MCP servers in which every security decision is made by a
//! WebAssembly component.
//!
//! This crate is the composition root: the only one that sees policies' runtime and MCP transports at once. The binary
//! is [`main`]; a program that embeds the gateway uses the re-exported crates.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod demo;
mod dispatch;
mod exit;
mod failure;
mod gateway;
mod log_file;
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

pub use portcullis_bundle as bundle;
pub use portcullis_config as config;
pub use portcullis_gates as gates;
pub use portcullis_mcp as mcp;
pub use portcullis_model as model;
pub use portcullis_runtime as runtime;
pub use portcullis_store as store;
