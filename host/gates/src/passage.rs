//! One value on its way through one gate: what is kept of it, and how it ends.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use portcullis_model::{Digest, GateName, PolicyName, ServerName};

use crate::approval::keep;
use crate::display::{LONGEST_NAME, escaped};
use crate::inbox::{Given, Ticket, thing};
use crate::{
    ApprovalEvent, ApprovalRecord, Bound, Context, Gates, JournalError, Judged, PolicyRecord, Record, RecordedDecision,
    Refusal, RefusalCode,
};

/// Why a passage ends without clearing.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: RefusalCode,
    pub(crate) policy: Option<PolicyName>,
    pub(crate) detail: String,
}

impl Refused {
    /// Returns a refusal of the host itself.
    pub(crate) fn by_host(code: RefusalCode, detail: &str) -> Self {
        Self { code, policy: None, detail: detail.to_owned() }
    }

    /// Returns a refusal that a policy caused.
    pub(crate) fn by_policy(code: RefusalCode, policy: &PolicyName, detail: String) -> Self {
        Self { code, policy: Some(policy.clone()), detail }
    }
}

/// One value on its way through one gate.
#[derive(Debug)]
pub(crate) struct Passage<'a> {
    pub(crate) gates: &'a Gates,
    pub(crate) context: &'a Context,
    pub(crate) gate: GateName,
    pub(crate) server: ServerName,
    pub(crate) name: String,
    /// Digest of the value as it came.
    pub(crate) subject: Digest,
    pub(crate) generation: u64,
    pub(crate) records: Vec<PolicyRecord>,
    /// What the policies were told, where that is kept.
    pub(crate) inputs: Vec<Arc<Judged>>,
    pub(crate) approvals: Vec<ApprovalRecord>,
    /// What was approved and is not released yet.
    pub(crate) tickets: Vec<(Ticket, Vec<Bound>)>,
    started: Instant,
    /// Time that approvers took.
    pub(crate) waited: Duration,
}

impl<'a> Passage<'a> {
    pub(crate) fn begin(
        gates: &'a Gates,
        context: &'a Context,
        gate: GateName,
        server: &ServerName,
        name: &str,
        subject: Digest,
    ) -> Self {
        Self {
            gates,
            context,
            gate,
            server: server.clone(),
            name: name.to_owned(),
            subject,
            generation: context.set.generation,
            records: Vec::new(),
            inputs: Vec::new(),
            approvals: Vec::new(),
            tickets: Vec::new(),
            started: Instant::now(),
            waited: Duration::ZERO,
        }
    }

    /// Returns the digest of what passes, whatever it is like.
    pub(crate) fn thing(&self, kind: &str) -> Digest {
        let shown = |text: &str| escaped(text, LONGEST_NAME);
        thing(self.gate, &shown(self.server.as_str()), kind, &shown(&self.name))
    }

    /// Returns what the record says of a passage that is cleared.
    pub(crate) fn decision(&self, is_edited: bool) -> RecordedDecision {
        match (self.approvals.is_empty(), is_edited) {
            (false, _) => RecordedDecision::Approved,
            (true, true) => RecordedDecision::Edited,
            (true, false) => RecordedDecision::Cleared,
        }
    }

    /// Releases what was approved, unless it was refused since: from here on it happens.
    pub(crate) async fn release(&mut self) -> Result<(), Refused> {
        for (ticket, questions) in std::mem::take(&mut self.tickets) {
            match ticket.release() {
                Some(given) if given.allow => {
                    let grants = keep(self, &questions, &given).await;
                    self.note(&questions, &given, &grants);
                }
                given => {
                    if let Some(given) = given {
                        self.note(&questions, &given, &[]);
                    }
                    let policy = questions.first().map(|bound| bound.policy.clone());
                    let detail = "it was refused after it was approved".to_owned();
                    return Err(Refused { code: RefusalCode::Declined, policy, detail });
                }
            }
        }
        Ok(())
    }

