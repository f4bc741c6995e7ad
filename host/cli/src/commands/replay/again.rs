//! Judging passages again, many at once.

use std::sync::Arc;

use portcullis_gates::{ActivePolicy, Judged, Mode, PolicySet};
use portcullis_model::json::Value;
use portcullis_model::{Digest, GateName, object};
use portcullis_store::{JournalEntry, PayloadKey, PolicyEntry, SqliteStore};

use super::ruling::{Ruling, noticed};
use crate::commands::journal::entry_line;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Parts that a batch is judged in at the same time: a few for each thread of the runtime.
const PARTS: usize = 8;

/// Who judges again.
#[derive(Debug)]
pub(super) enum Judges {
    /// All policies.
    All(Box<PolicySet>),
    /// One in place of the one that has its name; what the others said then stands.
    One(Arc<ActivePolicy>),
}

impl Judges {
    fn at(&self, gate: GateName) -> Vec<&Arc<ActivePolicy>> {
        match self {
            Self::All(set) => set.chain(gate).filter(|policy| policy.evaluator.is_pure()).collect(),
            Self::One(policy) => std::iter::once(policy).filter(|policy| policy.gates.contains(&gate)).collect(),
        }
    }

    /// Returns what stands of what was recorded.
    fn standing(&self, entry: &JournalEntry) -> Vec<PolicyEntry> {
        match self {
            // What depended on the network is not judged again: what it answered then stands.
            Self::All(set) => {
                let impure = |name: &str| {
                    let named = |policy: &&Arc<ActivePolicy>| policy.description.name.as_str() == name;
                    set.policies().iter().find(named).is_some_and(|policy| !policy.evaluator.is_pure())
                };
                entry.policies.iter().filter(|entry| impure(&entry.policy)).cloned().collect()
            }
            Self::One(policy) => {
                let name = policy.description.name.as_str();
                entry.policies.iter().filter(|entry| entry.policy != name).cloned().collect()
            }
        }
    }
}

/// What came of judging one passage again.
#[derive(Debug)]
pub(super) enum Outcome {
    Same,
    Otherwise(Box<Difference>),
    WithoutPayload,
    NeverKept,
    Unreadable,
    Unjudged,
}

/// A passage of which something else was said.
#[derive(Debug)]
pub(super) struct Difference {
    entry: JournalEntry,
    before: Ruling,
    after: Ruling,
}

impl Difference {
    /// Returns true where it would be decided otherwise, false where only the findings differ.
    pub(super) fn is_decision(&self) -> bool {
        self.before != self.after
    }

    pub(super) fn line(&self) -> String {
        let change = if self.is_decision() {
            format!("{} → {}", self.before.told(), self.after.told())
        } else {
            "the same, with other findings".to_owned()
        };
        format!("{}\n         now: {change}", entry_line(&self.entry))
    }

    pub(super) fn to_value(&self) -> Value {
        object! {
            "id" => self.entry.id,
            "gate" => self.entry.gate.as_str(),
            "server" => self.entry.server.as_str(),
            "name" => self.entry.name.as_str(),
            "decision_differs" => self.is_decision(),
            "before" => self.before.told(),
            "after" => self.after.told(),
        }
        .into()
    }
}

/// Passages with what the policies were told, sealed.
pub(super) type Sealed = Vec<(JournalEntry, Option<Arc<Vec<u8>>>)>;

/// Reads what the policies were told of passages.
pub(super) fn sealed(store: &SqliteStore, entries: Vec<JournalEntry>) -> Result<Sealed, Failure> {
    let mut sealed: Sealed = Vec::with_capacity(entries.len());
    for entry in entries {
        // Items of one batch have one payload.
        let known = sealed.last().filter(|(former, _)| former.payload == entry.payload);
        let payload = match (known, entry.payload) {
            (Some((_, payload)), _) => payload.clone(),
            (None, Some(digest)) => store.payload(&digest).or_exit(Exit::State, "reading a payload")?.map(Arc::new),
            (None, None) => None,
        };
        sealed.push((entry, payload));
    }
    Ok(sealed)
}

