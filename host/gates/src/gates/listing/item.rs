//! One item on its way through the listing gate.

use std::sync::Arc;

use portcullis_model::{Digest, DriftedField, FieldDigest, GateName, Item, PinState, Pinned, Segment};

use super::Scanned;
use crate::chain::{Heard, View, renames};
use crate::edits::{apply, put_up};
use crate::gates::{Listed, Withheld, WithheldReason};
use crate::judge::{Outcome, add_fences, admit, counted_edits, strongest};
use crate::passage::{Passage, Refused};
use crate::segments::{definition, item_place};
use crate::{Cleared, Context, Cost, Gates, ListedItem, RecordedDecision, RefusalCode};

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
    pub(super) async fn end(mut self) -> Scanned {
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
