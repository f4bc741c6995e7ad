//! Policies in shadow: judged beside a passage, never waited for, and recorded where they say something else.
//!
//! At the config, call, result and request gates a policy in shadow judges what the policies that count judged in their first
//! round, off the path of the message: a passage leaves a copy behind and goes on. What it says is compared to what the policy
//! of the same name that counts said, or to no objection where there is none: decision and codes, edits, and labels. One
//! task compares, one evaluation at a time; what waits is bounded in number and bytes, and what finds no room is counted as
//! skipped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use portcullis_model::json::Value;
use portcullis_model::{Digest, Edit, Facts, GateName, PolicyName, Subject};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::chain::{Heard, Readings, View};
use crate::judge::{hear, segments};
use crate::passage::Passage;
use crate::segments::Place;
use crate::session::lock;
use crate::{ActivePolicy, Cost, Evaluation, Fault, Journal, JournalError, PolicyOutcome, Record, RecordedDecision};

/// So many comparisons wait at most: a burst of an agent, several policies each.
const MOST_WAITING: usize = 256;

/// So many KiB of copies wait at most: a few of the largest results.
const MOST_KIB: usize = 64 * 1024;

/// So many differences of one policy are recorded one by one. More of the same would fill the journal; they are counted.
const MOST_RECORDED: u64 = 1_000;

/// What came of comparing a policy in shadow to what counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passages that were compared.
    pub compared: u64,
    /// Those in which it said something else.
    pub differed: u64,
    /// Passages without a difference since the last one.
    pub alike: u64,
    /// Passages for which there was no room or no time.
    pub skipped: u64,
}

/// What came of every policy in shadow, by name and digest.
type Tallies = Mutex<BTreeMap<(PolicyName, Digest), Tally>>;

/// Compares policies in shadow.
#[derive(Debug)]
pub(crate) struct Shadows {
    journal: Arc<dyn Journal>,
    /// Where comparisons wait; there once the first one does.
    queue: OnceLock<Sender<Comparison>>,
    room: Arc<Semaphore>,
    tallies: Arc<Tallies>,
}

/// What a policy says of a passage, as far as it is compared.
#[derive(Debug, PartialEq)]
struct Said {
    outcome: PolicyOutcome,
    edits: Vec<Edit>,
    labels: Vec<String>,
}

impl Said {
    fn nothing() -> Self {
        Self { outcome: PolicyOutcome::Allow, edits: Vec::new(), labels: Vec::new() }
    }

    fn of(heard: &Heard) -> Self {
        let labels = heard.labels.iter().map(|marked| marked.fact.name.clone());
        Self { outcome: heard.stance.outcome(), edits: heard.edits.clone(), labels: labels.collect() }
    }
}

/// What all policies in shadow of a passage are compared by.
#[derive(Debug)]
struct Left {
    subject: Arc<Subject>,
    /// What edits would change, and where it stands.
    editable: Option<(Value, Place)>,
    session: String,
    gate: GateName,
    server: String,
    name: String,
    digest: Digest,
    generation: u64,
    /// Given back with the last comparison of the passage.
    _room: OwnedSemaphorePermit,
}

/// One policy in shadow and one passage.
#[derive(Debug)]
struct Comparison {
    policy: Arc<ActivePolicy>,
    facts: Facts,
    left: Arc<Left>,
    /// What the policy of its name that counts said.
    counted: Said,
}

