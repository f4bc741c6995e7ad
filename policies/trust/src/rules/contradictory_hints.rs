//! # contradictory-hints
//!
//! **What it does.** Asks where an untrusted server calls a tool both read-only and destructive.
//!
//! **Why.** `destructiveHint` has a meaning only for tools that are not read-only (MCP schema, `ToolAnnotations`). A tool that is said to be
//! both is described by mistake or by somebody who wants to pass; neither is a reason to believe the harmless half.
//!
//! **Example.** `{ readOnlyHint: true, destructiveHint: true }` asks.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Rule, Severity, Verdict};

use super::ask_for_write;

const ID: &str = "contradictory-hints";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::High, "A tool of an untrusted server that is said to be read-only and destructive at once.")
}

pub(crate) fn judge(call: &Call) -> Option<Verdict> {
    let contradicts = call.annotations.read_only == Some(true) && call.annotations.destructive == Some(true);
    contradicts
        .then(|| ask_for_write(call, ID, Severity::High, "the server calls it read-only and destructive at once"))
}
