//! The listing gate: what of a server's offer is published.

mod item;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::join_all;
use portcullis_model::{Answer, Batch, CatalogueEntry, GateName, Item, ServerName, Subject, Verdict};

use super::{Listed, Withheld};
use crate::chain::{Heard, View, check, evaluate, facts, readings};
use crate::judge::{MOST_ROUNDS, open_gate};
use crate::passage::Refused;
use crate::segments::walk::MOST_TEXT;
use crate::segments::{collect_whole, item_place};
use crate::{ActivePolicy, Cleared, Context, Cost, Evaluation, Fault, Gates, Judged, ListedItem, Mode, RefusalCode};
use item::Scanning;

type Scanned = Result<Cleared<ListedItem>, Withheld>;

pub(super) async fn scan(
    gates: &Gates,
    context: &Context,
    items: Vec<Listed>,
    catalogue: Arc<Vec<CatalogueEntry>>,
) -> Vec<Scanned> {
    let mut scanning: Vec<Scanning<'_>> =
        items.into_iter().map(|listed| Scanning::begin(gates, context, listed)).collect();
    let set = Arc::clone(&context.set);
    let chain = set.judging(GateName::Listing);
    for one in &mut scanning {
        match open_gate(&mut one.passage, &set) {
            Ok(chain) => one.outcome.digests = Arc::clone(&chain.digests),
            Err(refused) => one.close(Err(refused)),
        }
        one.open &= !chain.policies.is_empty();
    }
    for round in 1..=MOST_ROUNDS {
        let judging = Judging { gates, context, policies: &chain.policies, catalogue: &catalogue, round };
        run_round(judging, &mut scanning).await;
    }
    for one in scanning.iter_mut().filter(|one| one.open) {
        let detail = format!("edits went on changing the item after {MOST_ROUNDS} rounds");
        one.close(Err(Refused::by_host(RefusalCode::NotConverging, &detail)));
    }
    join_all(scanning.into_iter().map(Scanning::end)).await
}

/// Judges the items that are still open, batch by batch. Those whose edits changed them stay open.
async fn run_round(judging: Judging<'_>, scanning: &mut [Scanning<'_>]) {
    let mut rest: VecDeque<&mut Scanning<'_>> = scanning.iter_mut().filter(|one| one.open).collect();
    while !rest.is_empty() {
        let mut members: Vec<Member<'_, '_>> = Vec::new();
        let mut room = MOST_TEXT;
        while members.len() < Batch::LARGEST
            && let Some(one) = rest.front()
        {
            let Ok(collected) = collect_whole(&one.item.document, item_place(one.item.kind)) else {
                if let Some(one) = rest.pop_front() {
                    one.close(Err(Refused::by_host(RefusalCode::TooLarge, "the item is larger than a gate judges")));
                }
                continue;
            };
            let other_server = members.first().is_some_and(|first| first.item_server() != &one.item.server);
            if collected.size > room || other_server {
                break;
            }
            room -= collected.size;
            if let Some(scanning) = rest.pop_front() {
                let item = scanning.to_item(collected.segments);
                members.push(Member { scanning, item, encoded: collected.encoded });
            }
        }
        let mut batches = vec![members];
        while let Some(members) = batches.pop() {
            // One item must not hide the others by breaking a policy: a batch that did is judged in halves.
            if let Some(mut first) = judge_batch(judging, members).await {
                let second = first.split_off(first.len() / 2);
                batches.extend([second, first]);
            }
        }
    }
}

/// What all batches of a round have in common.
#[derive(Clone, Copy)]
struct Judging<'a> {
    gates: &'a Gates,
    context: &'a Context,
    policies: &'a [Arc<ActivePolicy>],
    catalogue: &'a Arc<Vec<CatalogueEntry>>,
    round: u32,
}

/// An item in a batch.
struct Member<'s, 'a> {
    scanning: &'s mut Scanning<'a>,
    item: Item,
    encoded: Vec<usize>,
}

impl Member<'_, '_> {
    fn item_server(&self) -> &ServerName {
        &self.scanning.item.server
    }
}

