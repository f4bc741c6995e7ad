//! The port through which questions reach an approver.

mod question;
mod remembered;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use portcullis_model::{ApproverClass, GateName, PolicyName, Question};

pub(crate) use question::{Answered, Asked, shown_definition, shown_drift, shown_value};
pub(crate) use remembered::{Memory, grants_for, keep, recall};

/// A question with the policy that asks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptQuestion {
    /// The policy.
    pub policy: PolicyName,
    /// What it asks.
    pub question: Question,
}

/// All that an approver is shown of one passage: every question at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The gate.
    pub gate: GateName,
    /// The server.
    pub server: String,
    /// The server's own name of what is called, listed or asked.
    pub name: String,
    /// The canonical arguments, cut for display with the digest of the whole where long.
    pub arguments: String,
    /// What is known of the definition: unpinned, approved or drifted, with its digest.
    pub definition: String,
    /// The questions.
    pub questions: Vec<PromptQuestion>,
}

/// For how long an approval holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// This passage.
    Once,
    /// The same question about the same definition in this session.
    Session,
    /// The same question about the same definition, until the grant expires or is revoked. An operator's answer only: a
    /// client that gives it has approved once.
    Always,
}

impl Scope {
    /// Returns the name used in output and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
        }
    }

    /// Returns the scope of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Once, Self::Session, Self::Always].into_iter().find(|scope| scope.as_str() == text)
    }

    /// Returns what an answer of a class is worth: a client's holds for a session at most (design §7).
    pub(crate) fn limited_to(self, class: ApproverClass) -> Self {
        match (self, class) {
            (Self::Always, ApproverClass::Client) => Self::Once,
            (scope, _) => scope,
        }
    }
}

/// What an approver answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Yes, to all questions of the prompt.
    Approved(Scope),
    /// No.
    Declined,
    /// There was nobody to ask after all.
    Unavailable,
}

/// Someone who can be asked about the passages of one session.
pub trait Approver: Send + Sync {
    /// Returns the highest class that can be asked now.
    fn class(&self) -> Option<ApproverClass>;

    /// Returns where answers come from, in a word for the journal.
    fn surface(&self) -> &'static str {
        "client"
    }

    /// Asks someone of at least the highest class that a question of the prompt demands. Everything in the prompt is
    /// escaped and bounded already. Dropping the future withdraws the question.
    fn ask(&self, prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>>;
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn class(&self) -> Option<ApproverClass> {
        None
    }

    fn ask(&self, _prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(std::future::ready(Reply::Unavailable))
    }
}

/// For how long, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalLimits {
    /// A question waits so long.
    pub wait: Duration,
    /// So many questions of one principal wait at once; further ones are refused, so that a flood cannot bury one.
    pub waiting: usize,
    /// A grant that outlives sessions holds so long.
    pub expire: Duration,
}

impl Default for ApprovalLimits {
    /// Five minutes and 32 questions (design §5): a client that shows a question to a person rarely waits longer itself.
    /// Grants hold for 90 days, after which somebody should want them still.
    fn default() -> Self {
        Self { wait: Duration::from_mins(5), waiting: 32, expire: Duration::from_hours(90 * 24) }
    }
}
