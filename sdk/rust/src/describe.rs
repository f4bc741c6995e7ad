//! Builders for what a policy says of itself.

use std::ops::BitOrAssign;

use crate::{Description, Meter, Rights, Rule, Severity};

impl Description {
    /// Begins a description: no rule, no label, no meter, no right, and texts needed.
    ///
    /// `name` is lowercase words joined by hyphens, `version` a semantic version, `summary` one sentence.
    pub fn new(name: impl Into<String>, version: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            summary: summary.into(),
            rules: Vec::new(),
            labels: Vec::new(),
            meters: Vec::new(),
            wants: Rights::empty(),
            needs_payload: true,
        }
    }

    /// Declares a rule that findings and edits may name.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Declares several rules.
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Declares a label that verdicts may set.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.labels.push(label.into());
        self
    }

    /// Declares a sliding-window count that the host keeps.
    #[must_use]
    pub fn meter(mut self, name: impl Into<String>, window_seconds: u32) -> Self {
        self.meters.push(Meter { name: name.into(), window_seconds });
        self
    }

    /// Wants rights, besides those wanted before.
    #[must_use]
    pub fn wants(mut self, rights: Rights) -> Self {
        self.wants |= rights;
        self
    }

    /// Says that names, annotations and facts are enough: the host may then leave texts out.
    #[must_use]
    pub fn without_payload(mut self) -> Self {
        self.needs_payload = false;
        self
    }
}

impl Rule {
    /// Declares a rule: `id` is lowercase words joined by hyphens, `summary` one sentence that says what it looks for.
    pub fn new(id: impl Into<String>, severity: Severity, summary: impl Into<String>) -> Self {
        Self { id: id.into(), severity, summary: summary.into() }
    }
}

impl BitOrAssign for Rights {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}
