//! What the gates made of one case.

use std::time::Duration;

use portcullis_gates::{PolicyOutcome, Record, RecordedDecision};
use portcullis_model::json::{Object, Value};
use portcullis_model::{Severity, object};
use portcullis_store::JournalEntry;

use super::case::{Case, Form};
use crate::passages;

/// How strongly a case was objected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Nothing was found.
    #[default]
    Pass,
    /// Something was noted that is nothing bad by itself: findings of severity info.
    Note,
    /// Something was found.
    Flag,
    /// Somebody would be asked.
    Ask,
    /// It was refused: denied, or asked about where nobody can answer.
    Block,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Note => "note",
            Self::Flag => "flag",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }

    fn of_record(record: &Record) -> Self {
        let decision = match &record.decision {
            RecordedDecision::Refused(_) => Self::Block,
            RecordedDecision::Approved | RecordedDecision::Quarantined(_) => Self::Ask,
            RecordedDecision::Cleared
            | RecordedDecision::Edited
            | RecordedDecision::Revoked
            | RecordedDecision::Compared => Self::Pass,
        };
        let findings = record.policies.iter().flat_map(|policy| &policy.findings);
        let found = findings.map(|finding| if finding.severity == Severity::Info { Self::Note } else { Self::Flag });
        found.fold(decision, Self::max)
    }
}

/// What is counted of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those that were objected to at least so strongly.
    Level(Level),
    /// Those that went on changed.
    Edit,
}

impl Reach {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Level(level) => level.as_str(),
            Self::Edit => "edit",
        }
    }
}

/// What the gates made of one case.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) level: Level,
    /// True where what went on is not what came.
    pub(super) changed: bool,
    /// True where a policy broke.
    pub(super) broken: bool,
    /// Wall time at the gates that the case is about.
    pub(super) took: Duration,
    /// What the gates recorded.
    records: Vec<Record>,
    /// Why the case did not reach a gate.
    unreadable: Option<String>,
}

impl Outcome {
    /// What is no server entry at all reaches no gate, so no policy found it or let it pass.
    pub(super) fn unreadable(why: String) -> Self {
        Self { unreadable: Some(why), ..Self::default() }
    }

    /// Returns true where the case did not reach a gate.
    pub(super) fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// Returns true where the case was objected to at least so strongly.
    pub(super) fn reached(&self, reach: Reach) -> bool {
        match reach {
            Reach::Level(level) => self.level >= level,
            Reach::Edit => self.changed,
        }
    }

    /// Takes what gates recorded. Where it does not count, it is kept for the list of misses alone.
    pub(super) fn take(&mut self, records: Vec<Record>, counts: bool) {
        for record in &records {
            self.broken |= passages::is_broken(record);
            if counts {
                self.level = self.level.max(Level::of_record(record));
                self.changed |= record.decision == RecordedDecision::Edited
                    || record.policies.iter().any(|policy| policy.edits > 0);
            }
        }
        self.records.extend(records);
    }

    /// Returns true where a bad case was missed or a good one objected to, at the level that counts for its form.
    pub(super) fn is_wrong(&self, case: &Case) -> bool {
        if self.is_unreadable() {
            return !case.is_bad();
        }
        let found = match case.form {
            // A secret is to be taken out.
            Form::Secret => self.changed,
            Form::Result => self.level >= Level::Flag,
            Form::Item | Form::Instructions | Form::Entry | Form::Drift | Form::Trace => self.level >= Level::Ask,
        };
        // What is risky is to be pointed out and no more.
        let found = if case.label == "risky" { self.level == Level::Flag } else { found };
        found != case.is_bad()
    }

    /// Returns a case that went wrong, for people who look into it.
    pub(super) fn to_miss(&self, file: &str, line: u64, row: &Value, case: &Case) -> Object {
        let mut miss =
            object! { "file" => file, "line" => line, "label" => case.label.as_str(), "level" => self.level.as_str() };
        miss.insert("changed", self.changed);
        if let Some(why) = &self.unreadable {
            miss.insert("unreadable", why.as_str());
        }
        let gates = self.records.iter().map(|record| passages::to_value(&JournalEntry::of_record(0, record)));
        miss.insert("gates", gates.collect::<Vec<_>>());
        miss.insert("case", row.clone());
        miss
    }

    /// Returns the codes and rules behind the level, each once, for counting.
    pub(super) fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for policy in self.records.iter().flat_map(|record| &record.policies) {
            let name = policy.policy.as_str();
            reasons.extend(policy.findings.iter().map(|finding| format!("{name} {}", finding.rule)));
            match &policy.outcome {
                PolicyOutcome::Allow => {}
                PolicyOutcome::Ask(codes) => {
                    reasons.extend(codes.iter().map(|code| format!("{name} asks {}", without_digest(code))));
                }
                PolicyOutcome::Deny(code) => reasons.push(format!("{name} denies {}", without_digest(code))),
                PolicyOutcome::Fault(fault) => reasons.push(format!("{name} broke {}", fault.code())),
            }
        }
        reasons.sort();
        reasons.dedup();
        reasons
    }
}

/// Returns a code without the digest of what it is about, as some end with: one rule is one reason.
fn without_digest(code: &str) -> &str {
    match code.rsplit_once('-') {
        Some((rule, digest)) if digest.len() >= 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) => rule,
        Some(_) | None => code,
    }
}
