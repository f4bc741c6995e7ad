//! # sampling-tokens
//!
//! **What it does.** Caps the tokens of one answer, and refuses beyond a budget of an hour. The cap is told to the host, which lowers
//! `maxTokens` to it; the budget counts what is asked for after the cap.
//!
//! **Why.** The number of requests says little about their cost.
//!
//! **Example.** `maxTokens: 100000` becomes 4,096. After 500,000 tokens in an hour the next request is refused.

use portcullis_sdk::request_gate::{Request, Sampling};
use portcullis_sdk::{Charge, Facts, Rule, Severity, Verdict};

use super::deny;
use crate::limits::Limits;

const ID: &str = "sampling-tokens";

/// The meter of this rule, charged under the name of the server.
pub(crate) const METER: &str = "sampling-tokens";

/// Its window.
pub(crate) const WINDOW_SECONDS: u32 = 3_600;

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A server samples more tokens than it may.")
}

/// The tokens that the answer may have.
pub(super) fn granted(sampling: &Sampling, limits: &Limits<'_>) -> u64 {
    sampling.max_tokens.map_or(limits.tokens, |wanted| wanted.min(limits.tokens))
}

pub(super) fn refuse(facts: &Facts, request: &Request, sampling: &Sampling, limits: &Limits<'_>) -> Option<Verdict> {
    let spent = facts.meter(METER, &request.server).saturating_add(granted(sampling, limits));
    (spent > limits.tokens_per_hour).then(|| {
        let message = ["the limit is ", &limits.tokens_per_hour.to_string(), " tokens an hour"].concat();
        deny(ID, Severity::Medium, "sampling-tokens", &message)
    })
}

pub(super) fn charge(request: &Request, sampling: &Sampling, limits: &Limits<'_>) -> Charge {
    let amount = granted(sampling, limits);
    Charge { amount, ..Charge::one(METER, request.server.as_str(), limits.tokens_per_hour) }
}
