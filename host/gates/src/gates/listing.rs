//! The listing gate: what of a server's offer is published.

use std::sync::Arc;

use futures_util::future::join_all;
use portcullis_model::{
    Answer, Batch, CatalogueEntry, DriftedField, FieldDigest, GateName, Item, PinState, Pinned, Segment, ServerName,
    Subject, Verdict,
};

use super::{Listed, Withheld, WithheldReason};
use crate::chain::{Heard, View, check, evaluate, facts, renames};
use crate::edits::{apply, put_up};
use crate::judge::{MOST_ROUNDS, Outcome, add_fences, admit, counted_edits, open_gate, strongest};
use crate::passage::{Passage, Refused};
use crate::segments::walk::MOST_TEXT;
use crate::segments::{collect_whole, definition, item_place};
use crate::set::Chain;
use crate::{
    ActivePolicy, Cleared, Context, Cost, Evaluation, Fault, Gates, ListedItem, RecordedDecision, RefusalCode,
};

type Scanned = Result<Cleared<ListedItem>, Withheld>;

/// One item on its way: what is judged of it now, and what stays the same over the rounds.
struct Scanning<'a> {
    item: ListedItem,
    passage: Passage<'a>,
    outcome: Outcome,
    definition: Definition,
    /// Why it will be withheld.
    refused: Option<Refused>,
    /// True while its chain is to run again.
    open: bool,
}

/// What an item is compared by: always that which the server sent, never what edits made of it.
struct Definition {
    digest: portcullis_model::Digest,
    fields: Vec<FieldDigest>,
    pin: PinState,
    pinned: Option<Pinned>,
    drift: Vec<DriftedField>,
}

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
        run_round(gates, context, chain, &catalogue, &mut scanning, round).await;
    }
    for one in scanning.iter_mut().filter(|one| one.open) {
        let detail = format!("edits went on changing the item after {MOST_ROUNDS} rounds");
        one.close(Err(Refused::by_host(RefusalCode::NotConverging, &detail)));
    }
    join_all(scanning.into_iter().map(Scanning::end)).await
}

