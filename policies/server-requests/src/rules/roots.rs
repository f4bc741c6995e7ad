//! # roots
//!
//! **What it does.** Lets a server learn the roots of the client, or refuses, by the setting: `trusted` (the default) refuses untrusted
//! servers.
//!
//! **Why.** Roots are paths on the user's disk. A server that works on files needs them to know its bounds; one that nobody vouches for
//! learns user names and projects from them.
//!
//! **Example.** A file server of tier `full` gets the roots; one with `trust: untrusted` is refused.

use portcullis_sdk::request_gate::Request;
use portcullis_sdk::{Facts, Rule, Severity, Trust, Verdict};

use super::deny;
use crate::limits::Limits;
use crate::settings::Roots;

const ID: &str = "roots";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Low, "A server wants to know the roots of the client.")
}

pub(crate) fn judge(facts: &Facts, _request: &Request, limits: &Limits<'_>) -> Verdict {
    let refused = match limits.roots {
        Roots::Off => true,
        Roots::Trusted => facts.server_trust == Some(Trust::Untrusted),
        Roots::Allow => false,
    };
    if refused {
        deny(ID, Severity::Low, "roots-off", "the settings do not tell this server the roots")
    } else {
        Verdict::allow()
    }
}
