//! # malicious-release
//!
//! **What it does.** Asks about an entry that does not say which release it runs of a package that had malicious ones.
//!
//! **Why.** Such releases are mostly taken back within hours, and the package is honest again; which one runs next is not known.
//!
//! **Example.** `npx -y some-package`, where `MAL-2025-1` names `1.0.1`. Pin a release that is not named, and nothing is asked.

use portcullis_sdk::{Rule, Severity, Verdict};

use super::{ids, react, shown};
use crate::advisory::Advisory;
use crate::packages::Package;
use crate::settings::Reaction;

const ID: &str = "malicious-release";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::High, "A package with malicious releases, of which none is pinned.")
}

pub(super) fn judge(package: &Package, advisories: &[&Advisory], reaction: Reaction) -> Verdict {
    if advisories.is_empty() {
        return Verdict::allow();
    }
    let shown = shown(package);
    let message = ["some releases of ", &shown, " are malicious, and none is pinned: ", &ids(advisories)].concat();
    let question = [&message, ". Run the newest release?"].concat();
    react(reaction, ID, Severity::High, message, question)
}
