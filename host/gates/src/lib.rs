//! Enforcement: the six gates, and the proof that a value passed one.
//!
//! Effects elsewhere take [`Cleared<T>`]; only this crate builds one. Policies answer through the [`Evaluate`] port;
//! this crate joins their verdicts, applies rights, modes, edits and charges, asks approvers, and writes one journal
//! record for each passage before the effect that it permits. It knows nothing about WebAssembly or transports.

#![forbid(unsafe_code)]

mod approval;
mod chain;
mod cleared;
mod context;
mod display;
mod echo;
mod edits;
mod evaluate;
mod exempt;
mod gates;
mod grant;
mod inbox;
mod journal;
mod judge;
mod loader;
mod passage;
mod payload;
mod refusal;
mod replay;
mod segments;
mod session;
mod set;
mod shadow;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
pub mod trial;

pub use approval::{ApprovalLimits, Approver, NoApprover, Prompt, PromptQuestion, Reply, Scope};
pub use cleared::{Cleared, Receipt};
pub use context::{Context, Definitions};
pub use evaluate::{Cost, Evaluate, Evaluation, EvaluationFuture, Fault};
pub use exempt::Exempting;
pub use gates::{Gates, Listed, Withheld, WithheldReason};
pub use grant::{Bound, Clause, Constraint, ConstraintError, Grant, GrantError, Grants, MOST_ALIKE, MOST_GRANTS, Test};
pub use inbox::{AnswerEffect, AnswerError, Attached, Inbox, OperatorAnswer, Pending};
pub use journal::{
    ApprovalEvent, ApprovalRecord, Journal, JournalError, JournalFuture, NoJournal, PolicyOutcome, PolicyRecord,
    Record, RecordedDecision,
};
pub use payload::{Call, Environment, Launching, ListedItem, ServerMessage, ServerRequest};
pub use refusal::{Refusal, RefusalCode};
pub use replay::Judged;
pub use segments::definition::{annotations, field_digests};
pub use session::{LiveSession, Session, Sessions, TooManySessions};
pub use set::{ActivePolicy, Isolation, Mode, OnFault, PolicySet, PolicySource};
pub use shadow::Tally;
