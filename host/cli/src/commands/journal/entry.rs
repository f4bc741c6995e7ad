//! A passage as it is shown.

use std::io::{self, Write};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::{FindingEntry, JournalEntry, OutcomeEntry, PolicyEntry};

use crate::failure::one_line;
use crate::moment;
use crate::report::Report;

/// Returns all that is recorded of a passage, for scripts.
pub(crate) fn to_value(entry: &JournalEntry) -> Value {
    let (decision, code) = entry.outcome();
    let mut object = object! {
        "id" => entry.id,
        "at" => moment::show(entry.at),
        "gate" => entry.gate.as_str(),
        "server" => entry.server.as_str(),
        "name" => entry.name.as_str(),
        "session" => entry.session.as_str(),
        "decision" => decision,
    };
    if let Some(code) = code {
        object.insert("code", code);
    }
    if let Some(policy) = &entry.decided_by {
        object.insert("policy", policy.as_str());
    }
    object.insert("elapsed_us", microseconds(entry.elapsed));
    object.insert("subject", entry.subject.to_string());
    object.insert("generation", entry.generation);
    object.insert("policies", entry.policies.iter().map(policy).collect::<Vec<_>>());
    let approvals: Vec<Value> = entry.approvals.iter().map(crate::passages::approval_to_value).collect();
    if !approvals.is_empty() {
        object.insert("approvals", approvals);
    }
    if let Some((chain, link)) = entry.place {
        object.insert("chain", chain.to_string());
        object.insert("sequence", link.sequence);
        object.insert("hash", link.hash.to_string());
    }
    object.into()
}

fn policy(entry: &PolicyEntry) -> Value {
    let mut value = crate::passages::policy_to_value(entry);
    if let Some(object) = value.as_object_mut() {
        object.insert("digest", entry.digest.to_string());
        object.insert("wall_us", microseconds(entry.cost.wall));
        object.insert("memory", entry.cost.memory);
        if !entry.findings.is_empty() {
            object.insert("findings", entry.findings.iter().map(finding).collect::<Vec<_>>());
        }
    }
    value
}

fn finding(finding: &FindingEntry) -> Value {
    let evidence: Vec<Value> = finding
        .evidence
        .iter()
        .map(|span| object! { "segment" => u64::from(span.segment), "start" => u64::from(span.start), "end" => u64::from(span.end) }.into())
        .collect();
    object! {
        "rule" => finding.rule.as_str(),
        "severity" => finding.severity.as_str(),
        "message" => finding.message.as_str(),
        "evidence" => evidence,
    }
    .into()
}

/// Returns a passage in one line.
pub(crate) fn line(entry: &JournalEntry) -> String {
    let (decision, code) = entry.outcome();
    let server = one_line(&entry.server);
    let what = match entry.name.as_str() {
        "" => server,
        name if name == entry.server => server,
        name => format!("{server}/{}", one_line(name)),
    };
    let code = code.map(|code| format!(" ({})", one_line(code))).unwrap_or_default();
    let by = entry.decided_by.as_deref().map(|policy| format!(" by {}", one_line(policy))).unwrap_or_default();
    let findings = entry.policies.iter().flat_map(|policy| &policy.findings);
    let mut rules: Vec<_> = findings.map(|finding| one_line(&finding.rule)).collect();
    rules.dedup();
    let rules = if rules.is_empty() { String::new() } else { format!(" [{}]", rules.join(", ")) };
    format!("{:>8} {} {:<11} {what}: {decision}{code}{by}{rules}", entry.id, moment::show(entry.at), entry.gate)
}

/// All that is recorded of one passage.
pub(crate) struct Whole(pub(crate) JournalEntry);

impl Report for Whole {
    fn to_value(&self) -> Value {
        to_value(&self.0)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let entry = &self.0;
        writeln!(out, "{}", line(entry).trim_start())?;
        writeln!(out, "  session {}, policy set {}", one_line(&entry.session), entry.generation)?;
        writeln!(out, "  subject {}, {} µs", entry.subject, microseconds(entry.elapsed))?;
        for policy in &entry.policies {
            let shadow = if policy.shadow { ", in shadow" } else { "" };
            writeln!(
                out,
                "  {} ({}): {}{shadow}, round {}, {} µs of processor time, {} KiB",
                one_line(&policy.policy),
                policy.digest.short(),
                told(&policy.outcome),
                policy.round,
                microseconds(policy.cost.cpu),
                policy.cost.memory / 1_024
            )?;
            for finding in &policy.findings {
                let spans: Vec<_> = finding
                    .evidence
                    .iter()
                    .map(|span| format!("segment {} bytes {}–{}", span.segment, span.start, span.end))
                    .collect();
                let (rule, message) = (one_line(&finding.rule), one_line(&finding.message));
                writeln!(out, "    {rule} ({}): {message}", finding.severity)?;
                if !spans.is_empty() {
                    writeln!(out, "      at {}", spans.join(", "))?;
                }
            }
            for dropped in &policy.dropped {
                writeln!(out, "    dropped: {}", one_line(dropped))?;
            }
        }
        for approval in &entry.approvals {
            writeln!(
                out,
                "  {} ({}): {} by {} at {}",
                one_line(approval.policy.as_str()),
                one_line(approval.code.as_str()),
                approval.event.as_str(),
                approval.class.as_str(),
                one_line(&approval.surface)
            )?;
        }
        match entry.place {
            Some((chain, link)) => writeln!(out, "  record {} of chain {chain}, hash {}", link.sequence, link.hash),
            None => writeln!(out, "  written before records had chains"),
        }
    }
}

/// Returns what a policy answered, in words.
pub(crate) fn told(outcome: &OutcomeEntry) -> String {
    match outcome {
        OutcomeEntry::Allow => "no objection".to_owned(),
        OutcomeEntry::Ask(codes) => format!("asked {}", one_line(&codes.join(", "))),
        OutcomeEntry::Deny(code) => format!("denied {}", one_line(code)),
        OutcomeEntry::Fault { code, message } => format!("broke ({}): {}", one_line(code), one_line(message)),
    }
}

fn microseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
