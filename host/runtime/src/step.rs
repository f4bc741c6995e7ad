//! The steps that a policy goes through before it judges, with time and outcome.

use std::fmt;
use std::time::Duration;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// It went well; with a word about how, where there is one.
    Done(Option<String>),
    /// It failed, and nothing changed by the policy.
    Failed(String),
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// `verify`, `compile`, `configure`, `snapshot`, `self-test`, `enforce` (or `shadow`, `off`), `publish`.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
    /// What it came to.
    pub outcome: StepOutcome,
}

impl Step {
    pub(crate) fn done(name: &'static str, took: Duration) -> Self {
        Self { name, took, outcome: StepOutcome::Done(None) }
    }

    pub(crate) fn noted(name: &'static str, took: Duration, note: impl Into<String>) -> Self {
        Self { name, took, outcome: StepOutcome::Done(Some(note.into())) }
    }

    pub(crate) fn failed(name: &'static str, took: Duration, reason: impl Into<String>) -> Self {
        Self { name, took, outcome: StepOutcome::Failed(reason.into()) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:.1} ms", self.name, self.took.as_secs_f64() * 1_000.0)?;
        match &self.outcome {
            StepOutcome::Done(None) => Ok(()),
            StepOutcome::Done(Some(note)) => write!(formatter, " ({note})"),
            StepOutcome::Failed(reason) => write!(formatter, " failed: {reason}"),
        }
    }
}

/// How long the parts of making native code took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timings {
    pub(crate) compile: Duration,
    pub(crate) configure: Duration,
    pub(crate) snapshot: Duration,
}
