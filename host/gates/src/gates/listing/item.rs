//! One item on its way through the listing gate.

use std::sync::Arc;

use portcullis_model::{Digest, DriftedField, FieldDigest, GateName, Item, PinState, Pinned, Segment};

use super::Scanned;
use crate::approval::{Asked, Memory, recall, shown_drift, shown_value};
use crate::chain::{Heard, View, renames};
use crate::display::{LONGEST_NAME, escaped};
use crate::edits::{apply, put_up};
use crate::gates::{Listed, Withheld, WithheldReason};
use crate::inbox::{Asking, Hold, Unapproved};
use crate::judge::{Outcome, add_fences, admit, counted_edits, strongest};
use crate::passage::{Passage, Refused};
use crate::segments::{definition, item_place};
use crate::{Cleared, Context, Cost, Gates, ListedItem, Prompt, RefusalCode};

/// One item on its way: what is judged of it now, and what stays the same over the rounds.
pub(super) struct Scanning<'a> {
    pub(super) item: ListedItem,
    pub(super) passage: Passage<'a>,
    pub(super) outcome: Outcome,
    definition: Definition,
    /// Why it will be withheld.
    refused: Option<Refused>,
    /// True while its chain is to run again.
    pub(super) open: bool,
}

/// What an item is compared by: always that which the server sent, never what edits made of it.
struct Definition {
    digest: Digest,
    fields: Vec<FieldDigest>,
    pin: PinState,
    pinned: Option<Pinned>,
    drift: Vec<DriftedField>,
}

impl<'a> Scanning<'a> {
    pub(super) fn begin(gates: &'a Gates, context: &'a Context, listed: Listed) -> Self {
        let Listed { item, pinned } = listed;
        let digest = item.document.digest();
        let (pin, drift) = definition::drift(&item.document, digest, pinned.as_ref());
        let fields = definition::field_digests(&item.document);
        let passage = Passage::begin(gates, context, GateName::Listing, &item.server, &item.name, digest);
        let definition = Definition { digest, fields, pin, pinned, drift };
        Self { item, passage, outcome: Outcome::default(), definition, refused: None, open: true }
    }

    pub(super) fn to_item(&self, segments: Vec<Segment>) -> Item {
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

    pub(super) fn close(&mut self, result: Result<(), Refused>) {
        self.open = false;
        self.refused = result.err();
    }

    /// Takes what the chain said in one round.
    pub(super) fn judge(&mut self, mut heard: Vec<(Heard, Cost)>, segments: &[Segment], encoded: &[usize], round: u32) {
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

    /// Returns why the item stays in quarantine, where a question about it is open or was answered with no. An open one
    /// stands in the inbox until somebody answers it.
    fn quarantine(&mut self) -> Option<Refused> {
        let (mut asked, mut questions) = (Vec::new(), Vec::new());
        for one in std::mem::take(&mut self.outcome.questions) {
            let bound = self.passage.bound(&one, self.item.kind.as_str(), Some(self.definition.digest));
            match recall(&mut self.passage, &one, &bound, &self.item.document) {
                Memory::Approved => {}
                Memory::Refused(refused) => return Some(refused),
                Memory::Nothing => {
                    asked.push(one);
                    questions.push(bound);
                }
            }
        }
        let first = asked.first()?;
        let (policy, text) = (first.policy.clone(), first.question.text.clone());
        let quarantined = RefusalCode::Quarantined(first.question.code.as_str().to_owned());
        let passage = &mut self.passage;
        let asking = Asking {
            hold: Hold::Stand,
            prompt: Prompt {
                gate: GateName::Listing,
                server: escaped(passage.server.as_str(), LONGEST_NAME),
                name: escaped(&passage.name, LONGEST_NAME),
                arguments: shown_value(&self.item.document),
                definition: shown_drift(self.definition.pin, self.definition.digest, &self.definition.drift),
                questions: asked.iter().map(Asked::to_prompt).collect(),
            },
            kind: self.item.kind.as_str(),
            session: &passage.context.session,
            lowest: Asked::lowest_approver(&asked),
            questions: questions.clone(),
            arguments: self.item.document.clone(),
            subject: passage.subject,
            generation: passage.generation,
        };
        match passage.gates.inbox().stand(asking, passage.gates.limits) {
            Ok(ticket) => {
                passage.tickets.push((ticket, questions));
                None
            }
            Err(Unapproved { code: RefusalCode::Declined, given }) => {
                if let Some(given) = given {
                    passage.note(&questions, &given, &[]);
                }
                Some(Refused::by_policy(RefusalCode::Declined, &policy, text))
            }
            Err(Unapproved { code: RefusalCode::ApprovalPending(handle), .. }) => {
                Some(Refused::by_policy(quarantined, &policy, format!("{text} (question {handle})")))
            }
            Err(_) => Some(Refused::by_policy(quarantined, &policy, text)),
        }
    }

    /// Writes the record and gives the item out, or says why not.
    pub(super) async fn end(mut self) -> Scanned {
        let refused = match self.refused.take().or_else(|| self.quarantine()) {
            Some(refused) => Some(refused),
            None => match self.passage.release().await {
                Ok(()) => admit(&self.passage, &self.outcome).err(),
                Err(refused) => Some(refused),
            },
        };
        let (kind, name) = (self.item.kind, self.item.name.clone());
        if let Some(refused) = refused {
            let is_quarantined = matches!(refused.code, RefusalCode::Quarantined(_));
            let reason = if is_quarantined { WithheldReason::Quarantined } else { WithheldReason::Hidden };
            let refusal = self.passage.refuse(refused).await;
            return Err(Withheld { kind, name, reason, refusal });
        }
        self.outcome.fenced = put_up(&self.outcome.fences, &mut self.item.document) > 0;
        let receipt = self.outcome.receipt(GateName::Listing, self.passage.generation);
        let decision = self.passage.decision(receipt.edited);
        self.passage.gates.inbox().settle(&self.passage.thing(kind.as_str()));
        let session = Arc::clone(&self.passage.context.session);
        match self.passage.clear(decision).await {
            Ok(()) => {
                session.learn(self.outcome.labels, &[]);
                Ok(Cleared::new(self.item, receipt))
            }
            Err(refusal) => Err(Withheld { kind, name, reason: WithheldReason::Hidden, refusal }),
        }
    }
}