/// Judges passages again, in their order. The parts are judged at the same time: what a policy was told of a session stands in
/// the passage itself, so that no passage depends on another.
pub(super) async fn judge(
    key: &Arc<PayloadKey>,
    judges: &Arc<Judges>,
    mut sealed: Sealed,
) -> Result<Vec<Outcome>, Failure> {
    let length = sealed.len().div_ceil(PARTS).max(1);
    let mut parts = Vec::new();
    while !sealed.is_empty() {
        let rest = sealed.split_off(length.min(sealed.len()));
        let part = std::mem::replace(&mut sealed, rest);
        parts.push(tokio::spawn(judge_part(Arc::clone(key), Arc::clone(judges), part)));
    }
    let mut outcomes = Vec::new();
    for part in parts {
        outcomes.extend(part.await.or_exit(Exit::Internal, "judging recorded passages")?);
    }
    Ok(outcomes)
}

async fn judge_part(key: Arc<PayloadKey>, judges: Arc<Judges>, part: Sealed) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(part.len());
    let mut known: Option<Told> = None;
    for (entry, sealed) in part {
        let Some(gate) = GateName::ALL.into_iter().find(|gate| gate.as_str() == entry.gate) else {
            outcomes.push(Outcome::Unreadable);
            continue;
        };
        let policies = judges.at(gate);
        if policies.is_empty() || entry.policies.is_empty() {
            outcomes.push(Outcome::Unjudged);
            continue;
        }
        let (Some(digest), Some(sealed)) = (entry.payload, sealed) else {
            let never = matches!(gate, GateName::Config | GateName::Environment);
            outcomes.push(if never { Outcome::NeverKept } else { Outcome::WithoutPayload });
            continue;
        };
        let told = if let Some(told) = known.take().filter(|told| told.digest == digest) {
            told
        } else if let Ok(rounds) = key.open(&sealed) {
            Told::of(digest, rounds, &policies).await
        } else {
            outcomes.push(Outcome::Unreadable);
            continue;
        };
        outcomes.push(match told.about(&entry) {
            Some(said) => compare(&judges, entry, said),
            None => Outcome::Unreadable,
        });
        known = Some(told);
    }
    outcomes
}

fn compare(judges: &Judges, entry: JournalEntry, mut said: Vec<PolicyEntry>) -> Outcome {
    said.extend(judges.standing(&entry));
    let (before, after) = (Ruling::of(&entry.policies), Ruling::of(&said));
    if before == after && noticed(&entry.policies) == noticed(&said) {
        Outcome::Same
    } else {
        Outcome::Otherwise(Box::new(Difference { entry, before, after }))
    }
}

/// What policies say again of a payload.
struct Told {
    digest: Digest,
    rounds: Vec<(Judged, Vec<Vec<PolicyEntry>>)>,
}

impl Told {
    async fn of(digest: Digest, inputs: Vec<Judged>, policies: &[&Arc<ActivePolicy>]) -> Self {
        let mut rounds = Vec::with_capacity(inputs.len());
        for judged in inputs {
            let mut said = Vec::with_capacity(policies.len());
            for policy in policies {
                said.push(judge_again(&judged, policy).await);
            }
            rounds.push((judged, said));
        }
        Self { digest, rounds }
    }

    /// Returns what was said of a passage, or nothing where the payload is about others.
    fn about(&self, entry: &JournalEntry) -> Option<Vec<PolicyEntry>> {
        let mut all = Vec::new();
        for (judged, said) in &self.rounds {
            let position = judged.position(&entry.name, &entry.subject)?;
            for records in said {
                all.push(records.get(position)?.clone());
            }
        }
        Some(all)
    }
}

/// Lets a policy judge again, and returns what would be recorded.
pub(super) async fn judge_again(judged: &Judged, policy: &Arc<ActivePolicy>) -> Vec<PolicyEntry> {
    let shadow = policy.mode == Mode::Shadow;
    let records = judged.judge_again(policy).await;
    records.iter().map(|record| PolicyEntry { shadow, ..PolicyEntry::of_record(record) }).collect()
}
