//! # sampling-rate
//!
//! **What it does.** Refuses sampling beyond so many requests of one server in a sliding minute. A refused request is not counted.
//!
//! **Why.** A server that samples in a loop costs money until somebody looks.
//!
//! **Example.** The eleventh request in a minute is refused; when the first is a minute old, one more passes.

use portcullis_sdk::request_gate::Request;
use portcullis_sdk::{Charge, Facts, Rule, Severity, Verdict};

use super::deny;
use crate::limits::Limits;

const ID: &str = "sampling-rate";

/// The meter of this rule, charged under the name of the server.
pub(crate) const METER: &str = "sampling-requests";

/// Its window.
pub(crate) const WINDOW_SECONDS: u32 = 60;

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A server samples more often than it may.")
}

/// Refuses what the host would refuse for the charge, with a code that says why and before anybody is asked.
pub(super) fn refuse(facts: &Facts, request: &Request, limits: &Limits<'_>) -> Option<Verdict> {
    (facts.meter(METER, &request.server) >= limits.requests_per_minute).then(|| {
        let message = ["the limit is ", &limits.requests_per_minute.to_string(), " requests a minute"].concat();
        deny(ID, Severity::Medium, "sampling-rate", &message)
    })
}

pub(super) fn charge(request: &Request, limits: &Limits<'_>) -> Charge {
    Charge::one(METER, request.server.as_str(), limits.requests_per_minute)
}
