//! What the gates did, as the journal has it, for reports.

use std::io::{self, Write};
use std::time::Duration;

use portcullis_gates::{ApprovalRecord, PolicyOutcome, Record};
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::{FindingEntry, JournalEntry, OutcomeEntry, PolicyEntry};

use crate::failure::one_line;

/// Returns a record as it would be read back, had it been written.
pub(crate) fn entry(record: &Record) -> JournalEntry {
    JournalEntry::of_record(0, record)
}

/// Returns true where a policy broke.
pub(crate) fn is_broken(record: &Record) -> bool {
    record.policies.iter().any(|policy| matches!(policy.outcome, PolicyOutcome::Fault(_)))
}

/// Returns an entry for scripts.
pub(crate) fn to_value(entry: &JournalEntry) -> Value {
    let (decision, code) = entry.outcome();
    let mut object = object! {
        "id" => entry.id,
        "gate" => entry.gate.as_str(),
        "server" => entry.server.as_str(),
        "name" => entry.name.as_str(),
        "decision" => decision,
    };
    if let Some(code) = code {
        object.insert("code", code);
    }
    if let Some(policy) = &entry.decided_by {
        object.insert("policy", policy.as_str());
    }
    object.insert("elapsed_us", microseconds(entry.elapsed));
    object.insert("policies", entry.policies.iter().map(policy_to_value).collect::<Vec<_>>());
    if !entry.approvals.is_empty() {
        object.insert("approvals", entry.approvals.iter().map(approval_to_value).collect::<Vec<_>>());
    }
    object.into()
}

pub(crate) fn approval_to_value(approval: &ApprovalRecord) -> Value {
    let mut object = object! {
        "policy" => approval.policy.as_str(),
        "code" => approval.code.as_str(),
        "event" => approval.event.as_str(),
        "class" => approval.class.as_str(),
        "surface" => approval.surface.as_str(),
    };
    if let Some(grant) = &approval.grant {
        object.insert("grant", grant.as_str());
    }
    object.into()
}

pub(crate) fn policy_to_value(entry: &PolicyEntry) -> Value {
    let mut object = object! { "policy" => entry.policy.as_str(), "outcome" => outcome(&entry.outcome) };
    if entry.shadow {
        object.insert("shadow", true);
    }
    if entry.round > 1 {
        object.insert("round", u64::from(entry.round));
    }
    if entry.edits > 0 {
        object.insert("edits", u64::from(entry.edits));
    }
    let findings: Vec<Value> = entry
        .findings
        .iter()
        .map(|finding| {
            object! {
                "rule" => finding.rule.as_str(),
                "severity" => finding.severity.as_str(),
                "message" => finding.message.as_str(),
            }
            .into()
        })
        .collect();
    if !findings.is_empty() {
        object.insert("findings", findings);
    }
    let dropped: Vec<Value> = entry.dropped.iter().map(|text| Value::from(text.as_str())).collect();
    if !dropped.is_empty() {
        object.insert("dropped", dropped);
    }
    object.insert("cpu_us", microseconds(entry.cost.cpu));
    object.into()
}

/// Names that stand in one line.
const MOST_NAMES: usize = 6;

/// A policy's words are cut to this many characters on a terminal; scripts get all that the journal keeps.
const LONGEST_MESSAGE: usize = 160;

/// Passages that went the same way.
struct Alike<'a> {
    first: &'a JournalEntry,
    /// Names with how often each passed, in order of appearance.
    names: Vec<(&'a str, usize)>,
    longest: Duration,
}

impl<'a> Alike<'a> {
    fn of(entry: &'a JournalEntry) -> Self {
        Self { first: entry, names: Vec::new(), longest: Duration::ZERO }
    }

    fn takes(&self, entry: &JournalEntry) -> bool {
        fn said(entry: &JournalEntry) -> impl Iterator<Item = (&String, &OutcomeEntry, &Vec<FindingEntry>)> {
            entry.policies.iter().map(|policy| (&policy.policy, &policy.outcome, &policy.findings))
        }
        self.first.gate == entry.gate
            && self.first.decision == entry.decision
            && self.first.decided_by == entry.decided_by
            && said(self.first).eq(said(entry))
    }

    fn add(&mut self, entry: &'a JournalEntry) {
        let name = if entry.name.is_empty() { &entry.server } else { &entry.name };
        match self.names.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => self.names.push((name, 1)),
        }
        self.longest = self.longest.max(entry.elapsed);
    }

    fn names(&self) -> String {
        let one = |(name, count): &(&str, usize)| match count {
            1 => one_line(name),
            count => format!("{} ×{count}", one_line(name)),
        };
        let shown: Vec<_> = self.names.iter().take(MOST_NAMES).map(one).collect();
        let more = self.names.len().saturating_sub(MOST_NAMES);
        if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
    }
}

