//! The port through which policies answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{Answer, Facts, Subject};

/// The future of an evaluation.
pub type EvaluationFuture<'a> = Pin<Box<dyn Future<Output = Evaluation> + Send + 'a>>;

/// Something that judges: a loaded component, or a stand-in in tests.
///
/// An implementation decides by itself where it runs (in place, or on a pool), keeps to its budget, and never panics.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// Judges a subject. The answer's variant must fit the subject's gate; the caller treats another as malformed.
    fn evaluate<'a>(&'a self, facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a>;

    /// As [`Evaluate::evaluate`], for a subject that several policies judge: one that judges it elsewhere need not copy it.
    fn evaluate_shared<'a>(&'a self, facts: &'a Facts, subject: &'a Arc<Subject>) -> EvaluationFuture<'a> {
        self.evaluate(facts, subject)
    }

    /// Judges a subject for which nobody waits: never on the thread of whoever asks, where that can be helped.
    fn evaluate_aside<'a>(&'a self, facts: &'a Facts, subject: &'a Arc<Subject>) -> EvaluationFuture<'a> {
        self.evaluate(facts, subject)
    }

    /// Returns false where an answer depends on more than the policy, the facts and the subject, such as what the network said: it
    /// cannot be judged again later, and what was recorded stands for it.
    fn is_pure(&self) -> bool {
        true
    }
}

/// What came of an evaluation, and what it cost.
#[derive(Debug)]
pub struct Evaluation {
    /// The answer, or how the policy broke.
    pub outcome: Result<Answer, Fault>,
    /// What it cost.
    pub cost: Cost,
}

/// What an evaluation cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Wall time, waiting in a queue included.
    pub wall: Duration,
    /// CPU time of the thread that ran it.
    pub cpu: Duration,
    /// Largest linear memory in bytes.
    pub memory: u64,
}

/// How a policy broke. Not a denial: another type, another count; `on_fault` makes a decision of it in one place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It trapped: unreachable code, an access out of bounds, a stack overflow, a panic.
    #[error("the policy trapped: {0}")]
    Trap(String),
    /// It used up its CPU time or its wall time.
    #[error("the policy ran longer than {}", limit.as_millis().to_string() + " ms")]
    Deadline {
        /// The limit that was hit.
        limit: Duration,
    },
    /// It wanted more memory than its budget.
    #[error("the policy wanted more than {limit} bytes of memory")]
    Memory {
        /// The budget in bytes.
        limit: u64,
    },
    /// Its answer was larger than the host reads.
    #[error("the policy answered more than the host reads")]
    Output,
    /// Its answer does not follow the contract.
    #[error("the policy answered something malformed: {0}")]
    Malformed(String),
    /// Its queue was full.
    #[error("too many evaluations were waiting for the policy")]
    QueueFull,
    /// No instance could be made.
    #[error("the policy could not be instantiated: {0}")]
    Instantiate(String),
    /// A required policy is not loaded.
    #[error("the required policy is missing")]
    Missing,
}

impl Fault {
    /// Returns the stable code used in the journal and in counts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Trap(_) => "trap",
            Self::Deadline { .. } => "deadline",
            Self::Memory { .. } => "memory",
            Self::Output => "output",
            Self::Malformed(_) => "malformed",
            Self::QueueFull => "queue-full",
            Self::Instantiate(_) => "instantiate",
            Self::Missing => "missing",
        }
    }
}
