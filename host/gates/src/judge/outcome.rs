//! What the rounds of a chain came to.

use std::sync::Arc;

use portcullis_model::json::Object;
use portcullis_model::{Digest, GateName, Segment};

use crate::approval::Asked;
use crate::chain::{Heard, Stance, join_extensions};
use crate::edits::Fence;
use crate::passage::Refused;
use crate::session::{Marked, Pending};
use crate::{Receipt, RefusalCode};

/// What the rounds of a chain came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) questions: Vec<Asked>,
    pub(crate) labels: Vec<Marked>,
    pub(crate) charges: Vec<Pending>,
    pub(crate) extensions: Object,
    pub(crate) fences: Vec<Fence>,
    /// True where a fence stands.
    pub(crate) fenced: bool,
    pub(crate) edited: bool,
    pub(crate) rounds: u32,
    pub(crate) digests: Arc<[Digest]>,
    /// The texts of a result as the last round judged them, where something labelled them.
    pub(crate) judged: Option<Vec<Segment>>,
}

impl Outcome {
    /// Takes over what a policy wished for in one round. What was asked, marked or charged in an earlier round stays:
    /// otherwise one policy could edit away the reason of another.
    pub(crate) fn take(&mut self, gate: GateName, heard: &mut Heard) -> Result<(), Refused> {
        if let Stance::Ask(questions) = &heard.stance {
            for question in questions {
                Asked::new(gate, &heard.policy.description.name, question.clone()).add_to(&mut self.questions);
            }
        }
        self.labels.append(&mut heard.labels);
        for charge in heard.charges.drain(..) {
            match self.charges.iter_mut().find(|known| known.is_same_count(&charge)) {
                Some(known) => {
                    known.amount = known.amount.max(charge.amount);
                    known.limit = known.limit.min(charge.limit);
                }
                None => self.charges.push(charge),
            }
        }
        if gate != GateName::Request {
            // Nobody reads them elsewhere.
            return Ok(());
        }
        join_extensions(&mut self.extensions, std::mem::take(&mut heard.extensions)).map_err(|contradiction| {
            let policy = &heard.policy.description.name;
            Refused::by_policy(RefusalCode::Contradiction, policy, contradiction.to_string())
        })
    }

    pub(crate) fn receipt(&self, gate: GateName, generation: u64) -> Receipt {
        Receipt {
            gate,
            generation,
            policies: Arc::clone(&self.digests),
            rounds: self.rounds,
            edited: self.edited || self.fenced,
        }
    }
}