/// Judges the items that are still open, batch by batch. Those whose edits changed them stay open.
async fn run_round(
    gates: &Gates,
    context: &Context,
    chain: &Chain,
    catalogue: &Arc<Vec<CatalogueEntry>>,
    scanning: &mut [Scanning<'_>],
    round: u32,
) {
    // Collected: a closure held over an await would keep callers from moving the future between threads.
    let open: Vec<_> = scanning.iter_mut().filter(|one| one.open).collect();
    let mut rest = open.into_iter().peekable();
    while rest.peek().is_some() {
        let mut members: Vec<(&mut Scanning<'_>, Item, Vec<usize>)> = Vec::new();
        let mut room = MOST_TEXT;
        while members.len() < Batch::LARGEST
            && let Some(one) = rest.peek()
        {
            let Ok(collected) = collect_whole(&one.item.document, item_place(one.item.kind)) else {
                if let Some(one) = rest.next() {
                    one.close(Err(Refused::by_host(RefusalCode::TooLarge, "the item is larger than a gate judges")));
                }
                continue;
            };
            let size: usize = collected.segments.iter().map(|segment| segment.text.len()).sum();
            if size > room {
                break;
            }
            room -= size;
            if let Some(one) = rest.next() {
                let item = one.to_item(collected.segments);
                members.push((one, item, collected.encoded));
            }
        }
        judge_batch(gates, context, &chain.policies, catalogue, members, round).await;
    }
}

async fn judge_batch(
    gates: &Gates,
    context: &Context,
    policies: &[Arc<ActivePolicy>],
    catalogue: &Arc<Vec<CatalogueEntry>>,
    members: Vec<(&mut Scanning<'_>, Item, Vec<usize>)>,
    round: u32,
) {
    let Some((first, _, _)) = members.first() else {
        return;
    };
    let server = first.item.server.clone();
    let count = members.len();
    let (mut judged, mut items) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (one, item, encoded) in members {
        judged.push((one, encoded));
        items.push(item);
    }
    let facts = facts(context, &server, round);
    let subject = Subject::Listing(Batch { server, items, catalogue: Arc::clone(catalogue) });
    let evaluations = evaluate(policies, context, &gates.meters, &facts, &subject).await;
    let Subject::Listing(Batch { server, items, catalogue: _ }) = subject else {
        return;
    };
    let mut answers: Vec<_> =
        policies.iter().zip(evaluations).map(|(policy, evaluation)| Answered::new(policy, evaluation, count)).collect();
    for ((one, encoded), item) in judged.into_iter().zip(items) {
        let heard: Vec<(Heard, Cost)> = answers.iter_mut().map(|answer| answer.next(&server, &item)).collect();
        one.judge(heard, &item.segments, &encoded, round);
    }
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

impl<'a> Scanning<'a> {
    fn begin(gates: &'a Gates, context: &'a Context, listed: Listed) -> Self {
        let Listed { item, pinned } = listed;
        let digest = item.document.digest();
        let (pin, drift) = definition::drift(&item.document, digest, pinned.as_ref());
        let fields = definition::field_digests(&item.document);
        let passage = Passage::begin(gates, context, GateName::Listing, &item.server, &item.name, digest);
        let definition = Definition { digest, fields, pin, pinned, drift };
        Self { item, passage, outcome: Outcome::default(), definition, refused: None, open: true }
    }

    fn to_item(&self, segments: Vec<Segment>) -> Item {
        let Definition { digest, fields, pin, pinned, drift } = &self.definition;
        Item {
            kind: self.item.kind,
            name: self.item.name.clone(),
            document: self.item.document.clone(),
            segments,
            annotations: definition::annotations(&self.item.document),
            digest: *digest,
            fields: fields.clone(),
            pin: *pin,
            pinned: pinned.clone(),
            drift: drift.clone(),
        }
    }

    fn close(&mut self, result: Result<(), Refused>) {
        self.open = false;
        self.refused = result.err();
    }

    /// Takes what the chain said in one round.
    fn judge(&mut self, mut heard: Vec<(Heard, Cost)>, segments: &[Segment], encoded: &[usize], round: u32) {
        self.outcome.rounds = round;
        match strongest(heard.iter().map(|(heard, _)| heard)) {
            Some(refused) => self.close(Err(refused)),
            None => match self.edit(&mut heard, segments, encoded) {
                Ok(true) => self.outcome.edited = true,
                Ok(false) => self.close(Ok(())),
                Err(refused) => self.close(Err(refused)),
            },
        }
        self.passage.records.extend(heard.into_iter().map(|(heard, cost)| heard.into_record(round, cost)));
    }

    fn edit(&mut self, heard: &mut [(Heard, Cost)], segments: &[Segment], encoded: &[usize]) -> Result<bool, Refused> {
        for (heard, _) in heard.iter_mut().filter(|(heard, _)| heard.counts()) {
            self.outcome.take(GateName::Listing, heard)?;
        }
        let view = View {
            segments,
            editable: Some((&self.item.document, item_place(self.item.kind))),
            server: self.item.server.as_str(),
            name: &self.item.name,
        };
        let all = || counted_edits(heard.iter().map(|(heard, _)| heard));
        if all().any(|edit| renames(view, edit)) {
            let detail = "a policy would blank the name that the item is called by";
            return Err(Refused::by_host(RefusalCode::EditFailed, detail));
        }
        let applied = apply(&mut self.item.document, segments, encoded, all())
            .map_err(|error| Refused::by_host(RefusalCode::EditFailed, &error.to_string()))?;
        add_fences(&mut self.outcome.fences, applied.fences);
        Ok(applied.changed)
    }

    /// Returns the question that quarantines the item, where one is open.
    fn quarantine(&self) -> Option<Refused> {
        let Passage { context, server, name, .. } = &self.passage;
        let digest = Some(self.definition.digest);
        self.outcome.questions.iter().find_map(|asked| {
            let key = asked.key(GateName::Listing, server.as_str(), name, digest);
            if context.session.has_approved(&key, asked.question.lowest_approver) {
                return None;
            }
            let code = RefusalCode::Quarantined(asked.question.code.as_str().to_owned());
            Some(Refused::by_policy(code, &asked.policy, asked.question.text.clone()))
        })
    }

    /// Writes the record and gives the item out, or says why not.
    async fn end(mut self) -> Scanned {
        let refused =
            self.refused.take().or_else(|| self.quarantine()).or_else(|| admit(&self.passage, &self.outcome).err());
        let (kind, name) = (self.item.kind, self.item.name.clone());
        if let Some(refused) = refused {
            let is_quarantined = matches!(refused.code, RefusalCode::Quarantined(_));
            let reason = if is_quarantined { WithheldReason::Quarantined } else { WithheldReason::Hidden };
            let refusal = self.passage.refuse(refused).await;
            return Err(Withheld { kind, name, reason, refusal });
        }
        self.outcome.fenced = put_up(&self.outcome.fences, &mut self.item.document) > 0;
        let receipt = self.outcome.receipt(GateName::Listing, self.passage.generation);
        let decision = if receipt.edited { RecordedDecision::Edited } else { RecordedDecision::Cleared };
        let session = Arc::clone(&self.passage.context.session);
        match self.passage.clear(decision).await {
            Ok(()) => {
                session.add_labels(self.outcome.labels);
                Ok(Cleared::new(self.item, receipt))
            }
            Err(refusal) => Err(Withheld { kind, name, reason: WithheldReason::Hidden, refusal }),
        }
    }
}
