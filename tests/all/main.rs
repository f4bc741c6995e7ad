//! Integration tests of the whole program.

#![forbid(unsafe_code)]

mod abuse;
mod advisories;
mod agents;
mod approvals;
mod arrows;
mod catalog;
mod commands;
mod config;
mod control;
mod corpora;
mod door;
mod door_matrix;
#[path = "../guests/encode.rs"]
mod encode;
mod exemptions;
mod exits;
mod fourteen_servers;
mod hot_swap;
mod importing;
mod journal;
mod linear;
mod logins;
mod misbehaving;
mod one_start_at_a_time;
mod policy_projects;
mod real_clients;
mod real_oauth_clients;
mod real_servers;
mod registry;
mod replay;
mod sandbox;
mod secrets_in_logs;
mod servers;
mod serving;
mod shipping;
mod soak;
mod status;
mod tasks;
mod updates;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_portcullis-tested");

/// Returns true where tools of servers are among those that are listed, and not the gateway's own alone.
fn are_published(tools: &[portcullis_model::json::Value]) -> bool {
    tools.iter().filter_map(|tool| tool.get("name")?.as_str()).any(|name| name.starts_with("mcp__"))
}
