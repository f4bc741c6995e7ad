//! A record as its JSON text.
//!
//! A passage that eight policies let pass costs 500 bytes. Members stand in one order, and those with the usual value are
//! left out. The policies of a passage are named by the digest of their *lineup*, a list of names and digests that is
//! written once a chain; each then is an array of wall and CPU time in nanoseconds and memory in bytes, followed by an
//! object where there is more to say: `s` shadow, `r` round (1 left out), `o` outcome (allow left out), `f` findings as
//! rule, severity, message and spans, `e` edits, `d` what was dropped.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_gates::{ApprovalRecord, PolicyOutcome, PolicyRecord, Record, RecordedDecision};
use portcullis_model::json::write_string;
use portcullis_model::{ApproverClass, Digest, Finding, PolicyName};

use crate::chain::Head;

/// A policy's own words are cut to this many bytes: they are read in a table, and a policy could answer megabytes.
const LONGEST_TEXT: usize = 512;

/// Lists of a policy are cut to this many entries, for the same reason; what is cut is counted in the last one.
const LONGEST_LIST: usize = 32;

/// How each record begins: with the microseconds since 1970.
pub(crate) const AT: &str = "{\"at\":";

/// Appends the text of a passage; `lineup` names the list of its policies, `payload` what they were told.
pub(crate) fn passage(text: &mut Vec<u8>, record: &Record, lineup: Option<&Digest>, payload: Option<&Digest>) {
    begin(text, record.at);
    member(text, "gate", record.gate.as_str());
    member(text, "server", cut(&record.server));
    member(text, "name", cut(&record.name));
    member(text, "session", cut(&record.session));
    text.extend_from_slice(b",\"subject\":\"");
    hex(text, &record.subject);
    text.extend_from_slice(b"\",\"generation\":");
    number(text, record.generation);
    let (decision, code) = decision(&record.decision);
    member(text, "decision", decision);
    if let Some(code) = code {
        member(text, "code", cut(code));
    }
    if let Some(policy) = &record.decided_by {
        member(text, "by", policy.as_str());
    }
    text.extend_from_slice(b",\"elapsed\":");
    number(text, nanoseconds(record.elapsed));
    if let Some(lineup) = lineup {
        text.extend_from_slice(b",\"lineup\":\"");
        hex(text, lineup);
        text.extend_from_slice(b"\",\"policies\":[");
        for (index, record) in record.policies.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            policy(text, record);
        }
        text.push(b']');
    }
    if let Some(payload) = payload {
        text.extend_from_slice(b",\"payload\":\"");
        hex(text, payload);
        text.push(b'"');
    }
    if !record.approvals.is_empty() {
        text.extend_from_slice(b",\"approvals\":");
        list(text, &record.approvals, approval, |text, more| {
            let _infallible = write!(text, r#"["host","{more}-more","granted",1,""]"#);
        });
    }
    text.push(b'}');
}

/// Returns the text of a list of policies, whose digest names it.
pub(crate) fn lineup(policies: &[(PolicyName, Digest)]) -> Vec<u8> {
    let mut text = Vec::with_capacity(policies.len() * 96 + 2);
    text.push(b'[');
    for (index, (policy, digest)) in policies.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.push(b'[');
        write_string(policy.as_str(), &mut text);
        text.extend_from_slice(b",\"");
        hex(&mut text, digest);
        text.extend_from_slice(b"\"]");
    }
    text.push(b']');
    text
}

/// Appends the text of a record that tells which policies a lineup has.
pub(crate) fn lineup_record(text: &mut Vec<u8>, at: SystemTime, lineup: &[u8]) {
    begin(text, at);
    text.extend_from_slice(b",\"lineup\":");
    text.extend_from_slice(lineup);
    text.push(b'}');
}

/// Appends the text of a record that joins other chains to this one, by how far they are known.
pub(crate) fn heads_record(text: &mut Vec<u8>, at: SystemTime, heads: &[Head]) {
    begin(text, at);
    text.extend_from_slice(b",\"heads\":[");
    for (index, head) in heads.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _infallible = write!(text, r#"{comma}["{}",{},"#, head.chain, head.link.sequence);
        text.push(b'"');
        hex(text, &head.link.hash);
        text.extend_from_slice(b"\"]");
    }
    text.extend_from_slice(b"]");
    member(text, "version", env!("CARGO_PKG_VERSION"));
    text.push(b'}');
}

/// Returns the word and the code of a decision.
pub(crate) fn decision(decision: &RecordedDecision) -> (&'static str, Option<&str>) {
    match decision {
        RecordedDecision::Cleared => ("cleared", None),
        RecordedDecision::Edited => ("edited", None),
        RecordedDecision::Approved => ("approved", None),
        RecordedDecision::Refused(code) => ("refused", Some(code)),
        RecordedDecision::Quarantined(code) => ("quarantined", Some(code)),
        RecordedDecision::Revoked => ("revoked", None),
        RecordedDecision::Compared => ("compared", None),
    }
}

/// Returns microseconds since 1970, negative before it.
pub(crate) fn microseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    }
}

