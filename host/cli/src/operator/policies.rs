//! What a gateway tells operators of its policies, and how they move one back and forth.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use portcullis_gates::{Gates, Mode, Tally};
use portcullis_model::json::{Object, Value};
use portcullis_model::{Digest, PolicyName, object};
use portcullis_runtime::{MoveError, Moved, Pipeline, PolicyStore, Step, StepOutcome, TriedPolicy};
use portcullis_store::{Artifact, SqliteStore, Versions as _};

use super::message::error;
use crate::failure::one_line;
use crate::policy_report::{self, PolicyLine};
use crate::updates::UpdateState;

/// The policies of the gateway, and where versions are remembered.
#[derive(Clone, Debug)]
pub(crate) struct Policies {
    pub(crate) judging: Arc<PolicyStore>,
    pub(crate) versions: Option<Arc<SqliteStore>>,
    pub(crate) updates: UpdateState,
}

impl Policies {
    /// Returns everything there is to say of them.
    pub(super) fn status(&self, gates: &Gates) -> Object {
        let lines = policy_report::lines(&self.judging);
        object! {
            "gateway" => u64::from(std::process::id()),
            "policies" => lines.iter().map(PolicyLine::to_value).collect::<Vec<_>>(),
            "update" => self.updates.to_value(),
            "shadow" => self.shadow(gates),
            "pipelines" => self.judging.pipelines().iter().map(pipeline).collect::<Vec<_>>(),
        }
    }

    /// Returns what came of every policy in shadow, with its version where it is tried in the place of another.
    fn shadow(&self, gates: &Gates) -> Vec<Value> {
        let tallies = gates.tallies();
        let tried = self.judging.tried();
        let tally = |name: &PolicyName, digest: Digest| {
            let is_it = |(known, of, _): &&(PolicyName, Digest, Tally)| known == name && *of == digest;
            tallies.iter().find(is_it).map(|(_, _, tally)| *tally).unwrap_or_default()
        };
        let line = |name: &PolicyName, version: &str, counts: Option<&str>, tally: Tally| -> Value {
            let Tally { compared, differed, alike, skipped } = tally;
            object! {
                "name" => name.as_str(),
                "version" => version,
                "counts" => counts.map_or(Value::Null, Value::from),
                "compared" => compared,
                "differed" => differed,
                "alike" => alike,
                "skipped" => skipped,
            }
            .into()
        };
        let set = gates.set();
        let alone = set.policies().iter().filter(|policy| {
            let is_it = |tried: &TriedPolicy| tried.name == policy.description.name && tried.digest == policy.digest;
            policy.mode == Mode::Shadow && !tried.iter().any(is_it)
        });
        let alone = alone.map(|policy| {
            let name = &policy.description.name;
            line(name, &policy.description.version, None, tally(name, policy.digest))
        });
        let of_trial = tried
            .iter()
            .map(|tried| line(&tried.name, &tried.version, tried.counts.as_deref(), tally(&tried.name, tried.digest)));
        of_trial.chain(alone).collect()
    }

    /// Goes back to the former policy, or forth again. Whoever asks has proven that they may.
    pub(super) fn exchange(&self, gates: &Gates, request: &Object, back: bool) -> Object {
        let name = request.get("policy").and_then(Value::as_str).map(PolicyName::parse);
        let Some(Ok(name)) = name else {
            return error("malformed", "the request names no policy");
        };
        let moved = if back { self.judging.rollback(gates, &name) } else { self.judging.promote(gates, &name) };
        match moved {
            Ok(moved) => {
                self.remember(&moved);
                object! {
                    "done" => "moved",
                    "policy" => moved.policy.as_str(),
                    "from" => moved.from.as_str(),
                    "to" => moved.to.as_str(),
                    "generation" => moved.generation,
                    "took_us" => u64::try_from(moved.took.as_micros()).unwrap_or(u64::MAX),
                }
            }
            Err(failed) => {
                let code = if matches!(failed, MoveError::Unknown(_)) { "unknown" } else { "nothing-to-move" };
                error(code, &one_line(&failed.to_string()))
            }
        }
    }

    /// Makes the version that counts now the newest seen: the explicit exception to what only goes up.
    fn remember(&self, moved: &Moved) {
        let Some(versions) = self.versions.as_ref().filter(|_| moved.signed) else { return };
        if let Err(error) = versions.roll_back(Artifact::Policy, moved.policy.as_str(), "", &moved.to) {
            tracing::warn!(error = &error as &dyn std::error::Error, policy = %moved.policy, "a version was not kept");
        }
    }
}

fn pipeline(pipeline: &Pipeline) -> Value {
    let mut object = object! {
        "what" => pipeline.what.as_str(),
        "began" => pipeline.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        "sound" => pipeline.is_sound(),
        "steps" => pipeline.steps.iter().map(step).collect::<Vec<_>>(),
    };
    if let Some(version) = &pipeline.version {
        object.insert("version", version.as_str());
    }
    if let Some(generation) = pipeline.generation {
        object.insert("generation", generation);
    }
    object.into()
}

fn step(step: &Step) -> Value {
    let (outcome, note) = match &step.outcome {
        StepOutcome::Done(note) => ("done", note.as_deref()),
        StepOutcome::Failed(reason) => ("failed", Some(reason.as_str())),
    };
    object! {
        "name" => step.name,
        "took_us" => u64::try_from(step.took.as_micros()).unwrap_or(u64::MAX),
        "outcome" => outcome,
        "note" => note.map_or(Value::Null, Value::from),
    }
    .into()
}
