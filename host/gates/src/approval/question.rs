//! Questions on their way to an approver, and answers that are remembered.

use std::fmt::Write as _;

use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Digest, DriftedField, GateName, PinState, PolicyName, Question, RuleId};

use super::PromptQuestion;
use crate::display::{LONGEST_TEXT, escaped};

/// So many bytes of arguments are shown; an approver reads no more, and the digest names the rest.
const LONGEST_ARGUMENTS: usize = 4096;

/// Returns the lowest class whose answer counts at a gate, whatever a question says: server entries, quarantine and held
/// results are for operators (design §7).
fn lowest_class(gate: GateName) -> ApproverClass {
    match gate {
        GateName::Config | GateName::Environment | GateName::Listing | GateName::Result => ApproverClass::Operator,
        GateName::Call | GateName::Request => ApproverClass::Client,
    }
}

/// A question of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) policy: PolicyName,
    pub(crate) question: Question,
}

impl Asked {
    /// Returns the question as it is shown: its text escaped and cut, its class raised to the gate's.
    pub(crate) fn new(gate: GateName, policy: &PolicyName, question: Question) -> Self {
        let question = Question {
            text: escaped(&question.text, LONGEST_TEXT),
            lowest_approver: question.lowest_approver.max(lowest_class(gate)),
            ..question
        };
        Self { policy: policy.clone(), question }
    }

    /// Adds it to the questions of a passage. One that is there already is asked once, at the higher class.
    pub(crate) fn add_to(self, questions: &mut Vec<Self>) {
        let same = |known: &&mut Self| known.policy == self.policy && known.question.code == self.question.code;
        match questions.iter_mut().find(same) {
            Some(known) => {
                let class = known.question.lowest_approver.max(self.question.lowest_approver);
                *known = self;
                known.question.lowest_approver = class;
            }
            None => questions.push(self),
        }
    }

    /// Returns the lowest class whose answer counts for all of some questions.
    pub(crate) fn lowest_approver(asked: &[Self]) -> ApproverClass {
        asked.iter().map(|asked| asked.question.lowest_approver).max().unwrap_or(ApproverClass::Operator)
    }

    /// Returns it as the prompt has it.
    pub(crate) fn to_prompt(&self) -> PromptQuestion {
        PromptQuestion { policy: self.policy.clone(), question: self.question.clone() }
    }
}

/// A question that was answered with yes in this passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    policy: PolicyName,
    code: RuleId,
    class: ApproverClass,
}

impl Answered {
    pub(crate) fn new(asked: &Asked) -> Self {
        Self { policy: asked.policy.clone(), code: asked.question.code.clone(), class: asked.question.lowest_approver }
    }

    /// Returns true where this answer counts for the question: the same policy and code, at the class demanded.
    pub(crate) fn covers(&self, asked: &Asked) -> bool {
        self.policy == asked.policy && self.code == asked.question.code && self.class >= asked.question.lowest_approver
    }
}

/// Returns the canonical text of a value for an approver, cut with its digest where long.
pub(crate) fn shown_value(value: &Value) -> String {
    let canonical = value.to_canonical();
    let shown = escaped(&canonical, LONGEST_ARGUMENTS);
    if canonical.len() <= LONGEST_ARGUMENTS {
        return shown;
    }
    format!("{shown} ({} bytes, sha256 {})", canonical.len(), Digest::of(canonical.as_bytes()))
}

/// Returns what is known of a definition, for an approver.
pub(crate) fn shown_definition(pin: PinState, definition: Option<Digest>) -> String {
    let state = match pin {
        PinState::Unpinned => "unpinned",
        PinState::Approved => "approved",
        PinState::Drifted => "drifted",
    };
    match definition {
        Some(digest) => format!("{state}, sha256 {digest}"),
        None => state.to_owned(),
    }
}

/// A changed field is shown with so many bytes of before and after.
const LONGEST_FIELD: usize = 512;

/// So many changed fields are shown; further ones are counted.
const MOST_FIELDS: usize = 16;

/// Returns what is known of a definition that is listed, with what changed since it was approved.
pub(crate) fn shown_drift(pin: PinState, definition: Digest, drift: &[DriftedField]) -> String {
    let mut shown = shown_definition(pin, Some(definition));
    let side = |value: Option<&Value>| match value {
        Some(value) => escaped(&value.to_canonical(), LONGEST_FIELD),
        None => "nothing".to_owned(),
    };
    for field in drift.iter().take(MOST_FIELDS) {
        let (before, after) = (side(field.before.as_ref()), side(field.after.as_ref()));
        let _infallible = write!(shown, "; {} was {before}, is {after}", escaped(&field.pointer, LONGEST_FIELD));
    }
    if let Some(more @ 1..) = drift.len().checked_sub(MOST_FIELDS) {
        let _infallible = write!(shown, "; and {more} more fields");
    }
    shown
}
