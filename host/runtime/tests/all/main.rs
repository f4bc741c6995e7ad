//! Policies that misbehave, caches that were tampered with, and stores that change while they are used.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::similar_names,
    clippy::unwrap_used,
    reason = "a test that panics has failed as it should"
)]

mod cached;
mod chain;
mod guest;
mod hostile;
mod inert;
mod instances;
mod lines;
mod signed;
mod snapshots;
mod stores;
