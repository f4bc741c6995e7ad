//! The port for the record of each passage.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use portcullis_model::{ApproverClass, Digest, Finding, GateName, PolicyName, RuleId};

use crate::{Cost, Fault, Judged, Scope};

/// The future of a write.
pub type JournalFuture<'a> = Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send + 'a>>;

/// The record could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal could not be written: {0}")]
pub struct JournalError(pub String);

/// Where records go. Written before the effect that the passage permits.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Writes one record; done once it would survive the end of this process.
    fn write(&self, record: Record) -> JournalFuture<'_>;
}

/// Keeps nothing: for tests and for measuring without a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn write(&self, _record: Record) -> JournalFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What the host made of all verdicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedDecision {
    /// Cleared as it was.
    Cleared,
    /// Cleared after edits.
    Edited,
    /// Cleared after an approval.
    Approved,
    /// Refused, with the stable code.
    Refused(String),
    /// Held back until approved, with the question's code.
    Quarantined(String),
    /// No passage: a grant was taken back.
    Revoked,
    /// No passage: what a policy in shadow would have said otherwise in one.
    Compared,
}

/// What became of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// The policy that asked.
    pub policy: PolicyName,
    /// The code of its question.
    pub code: RuleId,
    /// What became of it.
    pub event: ApprovalEvent,
    /// The class of whoever did it.
    pub class: ApproverClass,
    /// Where it was done: `terminal`, `client`.
    pub surface: String,
    /// The grant that it is about, where there is one.
    pub grant: Option<String>,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalEvent {
    /// An approver said yes, for so long.
    Approved(Scope),
    /// An approver said no.
    Declined,
    /// A grant answered it.
    Granted,
    /// A remembered refusal answered it.
    Barred,
    /// The grant was taken back.
    Revoked,
}

impl ApprovalEvent {
    /// Returns the name used in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved(scope) => scope.as_str(),
            Self::Declined => "declined",
            Self::Granted => "granted",
            Self::Barred => "barred",
            Self::Revoked => "revoked",
        }
    }

    /// Returns the event of that name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "declined" => Some(Self::Declined),
            "granted" => Some(Self::Granted),
            "barred" => Some(Self::Barred),
            "revoked" => Some(Self::Revoked),
            scope => Scope::parse(scope).map(Self::Approved),
        }
    }
}

/// What one policy answered, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyOutcome {
    /// No objection.
    Allow,
    /// It asked, with these codes.
    Ask(Vec<String>),
    /// It denied, with this code.
    Deny(String),
    /// It broke.
    Fault(Fault),
}

/// What one policy did in a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRecord {
    /// The policy.
    pub policy: PolicyName,
    /// Digest over module, settings and packs.
    pub digest: Digest,
    /// True where its verdict was recorded and not applied.
    pub shadow: bool,
    /// The round of the chain.
    pub round: u32,
    /// What it answered.
    pub outcome: PolicyOutcome,
    /// What it noticed.
    pub findings: Vec<Finding>,
    /// Edits that were applied.
    pub edits: u32,
    /// What exceeded its rights and was dropped.
    pub dropped: Vec<String>,
    /// What it cost.
    pub cost: Cost,
}

/// One passage of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When it ended.
    pub at: SystemTime,
    /// The session.
    pub session: String,
    /// The gate.
    pub gate: GateName,
    /// The server; empty for none.
    pub server: String,
    /// The server's own name of what was judged.
    pub name: String,
    /// Digest of the subject as it came.
    pub subject: Digest,
    /// Generation of the policy set.
    pub generation: u64,
    /// What the host made of it.
    pub decision: RecordedDecision,
    /// The policy that decided against it, where one did.
    pub decided_by: Option<PolicyName>,
    /// What each policy did.
    pub policies: Vec<PolicyRecord>,
    /// What became of each question.
    pub approvals: Vec<ApprovalRecord>,
    /// Wall time of the passage, approvals left out.
    pub elapsed: Duration,
    /// What the policies were told, round by round; nothing unless [`crate::Gates::with_inputs_kept`] asked for it. Items
    /// of one batch share it.
    pub inputs: Vec<Arc<Judged>>,
}
