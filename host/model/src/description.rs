//! What a policy says of itself, and what is handed to it when it is configured.

use crate::json::Value;
use crate::{PolicyName, RuleId, Severity};

/// Rights of a policy at a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "seven independent rights, each a named flag of the contract")]
pub struct Rights {
    /// May ask.
    pub ask: bool,
    /// May deny.
    pub deny: bool,
    /// May blank spans.
    pub edit_span: bool,
    /// May remove members.
    pub remove_member: bool,
    /// May set labels.
    pub label: bool,
    /// May charge meters.
    pub charge: bool,
    /// May fence segments.
    pub fence: bool,
}

impl Rights {
    /// Every right.
    pub const ALL: Self =
        Self { ask: true, deny: true, edit_span: true, remove_member: true, label: true, charge: true, fence: true };

    /// No right at all.
    pub const NONE: Self = Self {
        ask: false,
        deny: false,
        edit_span: false,
        remove_member: false,
        label: false,
        charge: false,
        fence: false,
    };

    /// Returns the rights in both.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self {
            ask: self.ask && other.ask,
            deny: self.deny && other.deny,
            edit_span: self.edit_span && other.edit_span,
            remove_member: self.remove_member && other.remove_member,
            label: self.label && other.label,
            charge: self.charge && other.charge,
            fence: self.fence && other.fence,
        }
    }
}

/// A rule that findings, edits and markers may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Unique in the policy.
    pub id: RuleId,
    /// How bad a hit is.
    pub severity: Severity,
    /// One sentence: what the rule looks for.
    pub summary: String,
}

/// A sliding-window count that the host keeps for the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// Unique in the policy.
    pub name: String,
    /// The window in seconds.
    pub window_seconds: u32,
}

/// What a policy is. Constant over its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The policy's name.
    pub name: PolicyName,
    /// Semantic version.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// All rules.
    pub rules: Vec<Rule>,
    /// Labels that verdicts may set.
    pub labels: Vec<String>,
    /// Meters that verdicts may charge.
    pub meters: Vec<Meter>,
    /// Rights wanted.
    pub wants: Rights,
    /// False if texts may be left out of the subject.
    pub needs_payload: bool,
}

/// A data pack, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it holds.
    pub data: Value,
}
