//! One policy and one subject without a gate: for tools that hold what a policy answers against what somebody expects.
//!
//! A trial has the subject that the gate would show for a payload. What the policy answers is reviewed as at the gate, with one
//! difference: what exceeds the rights of the policy is a mistake of its author here, and is told instead of dropped.
//! Nothing passes a gate by it: a trial builds no [`Cleared`](crate::Cleared).

use std::sync::Arc;

use portcullis_model::json::Value;
use portcullis_model::{Answer, Batch, CatalogueEntry, DriftedField, Item, PinState, ServerName, Subject, Verdict};

use crate::chain::{Stance, View, check, check_findings};
use crate::segments::{self, Place, Segmented, collect_whole, item_place};
use crate::{
    ActivePolicy, Call, Environment, Launching, ListedItem, ServerMessage, ServerRequest, annotations, field_digests,
};

/// A subject to try a policy on.
#[derive(Debug)]
pub struct Trial {
    subject: Subject,
    /// What edits would change, of each item of a batch; nothing at gates without edits.
    documents: Vec<(Value, Place)>,
}

/// The payload has more text than a gate judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has more text than a gate judges")]
pub struct TooLarge;

impl Trial {
    /// Tries the config gate.
    pub fn of_launching(launching: &Launching) -> Result<Self, TooLarge> {
        Self::whole(segments::launching(launching))
    }

    /// Tries the environment gate. The platform is that of this build.
    pub fn of_environment(environment: &Environment) -> Result<Self, TooLarge> {
        Self::whole(segments::environment(environment))
    }

    /// Tries the call gate.
    pub fn of_call(call: &Call) -> Result<Self, TooLarge> {
        Self::whole(segments::call(call))
    }

    /// Tries the result gate.
    pub fn of_message(message: &ServerMessage) -> Result<Self, TooLarge> {
        let mut trial = Self::whole(segments::message(message))?;
        trial.documents = vec![(message.document.clone(), segments::message_place(message.kind))];
        Ok(trial)
    }

    /// Tries the request gate.
    pub fn of_request(request: &ServerRequest) -> Result<Self, TooLarge> {
        let mut trial = Self::whole(segments::request(request))?;
        trial.documents = vec![(request.document.clone(), Place::Request)];
        Ok(trial)
    }

    /// Tries the listing gate with the items of one server, each with its state and what changed since it was approved.
    pub fn of_listing(
        server: ServerName,
        listed: Vec<(ListedItem, PinState, Vec<DriftedField>)>,
        catalogue: Vec<CatalogueEntry>,
    ) -> Result<Self, TooLarge> {
        let mut items = Vec::with_capacity(listed.len());
        let mut documents = Vec::with_capacity(listed.len());
        for (ListedItem { server: _, kind, name, document }, pin, drift) in listed {
            let place = item_place(kind);
            let segments = collect_whole(&document, place).map_err(|_| TooLarge)?.segments;
            documents.push((document.clone(), place));
            items.push(Item {
                kind,
                name,
                segments,
                annotations: annotations(&document),
                digest: document.digest(),
                fields: field_digests(&document),
                document,
                pin,
                pinned: None,
                drift,
            });
        }
        Ok(Self { subject: Subject::Listing(Batch { server, items, catalogue: Arc::new(catalogue) }), documents })
    }

    fn whole(segmented: Result<Segmented, segments::TooLarge>) -> Result<Self, TooLarge> {
        let Segmented { subject, encoded: _ } = segmented.map_err(|_| TooLarge)?;
        Ok(Self { subject, documents: Vec::new() })
    }

    /// Returns what the policy judges.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Returns what the policy judges, for facts that a payload does not hold.
    pub fn subject_mut(&mut self) -> &mut Subject {
        &mut self.subject
    }