/// Judges a batch. Returns it where a policy broke on several items at once.
async fn judge_batch<'s, 'a>(judging: Judging<'_>, members: Vec<Member<'s, 'a>>) -> Option<Vec<Member<'s, 'a>>> {
    let Judging { gates, context, policies, catalogue, round } = judging;
    let server = members.first()?.item_server().clone();
    let count = members.len();
    let (mut judged, mut items) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for Member { scanning, item, encoded } in members {
        judged.push((scanning, encoded));
        items.push(item);
    }
    let facts = facts(gates, context, &server, round);
    let subject = Arc::new(Subject::Listing(Batch { server, items, catalogue: Arc::clone(catalogue) }));
    let readings = readings(policies, context, &gates.meters);
    let evaluations = evaluate(policies, &readings, &facts, &subject).await;
    let kept = gates.keeps_inputs.then(|| {
        let subject = Subject::clone(&subject);
        Arc::new(Judged { facts, readings, subject, document: None })
    });
    let Subject::Listing(Batch { server, items, catalogue: _ }) = Arc::unwrap_or_clone(subject) else {
        return None;
    };
    let mut answers: Vec<_> =
        policies.iter().zip(evaluations).map(|(policy, evaluation)| Answered::new(policy, evaluation, count)).collect();
    let members = judged.into_iter().zip(items).map(|((scanning, encoded), item)| Member { scanning, item, encoded });
    if count > 1 && answers.iter().any(Answered::may_be_due_to_one_item) {
        return Some(members.collect());
    }
    for Member { scanning, item, encoded } in members {
        let heard: Vec<(Heard, Cost)> = answers.iter_mut().map(|answer| answer.next(&server, &item)).collect();
        scanning.passage.inputs.extend(kept.clone());
        scanning.judge(heard, &item.segments, &encoded, round);
    }
    None
}

/// What a policy answered to a batch, handed out item by item.
struct Answered<'a> {
    policy: &'a Arc<ActivePolicy>,
    verdicts: Result<std::vec::IntoIter<Verdict>, Fault>,
    /// Of each item; the cost of the batch is shared among its items.
    cost: Cost,
}

impl<'a> Answered<'a> {
    fn new(policy: &'a Arc<ActivePolicy>, evaluation: Evaluation, count: usize) -> Self {
        let Evaluation { outcome, cost } = evaluation;
        let verdicts = match outcome {
            Ok(Answer::Verdicts(verdicts)) if verdicts.len() == count => Ok(verdicts.into_iter()),
            Ok(Answer::Verdicts(verdicts)) => {
                Err(Fault::Malformed(format!("it gave {} verdicts for {count} items", verdicts.len())))
            }
            Ok(Answer::Verdict(_) | Answer::Selection(_)) => {
                Err(Fault::Malformed("it answered for another gate".to_owned()))
            }
            Err(fault) => Err(fault),
        };
        let share = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let cost = Cost { wall: cost.wall / share, cpu: cost.cpu / share, memory: cost.memory };
        Self { policy, verdicts, cost }
    }

    /// Returns true where the policy counts and broke in a way that the content of an item can cause.
    fn may_be_due_to_one_item(&self) -> bool {
        let by_content = match &self.verdicts {
            Ok(_) | Err(Fault::QueueFull | Fault::Instantiate(_) | Fault::Missing) => false,
            Err(
                Fault::Trap(_) | Fault::Deadline { .. } | Fault::Memory { .. } | Fault::Output | Fault::Malformed(_),
            ) => true,
        };
        by_content && self.policy.mode == Mode::Enforce
    }

    fn next(&mut self, server: &ServerName, item: &Item) -> (Heard, Cost) {
        let view = View {
            segments: &item.segments,
            editable: Some((&item.document, item_place(item.kind))),
            server: server.as_str(),
            name: &item.name,
        };
        let heard = match &mut self.verdicts {
            Ok(verdicts) => match verdicts.next() {
                Some(verdict) => check(self.policy, view, verdict),
                None => Heard::broken(self.policy, Fault::Malformed("it gave too few verdicts".to_owned())),
            },
            Err(fault) => Heard::broken(self.policy, fault.clone()),
        };
        (heard, self.cost)
    }
}
