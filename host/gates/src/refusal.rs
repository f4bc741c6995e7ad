//! What a gate says instead of clearing.

use portcullis_model::{GateName, PolicyName};

/// Why a gate did not clear a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalCode {
    /// A policy denied, with its stable code.
    Denied(String),
    /// A policy asked and nobody could be asked.
    NoApprover,
    /// A policy asked and nobody is there to answer now; the name of the question, which is no approval by itself.
    ApprovalPending(String),
    /// A listed item waits for an approval; the code of the question.
    Quarantined(String),
    /// An approver declined.
    Declined,
    /// No approver answered in time, or the caller went away.
    ApprovalTimedOut,
    /// Too many questions of this principal are waiting.
    TooManyQuestions,
    /// The definition changed while an approver was asked about it.
    DefinitionChanged,
    /// A charge would have exceeded its limit.
    LimitExceeded,
    /// A policy broke and its `on_fault` denies.
    PolicyFault(String),
    /// A required policy is not loaded.
    PolicyMissing,
    /// The subject is larger than a gate judges.
    TooLarge,
    /// Policies contradict each other about a limit.
    Contradiction,
    /// Edits went on changing the value.
    NotConverging,
    /// An edit could not be applied.
    EditFailed,
    /// The journal could not be written.
    JournalFailed,
}

impl RefusalCode {
    /// Returns the stable code shown to the model and in the journal.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Denied(code) | Self::Quarantined(code) => code,
            Self::NoApprover => "no-approver",
            Self::ApprovalPending(_) => "approval-pending",
            Self::Declined => "declined",
            Self::ApprovalTimedOut => "approval-timed-out",
            Self::DefinitionChanged => "definition-changed",
            Self::TooManyQuestions => "too-many-questions",
            Self::LimitExceeded => "limit-exceeded",
            Self::PolicyFault(_) => "policy-fault",
            Self::PolicyMissing => "policy-missing",
            Self::TooLarge => "too-large",
            Self::Contradiction => "contradiction",
            Self::NotConverging => "not-converging",
            Self::EditFailed => "edit-failed",
            Self::JournalFailed => "journal-failed",
        }
    }
}

/// What a gate says instead of clearing. Data, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The gate.
    pub gate: GateName,
    /// Why.
    pub code: RefusalCode,
    /// The policy that decided, where one did.
    pub policy: Option<PolicyName>,
    /// For the operator: escaped and bounded, never shown to the model.
    pub detail: String,
}

impl Refusal {
    /// Returns the host's own text for the model: the code, who decided, and the safe next step.
    pub fn model_text(&self) -> String {
        let next = match &self.code {
            RefusalCode::ApprovalPending(handle) => {
                return format!(
                    "Held by {} at the {} gate (code: approval-pending, handle: {handle}). Nothing was done. Ask the user \
                     to look at it with `portcullis approvals show {handle}` and to allow or deny it there, then send \
                     exactly the same again. Sending it again approves nothing by itself.",
                    self.by(),
                    self.gate
                );
            }
            RefusalCode::NoApprover => {
                "It needs an approval that nobody can give here. Ask the user to approve it or to change the policy."
            }
            RefusalCode::Quarantined(_) => {
                "It is withheld until an operator approves it. Tell the user; do not retry it."
            }
            RefusalCode::DefinitionChanged => {
                "Its definition changed while the question was open, so the answer does not count. List it again first."
            }
            RefusalCode::Declined => "The user did not approve it and nothing was done. Do not retry it unchanged.",
            RefusalCode::ApprovalTimedOut => {
                "No approval came in time and nothing was done. Ask the user before retrying."
            }
            RefusalCode::TooManyQuestions | RefusalCode::LimitExceeded => {
                "A limit was reached. Wait before trying again."
            }
            RefusalCode::PolicyFault(_)
            | RefusalCode::PolicyMissing
            | RefusalCode::JournalFailed
            | RefusalCode::Contradiction => {
                "A security check could not be completed, so it was refused. Tell the user; retrying will not help now."
            }
            RefusalCode::TooLarge => "It is larger than can be checked. Ask for less.",
            RefusalCode::Denied(_) | RefusalCode::NotConverging | RefusalCode::EditFailed => {
                "Do not retry it unchanged and do not work around it. Tell the user what was refused."
            }
        };
        format!("Refused by {} at the {} gate (code: {}). {next}", self.by(), self.gate, self.code.as_str())
    }

    fn by(&self) -> String {
        self.policy.as_ref().map_or_else(|| "Portcullis".to_owned(), |policy| format!("the policy `{policy}`"))
    }
}
