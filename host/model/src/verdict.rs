//! What one policy answers.

use crate::json::Object;
use crate::{ApproverClass, Edit, RuleId, Span};

/// How bad a finding or a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a line in the journal.
    Info,
    /// Unusual.
    Low,
    /// Suspicious.
    Medium,
    /// Likely an attack or a leak.
    High,
    /// Certainly one.
    Critical,
}

impl Severity {
    /// Returns the name used in output and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What a policy noticed; for the operator, never for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A rule that the policy declared.
    pub rule: RuleId,
    /// How bad it is.
    pub severity: Severity,
    /// For the operator.
    pub message: String,
    /// Where it stands in the subject.
    pub evidence: Vec<Span>,
}

/// Why a policy asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Stable code.
    pub code: RuleId,
    /// For the approver.
    pub text: String,
    /// How much is at stake.
    pub severity: Severity,
    /// The lowest class whose answer counts.
    pub lowest_approver: ApproverClass,
}

/// Why a policy refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Stable code.
    pub code: RuleId,
    /// For the operator; the model sees the host's template for the code.
    pub message: String,
}

/// The decision of one policy. Joined over all policies as allow < ask < deny.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// No objection.
    Allow,
    /// An approver must answer every question. Never empty.
    Ask(Vec<Question>),
    /// Refused.
    Deny(Denial),
}

/// A mark that the session keeps from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// A label that the policy declared.
    pub name: String,
    /// Index of the segment that caused it; nothing where the whole subject did.
    pub segment: Option<u32>,
}

/// A wish to count against a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// A meter that the policy declared.
    pub meter: String,
    /// What is counted under.
    pub key: String,
    /// How much.
    pub amount: u64,
    /// The largest sum in the window.
    pub limit: u64,
}

/// The answer of one policy to one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// What to change.
    pub edits: Vec<Edit>,
    /// What to remember of the session.
    pub labels: Vec<Label>,
    /// What to count.
    pub charges: Vec<Charge>,
    /// Keys that the host may know.
    pub extensions: Object,
}

impl Verdict {
    /// Returns a verdict that has no objection and noticed nothing.
    pub fn allow() -> Self {
        Self {
            decision: Decision::Allow,
            findings: Vec::new(),
            edits: Vec::new(),
            labels: Vec::new(),
            charges: Vec::new(),
            extensions: Object::new(),
        }
    }
}

/// The answer of one policy at the environment gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Names to withhold.
    pub removed: Vec<String>,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// Keys that the host may know.
    pub extensions: Object,
}

/// What an evaluation answers, by gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Of every gate but two.
    Verdict(Verdict),
    /// Of the listing gate: one verdict an item, in order.
    Verdicts(Vec<Verdict>),
    /// Of the environment gate.
    Selection(Selection),
}
