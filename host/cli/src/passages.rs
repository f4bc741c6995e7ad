//! What the gates did, as the journal has it, for reports.

use std::io::{self, Write};

use portcullis_gates::{PolicyOutcome, Record, RecordedDecision};
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::{JournalEntry, OutcomeEntry, PolicyEntry};

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
    let (decision, code) = decision(&entry.decision);
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
    object.into()
}

fn policy_to_value(entry: &PolicyEntry) -> Value {
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

/// Writes an entry as a line, and one more for each finding.
pub(crate) fn write_text(entry: &JournalEntry, out: &mut dyn Write) -> io::Result<()> {
    let (decision, code) = decision(&entry.decision);
    let name = if entry.name.is_empty() { &entry.server } else { &entry.name };
    write!(out, "    {:<11} {:<24} {decision}", entry.gate, one_line(name))?;
    if let Some(code) = code {
        write!(out, " ({})", one_line(code))?;
    }
    if let Some(policy) = &entry.decided_by {
        write!(out, " by {}", one_line(policy))?;
    }
    let judged: Vec<&str> = entry.policies.iter().map(|policy| policy.policy.as_str()).collect();
    if entry.decided_by.is_none() && !judged.is_empty() {
        let mut judged = judged;
        judged.dedup();
        write!(out, ", judged by {}", one_line(&judged.join(", ")))?;
    }
    writeln!(out, ", {} µs", microseconds(entry.elapsed))?;
    for policy in &entry.policies {
        if let OutcomeEntry::Fault { message, .. } = &policy.outcome {
            writeln!(out, "      {} broke: {}", one_line(&policy.policy), one_line(message))?;
        }
        for finding in &policy.findings {
            let (rule, message) = (one_line(&finding.rule), one_line(&finding.message));
            writeln!(out, "      {}: {rule} ({}): {message}", one_line(&policy.policy), finding.severity)?;
        }
    }
    Ok(())
}

fn decision(decision: &RecordedDecision) -> (&'static str, Option<&str>) {
    match decision {
        RecordedDecision::Cleared => ("cleared", None),
        RecordedDecision::Edited => ("edited", None),
        RecordedDecision::Approved => ("approved", None),
        RecordedDecision::Refused(code) => ("refused", Some(code)),
        RecordedDecision::Quarantined(code) => ("quarantined", Some(code)),
    }
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

fn microseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