    /// Notes what became of questions.
    pub(crate) fn note(&mut self, questions: &[Bound], given: &Given, grants: &[String]) {
        let event = if given.allow { ApprovalEvent::Approved(given.scope) } else { ApprovalEvent::Declined };
        self.approvals.extend(questions.iter().enumerate().map(|(index, bound)| ApprovalRecord {
            policy: bound.policy.clone(),
            code: bound.code.clone(),
            event,
            class: given.class,
            surface: given.surface.clone(),
            grant: grants.get(index).cloned(),
        }));
    }

    /// Writes the record and the log line of a passage that is cleared. Nothing is cleared without its record.
    pub(crate) async fn clear(self, decision: RecordedDecision) -> Result<(), Refusal> {
        let gate = self.gate;
        let name = match decision {
            RecordedDecision::Cleared => "cleared",
            RecordedDecision::Edited => "edited",
            RecordedDecision::Approved => "approved",
            RecordedDecision::Refused(_)
            | RecordedDecision::Quarantined(_)
            | RecordedDecision::Revoked
            | RecordedDecision::Compared => "refused",
        };
        self.log(name, "", None);
        self.write(decision, None).await.map_err(|JournalError(reason)| {
            tracing::error!(target: "portcullis::journal", %gate, reason, "a passage was refused without its record");
            Refusal {
                gate,
                code: RefusalCode::JournalFailed,
                policy: None,
                detail: escaped(&reason, crate::display::LONGEST_TEXT),
            }
        })
    }

    /// Writes the record and the log line of a passage that ends here.
    pub(crate) async fn refuse(self, refused: Refused) -> Refusal {
        let Refused { code, policy, detail } = refused;
        let (gate, stable) = (self.gate, code.as_str().to_owned());
        let (word, decision) = if matches!(code, RefusalCode::Quarantined(_)) {
            ("quarantined", RecordedDecision::Quarantined(stable.clone()))
        } else {
            ("refused", RecordedDecision::Refused(stable.clone()))
        };
        self.log(word, &stable, policy.as_ref());
        if let Err(JournalError(reason)) = self.write(decision, policy.clone()).await {
            // The value stays refused; only its record is lost, and that must not be silent.
            tracing::error!(target: "portcullis::journal", %gate, reason, "the record of a refusal was lost");
        }
        Refusal { gate, code, policy, detail }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.waited)
    }

    async fn write(self, decision: RecordedDecision, decided_by: Option<PolicyName>) -> Result<(), JournalError> {
        let elapsed = self.elapsed();
        let record = Record {
            at: SystemTime::now(),
            session: self.context.session.id.as_str().to_owned(),
            gate: self.gate,
            server: self.server.as_str().to_owned(),
            name: self.name,
            subject: self.subject,
            generation: self.generation,
            decision,
            decided_by,
            policies: self.records,
            approvals: self.approvals,
            elapsed,
            inputs: self.inputs,
        };
        self.gates.journal.write(record).await
    }

    /// One event a decision. What was refused or held back is a warning, so that a log which leaves out the many
    /// passages that were cleared still shows it.
    fn log(&self, decision: &str, code: &str, policy: Option<&PolicyName>) {
        macro_rules! decided {
            ($level:ident) => {
                tracing::event!(
                    target: "portcullis::decision",
                    tracing::Level::$level,
                    gate = self.gate.as_str(),
                    policy = policy.map(PolicyName::as_str).unwrap_or_default(),
                    decision,
                    code,
                    server = escaped(self.server.as_str(), LONGEST_NAME),
                    tool = escaped(&self.name, LONGEST_NAME),
                    session = self.context.session.id.as_str(),
                    elapsed_us = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX),
                )
            };
        }
        if code.is_empty() {
            decided!(INFO);
        } else {
            decided!(WARN);
        }
    }
}
