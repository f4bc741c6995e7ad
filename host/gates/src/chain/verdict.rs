//! What came of one policy, and how a fault becomes a decision.

use std::sync::Arc;

use portcullis_model::json::Object;
use portcullis_model::{Denial, Edit, Finding, Question, RuleId};

use crate::display::{LONGEST_TEXT, escaped};
use crate::session::{Marked, Pending};
use crate::{ActivePolicy, Cost, Fault, Mode, OnFault, PolicyOutcome, PolicyRecord, RefusalCode};

/// What a policy wants to happen, after its rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    /// No objection.
    Allow,
    /// An approver must answer.
    Ask(Vec<Question>),
    /// Refused.
    Deny(Denial),
    /// It broke.
    Fault(Fault),
}

impl Stance {
    /// Returns what the journal says of it.
    pub(crate) fn outcome(&self) -> PolicyOutcome {
        match self {
            Self::Allow => PolicyOutcome::Allow,
            Self::Ask(questions) => {
                PolicyOutcome::Ask(questions.iter().map(|question| question.code.as_str().to_owned()).collect())
            }
            Self::Deny(denial) => PolicyOutcome::Deny(denial.code.as_str().to_owned()),
            Self::Fault(fault) => PolicyOutcome::Fault(fault.clone()),
        }
    }
}

/// One policy's checked answer to one subject.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) policy: Arc<ActivePolicy>,
    pub(crate) stance: Stance,
    pub(crate) findings: Vec<Finding>,
    pub(crate) edits: Vec<Edit>,
    pub(crate) labels: Vec<Marked>,
    pub(crate) charges: Vec<Pending>,
    pub(crate) extensions: Object,
    pub(crate) dropped: Vec<String>,
}

impl Heard {
    /// Returns what is heard of a policy that broke.
    pub(crate) fn broken(policy: &Arc<ActivePolicy>, fault: Fault) -> Self {
        Self::silent(policy, Stance::Fault(fault))
    }

    /// Returns what is heard of a policy that has a stance and wishes for nothing.
    pub(crate) fn silent(policy: &Arc<ActivePolicy>, stance: Stance) -> Self {
        Self {
            policy: Arc::clone(policy),
            stance,
            findings: Vec::new(),
            edits: Vec::new(),
            labels: Vec::new(),
            charges: Vec::new(),
            extensions: Object::new(),
            dropped: Vec::new(),
        }
    }

    /// Returns true where it counts, false where it is only recorded.
    pub(crate) fn counts(&self) -> bool {
        self.policy.mode == Mode::Enforce
    }

    /// Turns it into its record. Edits count where the policy does.
    pub(crate) fn into_record(self, round: u32, cost: Cost) -> PolicyRecord {
        let shadow = !self.counts();
        let outcome = self.stance.outcome();
        let edits = if shadow { 0 } else { u32::try_from(self.edits.len()).unwrap_or(u32::MAX) };
        PolicyRecord {
            policy: self.policy.description.name.clone(),
            digest: self.policy.digest,
            shadow,
            round,
            outcome,
            findings: self.findings,
            edits,
            dropped: self.dropped,
            cost,
        }
    }
}

/// A policy's decision against a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Objection {
    pub(crate) code: RefusalCode,
    /// For the operator.
    pub(crate) detail: String,
    pub(crate) denial: bool,
}

/// Returns the decision of a policy against the passage, where it has one. Denials outrank faults, since they say more.
pub(crate) fn objection(heard: &Heard) -> Option<Objection> {
    match &heard.stance {
        Stance::Allow | Stance::Ask(_) => None,
        Stance::Deny(denial) => Some(Objection {
            code: RefusalCode::Denied(code_of(&denial.code)),
            detail: escaped(&denial.message, LONGEST_TEXT),
            denial: true,
        }),
        Stance::Fault(fault) => fold(fault, heard.policy.on_fault),
    }
}

fn code_of(code: &RuleId) -> String {
    code.as_str().to_owned()
}

/// Makes a decision of a fault. This is the only place where one becomes the other.
fn fold(fault: &Fault, on_fault: OnFault) -> Option<Objection> {
    match on_fault {
        OnFault::Allow => None,
        OnFault::Deny => Some(Objection {
            code: RefusalCode::PolicyFault(fault.code().to_owned()),
            detail: escaped(&fault.to_string(), LONGEST_TEXT),
            denial: false,
        }),
    }
}
