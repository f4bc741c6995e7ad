//! # malicious-package
//!
//! **What it does.** Refuses an entry that runs a package of which an advisory says that it is malicious (`MAL-`): the very release that the
//! entry pins, or every release.
//!
//! **Why.** The package runs as the user, before any server speaks.
//!
//! **Example.** `npx -y some-package@1.0.1`, where `MAL-2025-1` names that release.

use portcullis_sdk::{Finding, Rule, Severity, Verdict};

use super::{ids, shown};
use crate::advisory::Advisory;
use crate::packages::Package;

const ID: &str = "malicious-package";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Critical, "A package that an advisory calls malicious.")
}

pub(super) fn judge(package: &Package, advisories: &[&Advisory]) -> Verdict {
    if advisories.is_empty() {
        return Verdict::allow();
    }
    let message = [&shown(package), " is malicious: ", &ids(advisories)].concat();
    Verdict::deny(ID, message.clone()).with_finding(Finding::new(ID, Severity::Critical, message))
}
