//! The journal as it is read back.

use std::time::{Duration, SystemTime};

use portcullis_gates::{ApprovalRecord, Cost, PolicyOutcome, PolicyRecord, Record, RecordedDecision};
use portcullis_model::{Digest, Finding, GateName, Span};

use crate::{ChainId, Link, StoreError, encode};

/// One passage of a gate, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Counts up over all gateways of the home, in the order in which records reached the database: those of two
    /// gateways may be a second out of their order in time.
    pub id: i64,
    /// When it ended, to the microsecond.
    pub at: SystemTime,
    /// The session.
    pub session: String,
    /// The gate.
    pub gate: String,
    /// The server; empty for none.
    pub server: String,
    /// The server's own name of what was judged.
    pub name: String,
    /// Digest of the subject as it came.
    pub subject: Digest,
    /// Generation of the policy set of its gateway.
    pub generation: u64,
    /// What the host made of it.
    pub decision: RecordedDecision,
    /// The policy that decided against it, where one did.
    pub decided_by: Option<String>,
    /// What each policy did.
    pub policies: Vec<PolicyEntry>,
    /// What became of each question.
    pub approvals: Vec<ApprovalRecord>,
    /// Wall time of the passage, approvals left out.
    pub elapsed: Duration,
    /// Where it stands in the chain of its process; nothing for entries from before there were chains.
    pub place: Option<(ChainId, Link)>,
    /// Names what the policies were told, where that was kept.
    pub payload: Option<Digest>,
}

impl JournalEntry {
    /// Returns how the passage ended, in a word, and its stable code.
    pub fn outcome(&self) -> (&'static str, Option<&str>) {
        encode::decision(&self.decision)
    }

    /// Returns a record as it is read back once it is written under that id, but for what the journal cuts.
    pub fn of_record(id: i64, record: &Record) -> Self {
        Self {
            id,
            at: record.at,
            session: record.session.clone(),
            gate: record.gate.to_string(),
            server: record.server.clone(),
            name: record.name.clone(),
            subject: record.subject,
            generation: record.generation,
            decision: record.decision.clone(),
            decided_by: record.decided_by.as_ref().map(ToString::to_string),
            policies: record.policies.iter().map(PolicyEntry::of_record).collect(),
            approvals: record.approvals.clone(),
            elapsed: record.elapsed,
            place: None,
            payload: None,
        }
    }
}

impl PolicyEntry {
    /// Returns true where it objected, broke or noticed something.
    pub fn said_something(&self) -> bool {
        self.outcome != OutcomeEntry::Allow || !self.findings.is_empty() || self.edits > 0
    }

    /// Returns true where it noticed something by a rule, or objected with it as its code.
    fn names(&self, rule: &str) -> bool {
        let objected = match &self.outcome {
            OutcomeEntry::Ask(codes) => codes.iter().any(|code| code == rule),
            OutcomeEntry::Deny(code) | OutcomeEntry::Fault { code, .. } => code == rule,
            OutcomeEntry::Allow => false,
        };
        objected || self.findings.iter().any(|finding| finding.rule == rule)
    }

    /// Returns what a policy did as it is read back, but for what the journal cuts.
    pub fn of_record(record: &PolicyRecord) -> Self {
        let finding = |finding: &Finding| FindingEntry {
            rule: finding.rule.to_string(),
            severity: finding.severity.as_str().to_owned(),
            message: finding.message.clone(),
            evidence: finding.evidence.clone(),
        };
        Self {
            policy: record.policy.to_string(),
            digest: record.digest,
            shadow: record.shadow,
            round: record.round,
            outcome: match &record.outcome {
                PolicyOutcome::Allow => OutcomeEntry::Allow,
                PolicyOutcome::Ask(codes) => OutcomeEntry::Ask(codes.clone()),
                PolicyOutcome::Deny(code) => OutcomeEntry::Deny(code.clone()),
                PolicyOutcome::Fault(fault) => {
                    OutcomeEntry::Fault { code: fault.code().to_owned(), message: fault.to_string() }
                }
            },
            findings: record.findings.iter().map(finding).collect(),
            edits: record.edits,
            dropped: record.dropped.clone(),
            cost: record.cost,
        }
    }
}

/// What one policy did in a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyEntry {
    /// The policy.
    pub policy: String,
    /// Digest over module, settings and packs.
    pub digest: Digest,
    /// True where its verdict was recorded and not applied.
    pub shadow: bool,
    /// The round of the chain.
    pub round: u32,
    /// What it answered.
    pub outcome: OutcomeEntry,
    /// What it noticed.
    pub findings: Vec<FindingEntry>,
    /// Edits that were applied.
    pub edits: u32,
    /// What exceeded its rights and was dropped.
    pub dropped: Vec<String>,
    /// What it cost.
    pub cost: Cost,
}