/// Writes passages, one line for all that went the same way, and one more for each finding.
pub(crate) fn write_text<'a>(
    entries: impl IntoIterator<Item = &'a JournalEntry>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for entry in entries {
        let known = groups.iter().position(|group| group.takes(entry));
        let index = known.unwrap_or_else(|| {
            groups.push(Alike::of(entry));
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(index) {
            group.add(entry);
        }
    }
    groups.iter().try_for_each(|group| write_group(group, out))
}

fn write_group(group: &Alike<'_>, out: &mut dyn Write) -> io::Result<()> {
    let entry = group.first;
    let (decision, code) = entry.outcome();
    write!(out, "    {:<11} {}: {decision}", entry.gate, group.names())?;
    if let Some(code) = code {
        write!(out, " ({})", one_line(code))?;
    }
    let mut judges: Vec<&str> = entry.policies.iter().map(|policy| policy.policy.as_str()).collect();
    judges.dedup();
    match &entry.decided_by {
        Some(policy) => write!(out, " by {}", one_line(policy))?,
        None if judges.is_empty() => write!(out, ", judged by nobody")?,
        None => write!(out, ", judged by {}", one_line(&judges.join(", ")))?,
    }
    let times: usize = group.names.iter().map(|(_, count)| count).sum();
    let up_to = if times > 1 { "up to " } else { "" };
    writeln!(out, ", {up_to}{} µs", microseconds(group.longest))?;
    for policy in &entry.policies {
        if let OutcomeEntry::Fault { message, .. } = &policy.outcome {
            writeln!(out, "      {} broke: {}", one_line(&policy.policy), one_line(message))?;
        }
        for finding in &policy.findings {
            let (rule, message) = (one_line(&finding.rule), short(&finding.message));
            writeln!(out, "      {}: {rule} ({}): {message}", one_line(&policy.policy), finding.severity)?;
        }
    }
    Ok(())
}

fn short(message: &str) -> String {
    let mut short: String = message.chars().take(LONGEST_MESSAGE).collect();
    if short.len() < message.len() {
        short.push('…');
    }
    one_line(&short)
}

fn outcome(outcome: &OutcomeEntry) -> Value {
    match outcome {
        OutcomeEntry::Allow => "allow".into(),
        OutcomeEntry::Ask(codes) => {
            object! { "ask" => codes.iter().map(|code| Value::from(code.as_str())).collect::<Vec<_>>() }.into()
        }
        OutcomeEntry::Deny(code) => object! { "deny" => code.as_str() }.into(),
        OutcomeEntry::Fault { code, message } => {
            object! { "fault" => code.as_str(), "message" => message.as_str() }.into()
        }
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use portcullis_gates::{Cost, RecordedDecision};
    use portcullis_model::Digest;

    use super::*;

    fn entry(name: &str, decision: RecordedDecision) -> JournalEntry {
        let policy = PolicyEntry {
            policy: "trust".to_owned(),
            digest: Digest::of(b""),
            shadow: false,
            round: 1,
            outcome: OutcomeEntry::Allow,
            findings: Vec::new(),
            edits: 0,
            dropped: Vec::new(),
            cost: Cost::default(),
        };
        JournalEntry {
            id: 1,
            at: SystemTime::UNIX_EPOCH,
            session: "s".to_owned(),
            gate: "call".to_owned(),
            server: "files".to_owned(),
            name: name.to_owned(),
            subject: Digest::of(b""),
            generation: 1,
            decision,
            decided_by: None,
            policies: vec![policy],
            approvals: Vec::new(),
            elapsed: Duration::from_micros(u64::try_from(name.len()).unwrap()),
            place: None,
            payload: None,
        }
    }

    #[test]
    fn passages_that_went_the_same_way_share_a_line() {
        let mut refused = entry("write\u{1b}[2J", RecordedDecision::Refused("no-approver".to_owned()));
        refused.decided_by = Some("trust".to_owned());
        refused.policies[0].findings.push(FindingEntry {
            rule: "write-capable".to_owned(),
            severity: "medium".to_owned(),
            message: "x".repeat(500),
            evidence: Vec::new(),
        });
        let cleared = |name| entry(name, RecordedDecision::Cleared);
        let entries = [cleared("read"), refused, cleared("list_all"), cleared("read")];
        let mut text = Vec::new();
        write_text(&entries, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            format!(
                "    call        read ×2, list_all: cleared, judged by trust, up to 8 µs
    call        write\\u{{1b}}[2J: refused (no-approver) by trust, 9 µs
      trust: write-capable (medium): {}…
",
                "x".repeat(160)
            )
        );
    }
}
