//! # no-answer
//!
//! **What it does.** Says that a package could not be looked up, and asks whether it may run all the same.
//!
//! **Why.** An attacker who can keep the endpoint silent must not be better off. An operator without a network may prefer another answer:
//! `silent: allow` or `silent: deny`.
//!
//! **Example.** The endpoint is down, is not named by the grant, or answers something that is no list of advisories.

use portcullis_sdk::{Rule, Severity, Verdict};

use super::{react, shown};
use crate::network::Silence;
use crate::packages::Package;
use crate::settings::Reaction;

const ID: &str = "no-answer";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A package that could not be looked up.")
}

pub(super) fn judge(package: &Package, silence: &Silence, reaction: Reaction) -> Verdict {
    let message = [&shown(package), " could not be looked up: ", &silence.to_string()].concat();
    let question = [&message, ". Run it all the same?"].concat();
    // What passes without an answer is noted nevertheless.
    let reaction = reaction.max(Reaction::Flag);
    react(reaction, ID, Severity::Medium, message, question)
}
