//! The port through which questions reach an approver.

mod desk;
mod question;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use portcullis_model::{ApproverClass, GateName, PolicyName, Question};

pub(crate) use desk::Desk;
pub(crate) use question::{Answered, Asked, shown_definition, shown_value};

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

/// A question waits so long; design §5. A client that shows it to a person rarely waits longer itself.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// So many questions of one principal wait at once; further ones are refused, so that a flood cannot bury one.
pub(crate) const MOST_WAITING: usize = 32;