    /// Returns each way in which an answer breaks the contract, or uses what the policy has no right to; nothing where it is
    /// sound.
    pub fn review(&self, policy: &Arc<ActivePolicy>, answer: &Answer) -> Vec<String> {
        match (&self.subject, answer) {
            (Subject::Listing(batch), Answer::Verdicts(verdicts)) if batch.items.len() == verdicts.len() => {
                let items = batch.items.iter().zip(verdicts).zip(&self.documents);
                items
                    .flat_map(|((item, verdict), document)| {
                        Self::verdict(policy, &item.segments, Some(document), verdict)
                    })
                    .collect()
            }
            (Subject::Listing(batch), Answer::Verdicts(verdicts)) => {
                vec![format!("it gave {} verdicts for {} items", verdicts.len(), batch.items.len())]
            }
            (Subject::Environment(subject), Answer::Selection(selection)) => {
                let mut dropped = Vec::new();
                let findings = selection.findings.clone();
                let checked = check_findings(policy, &subject.config.segments, findings, &mut dropped);
                dropped.extend(checked.err());
                dropped
            }
            (Subject::Config(subject), Answer::Verdict(verdict)) => {
                Self::verdict(policy, &subject.segments, None, verdict)
            }
            (Subject::Call(subject), Answer::Verdict(verdict)) => {
                Self::verdict(policy, &subject.segments, None, verdict)
            }
            (Subject::Result(subject), Answer::Verdict(verdict)) => {
                Self::verdict(policy, &subject.segments, self.documents.first(), verdict)
            }
            (Subject::Request(subject), Answer::Verdict(verdict)) => {
                Self::verdict(policy, &subject.segments, self.documents.first(), verdict)
            }
            (
                Subject::Listing(_)
                | Subject::Environment(_)
                | Subject::Config(_)
                | Subject::Call(_)
                | Subject::Result(_)
                | Subject::Request(_),
                _,
            ) => vec!["it answered for another gate".to_owned()],
        }
    }

    fn verdict(
        policy: &Arc<ActivePolicy>,
        segments: &[portcullis_model::Segment],
        document: Option<&(Value, Place)>,
        verdict: &Verdict,
    ) -> Vec<String> {
        let editable = document.map(|(document, place)| (document, *place));
        let heard = check(policy, View { segments, editable, server: "", name: "" }, verdict.clone());
        let fault = match heard.stance {
            Stance::Fault(fault) => Some(fault.to_string()),
            Stance::Allow | Stance::Ask(_) | Stance::Deny(_) => None,
        };
        let dropped = heard.dropped.into_iter().map(|dropped| format!("dropped for lack of the right: {dropped}"));
        fault.into_iter().chain(dropped).collect()
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::{CallKind, Edit, GateName, Replacement, Rights, Span, object};

    use super::*;
    use crate::testing::{AllowAll, deny, policy, rule_id};

    fn call() -> Trial {
        Trial::of_call(&Call {
            server: ServerName::parse("server").unwrap(),
            kind: CallKind::Tool,
            name: "tool".to_owned(),
            utility: false,
            annotations: portcullis_model::Annotations::default(),
            pin: PinState::Unpinned,
            definition: None,
            params: object! { "arguments" => object! { "text" => "hello" } }.into(),
        })
        .unwrap()
    }

    #[test]
    fn what_breaks_the_contract_or_exceeds_the_rights_is_told() {
        let sound = Arc::new(policy("sound", &[GateName::Call], AllowAll));
        let trial = call();
        assert_eq!(trial.review(&sound, &Answer::Verdict(deny("no"))), Vec::<String>::new());
        let weak = Arc::new(ActivePolicy { rights: Rights::NONE, ..policy("weak", &[GateName::Call], AllowAll) });
        let told = trial.review(&weak, &Answer::Verdict(deny("no")));
        assert!(matches!(told.as_slice(), [one] if one.contains("deny")), "{told:?}");
        let span = Span { segment: 0, start: 0, end: 900 };
        let edit = Edit::Blank { rule: rule_id("rule"), span, replacement: Replacement::Marker };
        let told = trial.review(&sound, &Answer::Verdict(Verdict { edits: vec![edit], ..Verdict::allow() }));
        assert!(matches!(told.as_slice(), [one] if one.contains("does not fit")), "{told:?}");
        assert_eq!(trial.review(&sound, &Answer::Verdicts(Vec::new())), ["it answered for another gate"]);
    }
}
