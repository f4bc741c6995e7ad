//! # sampling-tools
//!
//! **What it does.** Refuses sampling with tools beyond so many answers in a row that called one; 0 refuses tools altogether.
//!
//! **Why.** Sampling with tools is a loop that the server drives. It ends when the model stops calling tools, or here.
//!
//! **Example.** After five answers that called a tool the sixth request with tools is refused; an answer in text begins anew.

use portcullis_sdk::request_gate::Sampling;
use portcullis_sdk::{Facts, Rule, Severity, Verdict};

use super::deny;
use crate::limits::Limits;

const ID: &str = "sampling-tools";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A server loops over tools longer than it may.")
}

pub(super) fn refuse(facts: &Facts, sampling: &Sampling, limits: &Limits<'_>) -> Option<Verdict> {
    if !sampling.tools {
        return None;
    }
    if limits.tool_rounds == 0 {
        return Some(deny(ID, Severity::Medium, "sampling-tools-off", "the settings refuse sampling with tools"));
    }
    (u64::from(facts.tool_rounds) >= limits.tool_rounds).then(|| {
        let message = ["the limit is ", &limits.tool_rounds.to_string(), " rounds with tools"].concat();
        deny(ID, Severity::Medium, "sampling-tool-rounds", &message)
    })
}
