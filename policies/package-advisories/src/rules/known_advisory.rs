//! # known-advisory
//!
//! **What it does.** Tells of advisories about a package that are not about malice: faults that somebody may use.
//!
//! **Why.** Most say nothing about how a server uses the package. So they are told, and asked about only where an operator wants that. Without a
//! pinned release nobody knows whether they still hold, and nothing is told.
//!
//! **Example.** `uvx some-server==0.6.2`, which `GHSA-…` names.

use portcullis_sdk::{Rule, Severity, Verdict};

use super::{ids, react, shown};
use crate::advisory::Advisory;
use crate::packages::Package;
use crate::settings::Reaction;

const ID: &str = "known-advisory";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A release with known faults.")
}

pub(super) fn judge(package: &Package, advisories: &[&Advisory], reaction: Reaction) -> Verdict {
    if advisories.is_empty() || package.version.is_none() {
        return Verdict::allow();
    }
    let message = [&shown(package), " has known faults: ", &ids(advisories)].concat();
    let question = [&message, ". Run it all the same?"].concat();
    react(reaction, ID, Severity::Medium, message, question)
}
