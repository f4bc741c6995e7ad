//! What policies went through lately.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use crate::step::{Step, StepOutcome};

/// So many are remembered: the whole default bundle, and several updates of it.
const MOST: usize = 64;

/// What one policy, or file, went through before it judged, or until it was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The policy or file.
    pub what: String,
    /// Its version, where it got so far that it told.
    pub version: Option<String>,
    /// When it began.
    pub began: SystemTime,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// The generation of the set that it was published with.
    pub generation: Option<u64>,
}

impl Pipeline {
    /// Returns true where nothing failed.
    pub fn is_sound(&self) -> bool {
        self.steps.iter().all(|step| matches!(step.outcome, StepOutcome::Done(_)))
    }
}

/// The last ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipelines {
    all: VecDeque<Pipeline>,
}

impl Pipelines {
    pub(super) fn add(&mut self, pipeline: Pipeline) {
        if self.all.len() == MOST {
            self.all.pop_front();
        }
        self.all.push_back(pipeline);
    }

    /// Adds the last step to what a new set was built with.
    pub(super) fn published(&mut self, took: Duration, generation: u64) {
        for pipeline in self.all.iter_mut().filter(|pipeline| pipeline.generation.is_none() && pipeline.is_sound()) {
            pipeline.steps.push(Step::done("publish", took));
            pipeline.generation = Some(generation);
        }
    }

    pub(super) fn all(&self) -> Vec<Pipeline> {
        self.all.iter().cloned().collect()
    }
}
