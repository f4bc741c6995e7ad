//! Builders for the answer of the environment gate.

use crate::{Finding, Selection};

impl Selection {
    /// Withholds nothing.
    pub fn nothing() -> Self {
        Self::withhold(Vec::new())
    }

    /// Withholds these names.
    pub fn withhold(removed: Vec<String>) -> Self {
        Self { removed, findings: Vec::new(), extensions: String::from("{}") }
    }

    /// Adds a finding.
    #[must_use]
    pub fn with_finding(mut self, finding: Finding) -> Self {
        self.findings.push(finding);
        self
    }
}
