//! # write-capable
//!
//! **What it does.** Asks before a tool of an untrusted server runs, unless the server says `readOnlyHint: true` with exactly that boolean.
//!
//! **Why.** A hint that is missing, null, a word or a number says nothing. What nobody calls harmless is taken for harmful. The operator
//! can say for each tool what it really is, and is believed over the server: `tools.read_only`, `tools.write`.
//!
//! **Example.** `create_issue` without annotations asks; `get_issue` with `readOnlyHint: true` does not; `get_issue` with
//! `readOnlyHint: "yes"` asks.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Rule, Severity, Verdict};

use super::ask_for_write;

const ID: &str = "write-capable";

/// Why something counts as write-capable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// The settings say so.
    Operator,
    /// The server says so.
    Server,
    /// The server says nothing.
    Silence,
}

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A tool of an untrusted server that is not marked read-only.")
}

pub(crate) fn judge(call: &Call) -> Option<Verdict> {
    match call.annotations.read_only {
        Some(true) => None,
        Some(false) => Some(ask(call, Reason::Server)),
        None => Some(ask(call, Reason::Silence)),
    }
}

pub(crate) fn ask(call: &Call, reason: Reason) -> Verdict {
    let why = match reason {
        Reason::Operator => "the settings say that it changes something",
        Reason::Server if call.annotations.destructive == Some(true) => "the server says that it destroys something",
        Reason::Server => "the server says that it is not read-only",
        Reason::Silence => "the server does not say `readOnlyHint: true`",
    };
    ask_for_write(call, ID, Severity::Medium, why)
}
