//! The official conformance suite, against our own fixture server and through the gateway.

#![forbid(unsafe_code)]

mod authorization;
mod clients;
mod control;
mod through;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_portcullis-tested");

/// The revisions whose frozen sets of requirements are run, with how many checks our fixture passes of each.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 83), ("2026-07-28", 197)];
