//! Judging again what was judged: all that policies were told, kept so that others can be told the same.

use std::sync::Arc;

use portcullis_model::json::Value;
use portcullis_model::{Answer, Digest, Facts, Item, MeterReading, PolicyName, Segment, Subject};
use serde::{Deserialize, Serialize};

use crate::chain::{Heard, Stance, View, check};
use crate::segments::{Place, item_place, message_place};
use crate::{ActivePolicy, Evaluation, Fault, PolicyRecord};

/// What the policies of a gate were told in one round. Server entries are never among it: they hold credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// What the host knew: labels, echoes, trust, approver as they were.
    pub facts: Facts,
    /// What each policy's own meters read.
    pub readings: Vec<(PolicyName, Vec<MeterReading>)>,
    /// What was judged; of a listing, the whole batch with the catalogue as it was.
    pub subject: Subject,
    /// The document that edits would change, at gates with one.
    pub document: Option<Value>,
}

impl Judged {
    /// Returns which of the answers to it is about a passage: the item that the server sent under a name.
    pub fn position(&self, name: &str, subject: &Digest) -> Option<usize> {
        match &self.subject {
            Subject::Listing(batch) => batch.items.iter().position(|item| item.name == name && item.digest == *subject),
            Subject::Config(_)
            | Subject::Environment(_)
            | Subject::Call(_)
            | Subject::Result(_)
            | Subject::Request(_) => Some(0),
        }
    }

    /// Returns the texts of the passage at a position, into which spans of evidence point.
    pub fn segments(&self, position: usize) -> &[Segment] {
        match &self.subject {
            Subject::Config(subject) => &subject.segments,
            Subject::Environment(subject) => &subject.config.segments,
            Subject::Listing(batch) => batch.items.get(position).map_or(&[], |item| &item.segments),
            Subject::Call(subject) => &subject.segments,
            Subject::Result(subject) => &subject.segments,
            Subject::Request(subject) => &subject.segments,
        }
    }

    /// Returns the same for changes that ask what would have been.
    pub fn segments_mut(&mut self, position: usize) -> &mut [Segment] {
        match &mut self.subject {
            Subject::Config(subject) => &mut subject.segments,
            Subject::Environment(subject) => &mut subject.config.segments,
            Subject::Listing(batch) => batch.items.get_mut(position).map_or(&mut [], |item| &mut item.segments),
            Subject::Call(subject) => &mut subject.segments,
            Subject::Result(subject) => &mut subject.segments,
            Subject::Request(subject) => &mut subject.segments,
        }
    }

    /// Lets a policy judge it, with the rights it has now. The records are those of the items of a batch, else one; they say
    /// what a passage would have recorded.
    pub async fn judge_again(&self, policy: &Arc<ActivePolicy>) -> Vec<PolicyRecord> {
        let readings = self.readings.iter().find(|(name, _)| *name == policy.description.name);
        let Evaluation { outcome, cost } = match readings {
            Some((_, readings)) => {
                let facts = Facts { meters: readings.clone(), ..self.facts.clone() };
                policy.evaluator.evaluate(&facts, &self.subject).await
            }
            None => policy.evaluator.evaluate(&self.facts, &self.subject).await,
        };
        let heard = match &self.subject {
            Subject::Listing(batch) => hear_batch(policy, &batch.items, outcome),
            Subject::Config(_)
            | Subject::Environment(_)
            | Subject::Call(_)
            | Subject::Result(_)
            | Subject::Request(_) => vec![self.hear(policy, outcome)],
        };
        heard.into_iter().map(|heard| heard.into_record(self.facts.round, cost)).collect()
    }

    fn hear(&self, policy: &Arc<ActivePolicy>, outcome: Result<Answer, Fault>) -> Heard {
        let (place, server, name) = match &self.subject {
            Subject::Result(subject) => (Some(message_place(subject.kind)), subject.server.as_str(), &*subject.name),
            Subject::Request(subject) => (Some(Place::Request), subject.server.as_str(), ""),
            Subject::Call(subject) => (None, subject.server.as_str(), &*subject.name),
            Subject::Config(_) | Subject::Environment(_) | Subject::Listing(_) => (None, "", ""),
        };
        let view = View { segments: self.segments(0), editable: self.document.as_ref().zip(place), server, name };
        match outcome {
            Ok(Answer::Verdict(verdict)) => check(policy, view, verdict),
            // The names that a policy withholds are not compared.
            Ok(Answer::Selection(_)) => Heard::silent(policy, Stance::Allow),
            Ok(Answer::Verdicts(_)) => {
                Heard::broken(policy, Fault::Malformed("it answered for another gate".to_owned()))
            }
            Err(fault) => Heard::broken(policy, fault),
        }
    }
}

fn hear_batch(policy: &Arc<ActivePolicy>, items: &[Item], outcome: Result<Answer, Fault>) -> Vec<Heard> {
    let broken = |fault: &Fault| items.iter().map(|_| Heard::broken(policy, fault.clone())).collect();
    match outcome {
        Ok(Answer::Verdicts(verdicts)) if verdicts.len() == items.len() => items
            .iter()
            .zip(verdicts)
            .map(|(item, verdict)| {
                let view = View {
                    segments: &item.segments,
                    editable: Some((&item.document, item_place(item.kind))),
                    server: "",
                    name: &item.name,
                };
                check(policy, view, verdict)
            })
            .collect(),
        Ok(Answer::Verdicts(_) | Answer::Verdict(_) | Answer::Selection(_)) => {
            broken(&Fault::Malformed("it gave another number of verdicts than items".to_owned()))
        }
        Err(fault) => broken(&fault),
    }
}

#[cfg(test)]
mod tests;