/// What a policy answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeEntry {
    /// No objection.
    Allow,
    /// It asked, with these codes.
    Ask(Vec<String>),
    /// It denied, with this code.
    Deny(String),
    /// It broke.
    Fault {
        /// Stable code of the fault.
        code: String,
        /// What happened, for people.
        message: String,
    },
}

/// What a policy noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingEntry {
    /// The rule.
    pub rule: String,
    /// How bad it is: a name of [`portcullis_model::Severity`].
    pub severity: String,
    /// For the operator.
    pub message: String,
    /// Where it stood in the subject.
    pub evidence: Vec<Span>,
}

/// Which passages are wanted. What is nothing or empty takes all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// So many at most; more than [`Query::MOST`] counts as that.
    pub limit: usize,
    /// Only those after this entry.
    pub after: Option<i64>,
    /// Only those before this entry: where one answer ends, the next one goes on.
    pub before: Option<i64>,
    /// Only those that ended then or later.
    pub since: Option<SystemTime>,
    /// Only those of this gate.
    pub gate: Option<GateName>,
    /// Only those of this server.
    pub server: Option<String>,
    /// Only those of what has this name, in the server's own words.
    pub name: Option<String>,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those that were refused or quarantined.
    pub refused: bool,
    /// Only those that ended in this way, as [`JournalEntry::outcome`] calls it.
    pub outcome: Option<String>,
    /// Only those in which this policy objected, broke or noticed something.
    pub policy: Option<String>,
    /// Only those in which a policy noticed something by this rule, or objected with this code.
    pub rule: Option<String>,
}

impl Query {
    /// The most that one query answers: an entry has a few hundred bytes, and the answer is held in memory.
    pub const MOST: usize = 10_000;

    pub(crate) fn limit(&self) -> usize {
        self.limit.min(Self::MOST)
    }

    /// Returns the numbers between which entries are.
    pub(crate) fn range(&self) -> [i64; 2] {
        [self.after.unwrap_or(i64::MIN), self.before.unwrap_or(i64::MAX)]
    }

    /// Returns true where an entry is wanted, its number and how many there are left aside.
    pub(crate) fn wants(&self, entry: &JournalEntry) -> bool {
        fn is(wanted: Option<&str>, text: &str) -> bool {
            wanted.is_none_or(|wanted| wanted == text)
        }
        let refused = matches!(entry.decision, RecordedDecision::Refused(_) | RecordedDecision::Quarantined(_));
        self.since.is_none_or(|since| entry.at >= since)
            && is(self.gate.map(GateName::as_str), &entry.gate)
            && is(self.server.as_deref(), &entry.server)
            && is(self.name.as_deref(), &entry.name)
            && is(self.session.as_deref(), &entry.session)
            && (refused || !self.refused)
            && is(self.outcome.as_deref(), entry.outcome().0)
            && self.policy.as_ref().is_none_or(|wanted| {
                entry.policies.iter().any(|policy| policy.policy == *wanted && policy.said_something())
            })
            && self.rule.as_ref().is_none_or(|wanted| entry.policies.iter().any(|policy| policy.names(wanted)))
    }
}

impl Default for Query {
    fn default() -> Self {
        Self {
            limit: 100,
            after: None,
            before: None,
            since: None,
            gate: None,
            server: None,
            name: None,
            session: None,
            refused: false,
            outcome: None,
            policy: None,
            rule: None,
        }
    }
}

/// Reads the journal.
pub trait JournalReader: Send + Sync {
    /// Returns the latest entries, the newest first. Moves what is in segments into the database before, and takes a few
    /// microseconds an entry that is looked at; call it off the threads that carry traffic.
    fn latest(&self, query: &Query) -> Result<Vec<JournalEntry>, StoreError>;

    /// Returns the same from the other end: the earliest entries, the oldest first.
    fn earliest(&self, query: &Query) -> Result<Vec<JournalEntry>, StoreError>;

    /// Returns the entry of that number.
    fn entry(&self, id: i64) -> Result<Option<JournalEntry>, StoreError> {
        let only = Query { after: id.checked_sub(1), before: id.checked_add(1), limit: 1, ..Query::default() };
        Ok(self.latest(&only)?.pop())
    }
}