impl Shadows {
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal, queue: OnceLock::new(), room: Arc::new(Semaphore::new(MOST_KIB)), tallies: Arc::default() }
    }

    /// Returns what came of comparing, by policy and digest.
    pub(crate) fn tallies(&self) -> Vec<(PolicyName, Digest, Tally)> {
        let tallies = lock(&self.tallies);
        tallies.iter().map(|((policy, digest), tally)| (policy.clone(), *digest, *tally)).collect()
    }

    /// Forgets policies that are in shadow no more.
    pub(crate) fn retain(&self, is_there: impl Fn(&PolicyName, Digest) -> bool) {
        lock(&self.tallies).retain(|(policy, digest), _| is_there(policy, *digest));
    }

    /// Leaves a copy of a passage behind for the policies in shadow. `heard` is what those that count said.
    pub(crate) fn leave<'h>(
        &self,
        passage: &Passage<'_>,
        policies: &[Arc<ActivePolicy>],
        told: (&Facts, &Readings, &Arc<Subject>),
        editable: Option<(&Value, Place)>,
        heard: &(impl Iterator<Item = &'h Heard> + Clone),
    ) {
        let (facts, readings, subject) = told;
        // The arguments of a call are in the subject too, and media in the document alone.
        let bytes = subject.text_bytes() + 2 * editable.map_or(0, |(document, _)| weight(document));
        let kib = u32::try_from(bytes / 1_024 + 1).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib);
        let (Ok(room), Some(queue)) = (room, self.queue()) else {
            for policy in policies {
                self.skip(policy);
            }
            return;
        };
        let left = Arc::new(Left {
            subject: Arc::clone(subject),
            editable: editable.map(|(document, place)| (document.clone(), place)),
            session: passage.context.session.id.as_str().to_owned(),
            gate: passage.gate,
            server: passage.server.as_str().to_owned(),
            name: passage.name.clone(),
            digest: passage.subject,
            generation: passage.generation,
            _room: room,
        });
        for policy in policies {
            let name = &policy.description.name;
            let own = readings.iter().find(|(reader, _)| reader == name).map(|(_, readings)| readings.clone());
            let comparison = Comparison {
                policy: Arc::clone(policy),
                facts: Facts { meters: own.unwrap_or_default(), ..facts.clone() },
                left: Arc::clone(&left),
                counted: heard
                    .clone()
                    .find(|heard| heard.policy.description.name == *name)
                    .map_or_else(Said::nothing, Said::of),
            };
            if queue.try_send(comparison).is_err() {
                self.skip(policy);
            }
        }
    }

    /// Returns the queue, and starts the task that empties it. Nothing where no runtime could carry it.
    fn queue(&self) -> Option<&Sender<Comparison>> {
        if let Some(queue) = self.queue.get() {
            return Some(queue);
        }
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(self.queue.get_or_init(|| {
            let (sender, receiver) = channel(MOST_WAITING);
            runtime.spawn(work(receiver, Arc::clone(&self.journal), Arc::clone(&self.tallies)));
            sender
        }))
    }

    fn skip(&self, policy: &ActivePolicy) {
        tally(&self.tallies, policy, |tally| tally.skipped += 1);
    }
}

/// Returns about how many bytes a copy of a document has. Documents are 64 levels deep at most.
fn weight(value: &Value) -> usize {
    const NODE: usize = 64;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(key, value)| key.len() + weight(value)).sum(),
    }
}

fn tally(tallies: &Tallies, policy: &ActivePolicy, count: impl FnOnce(&mut Tally)) -> Tally {
    let mut tallies = lock(tallies);
    let tally = tallies.entry((policy.description.name.clone(), policy.digest)).or_default();
    count(tally);
    *tally
}

/// Compares until the gates are gone.
async fn work(mut queue: Receiver<Comparison>, journal: Arc<dyn Journal>, tallies: Arc<Tallies>) {
    while let Some(comparison) = queue.recv().await {
        comparison.run(&*journal, &tallies).await;
    }
}

impl Comparison {
    async fn run(self, journal: &dyn Journal, tallies: &Tallies) {
        let Self { policy, facts, left, counted } = self;
        let Evaluation { outcome, cost } = policy.evaluator.evaluate_aside(&facts, &left.subject).await;
        // A busy machine says nothing about the policy.
        if matches!(outcome, Err(Fault::QueueFull)) {
            tally(tallies, &policy, |tally| tally.skipped += 1);
            return;
        }
        let view = View {
            segments: segments(&left.subject),
            editable: left.editable.as_ref().map(|(document, place)| (document, *place)),
            server: &left.server,
            name: &left.name,
        };
        let heard = hear(&policy, view, outcome);
        let is_alike = Said::of(&heard) == counted;
        let now = tally(tallies, &policy, |tally| {
            tally.compared += 1;
            if is_alike {
                tally.alike += 1;
            } else {
                tally.alike = 0;
                tally.differed += 1;
            }
        });
        if !is_alike && now.differed <= MOST_RECORDED {
            record(&left, heard, cost, journal).await;
        }
    }
}

/// Writes a difference into the journal.
async fn record(left: &Left, heard: Heard, cost: Cost, journal: &dyn Journal) {
    let record = Record {
        at: SystemTime::now(),
        session: left.session.clone(),
        gate: left.gate,
        server: left.server.clone(),
        name: left.name.clone(),
        subject: left.digest,
        generation: left.generation,
        decision: RecordedDecision::Compared,
        decided_by: None,
        elapsed: cost.wall,
        policies: vec![heard.into_record(1, cost)],
        approvals: Vec::new(),
        inputs: Vec::new(),
    };
    if let Err(JournalError(reason)) = journal.write(record).await {
        tracing::warn!(target: "portcullis::journal", reason, "a difference of a policy in shadow was not recorded");
    }
}
