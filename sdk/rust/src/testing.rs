//! Tests of policies on the native target: subjects, and a runner for fixtures in YAML.
//!
//! [`fixtures`] runs every `*.yaml` of a folder and fails with all mismatches at once; [`report`] writes the verdicts of all cases
//! as text, for a snapshot. Both also hold each verdict against the contract: declared rules, labels and meters, rights wanted,
//! spans on character boundaries, codes of lowercase words joined by hyphens. The format is described in the README of `sdk/`.
//!
//! The segments that the builders cut are close to what the host cuts, yet not the same code: a test of a policy shows what the
//! policy does with segments, not what the host makes of a message.

mod cases;
mod contract;
mod expectation;
mod facts;
mod runner;
mod segments;
mod show;
mod subjects;

pub use contract::breaches;
pub use facts::facts;
pub use runner::{configure, fixtures, report};
pub use show::{edited, show};
pub use subjects::{
    batch, call, entry, environment, instructions, item, prompt, request, resource, result_document, result_subject,
    tool,
};