/// Returns the number that a class is stored as.
pub(crate) fn class(class: ApproverClass) -> i64 {
    match class {
        ApproverClass::Client => 1,
        ApproverClass::Operator => 2,
    }
}

/// Cuts a text to what is kept of it, at a character boundary.
pub(crate) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default()
}

fn begin(text: &mut Vec<u8>, at: SystemTime) {
    let _infallible = write!(text, "{AT}{}", microseconds(at));
}

/// Nanoseconds, as many as fit where numbers are signed.
fn nanoseconds(duration: Duration) -> u64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX).unsigned_abs()
}

fn policy(text: &mut Vec<u8>, record: &PolicyRecord) {
    text.push(b'[');
    number(text, nanoseconds(record.cost.wall));
    text.push(b',');
    number(text, nanoseconds(record.cost.cpu));
    text.push(b',');
    number(text, record.cost.memory);
    let at = text.len();
    if record.shadow {
        text.extend_from_slice(br#","s":true"#);
    }
    if record.round != 1 {
        let _infallible = write!(text, r#","r":{}"#, record.round);
    }
    outcome(text, &record.outcome);
    if !record.findings.is_empty() {
        text.extend_from_slice(br#","f":"#);
        list(text, &record.findings, finding, |text, more| {
            let _infallible = write!(text, r#"["","info","{more} more",[]]"#);
        });
    }
    if record.edits != 0 {
        let _infallible = write!(text, r#","e":{}"#, record.edits);
    }
    if !record.dropped.is_empty() {
        text.extend_from_slice(br#","d":"#);
        texts(text, &record.dropped);
    }
    if text.len() > at {
        // The comma before the first member separates the object instead.
        text.insert(at + 1, b'{');
        text.push(b'}');
    }
    text.push(b']');
}

/// An array of policy, code, event, class, surface and, where there is one, grant.
fn approval(text: &mut Vec<u8>, approval: &ApprovalRecord) {
    text.push(b'[');
    for part in [approval.policy.as_str(), approval.code.as_str(), approval.event.as_str()] {
        write_string(part, text);
        text.push(b',');
    }
    let _infallible = write!(text, "{},", class(approval.class));
    write_string(cut(&approval.surface), text);
    if let Some(grant) = &approval.grant {
        text.push(b',');
        write_string(cut(grant), text);
    }
    text.push(b']');
}

fn outcome(text: &mut Vec<u8>, outcome: &PolicyOutcome) {
    match outcome {
        PolicyOutcome::Allow => {}
        PolicyOutcome::Ask(codes) => {
            text.extend_from_slice(br#","o":{"ask":"#);
            texts(text, codes);
            text.push(b'}');
        }
        PolicyOutcome::Deny(code) => {
            text.extend_from_slice(br#","o":{"deny":"#);
            write_string(cut(code), text);
            text.push(b'}');
        }
        PolicyOutcome::Fault(fault) => {
            text.extend_from_slice(br#","o":{"fault":["#);
            write_string(fault.code(), text);
            text.push(b',');
            write_string(cut(&fault.to_string()), text);
            text.extend_from_slice(b"]}");
        }
    }
}

fn finding(text: &mut Vec<u8>, finding: &Finding) {
    text.push(b'[');
    write_string(finding.rule.as_str(), text);
    text.push(b',');
    write_string(finding.severity.as_str(), text);
    text.push(b',');
    write_string(cut(&finding.message), text);
    text.extend_from_slice(b",[");
    for (index, span) in finding.evidence.iter().take(LONGEST_LIST).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _infallible = write!(text, "{comma}[{},{},{}]", span.segment, span.start, span.end);
    }
    text.extend_from_slice(b"]]");
}

fn texts(text: &mut Vec<u8>, items: &[String]) {
    list(
        text,
        items,
        |text, item| write_string(cut(item), text),
        |text, more| {
            let _infallible = write!(text, r#""{more} more""#);
        },
    );
}

fn list<T>(text: &mut Vec<u8>, items: &[T], one: impl Fn(&mut Vec<u8>, &T), more: impl Fn(&mut Vec<u8>, usize)) {
    text.push(b'[');
    for (index, item) in items.iter().take(LONGEST_LIST).enumerate() {
        if index > 0 {
            text.push(b',');
        }
        one(text, item);
    }
    if let Some(left @ 1..) = items.len().checked_sub(LONGEST_LIST) {
        text.push(b',');
        more(text, left);
    }
    text.push(b']');
}

fn member(text: &mut Vec<u8>, key: &str, value: &str) {
    text.extend_from_slice(b",\"");
    text.extend_from_slice(key.as_bytes());
    text.extend_from_slice(b"\":");
    write_string(value, text);
}

fn number(text: &mut Vec<u8>, number: u64) {
    let _infallible = write!(text, "{number}");
}

/// Appends lowercase hex digits: the formatting of the standard library takes longer than the hashing.
fn hex(text: &mut Vec<u8>, digest: &Digest) {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    text.extend(digest.as_bytes().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}
