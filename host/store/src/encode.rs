//! A record as the columns of its row.
//!
//! What each policy did stands in one text column, as JSON with short keys whose usual values are left out: a passage
//! that eight policies let pass costs 300 bytes instead of eight rows. Keys: `p` id in `policy_versions`, `t` wall and
//! CPU time in nanoseconds and memory in bytes, `s` shadow, `r` round (1 left out), `o` outcome (allow left out), `f`
//! findings as rule, severity, message and spans, `e` edits, `d` what was dropped.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_gates::{ApprovalRecord, PolicyOutcome, PolicyRecord, RecordedDecision};
use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Finding};

/// A policy's own words are cut to this many bytes: they are read in a table, and a policy could answer megabytes.
const LONGEST_TEXT: usize = 512;

/// Lists of a policy are cut to this many entries, for the same reason; what is cut is counted in the last one.
const LONGEST_LIST: usize = 32;

/// Returns the number and the code that a decision is stored as.
pub(crate) fn decision(decision: &RecordedDecision) -> (i64, Option<&str>) {
    match decision {
        RecordedDecision::Cleared => (0, None),
        RecordedDecision::Edited => (1, None),
        RecordedDecision::Approved => (2, None),
        RecordedDecision::Refused(code) => (3, Some(code)),
        RecordedDecision::Quarantined(code) => (4, Some(code)),
        RecordedDecision::Revoked => (5, None),
    }
}

/// Returns microseconds since 1970, negative before it.
pub(crate) fn microseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    }
}

/// Returns nanoseconds, as many as fit.
pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Appends what one policy did; `id` is its id in `policy_versions`.
pub(crate) fn policy(text: &mut String, id: i64, record: &PolicyRecord) {
    let cost = record.cost;
    let _infallible = write!(
        text,
        r#"{{"p":{id},"t":[{},{},{}]"#,
        nanoseconds(cost.wall),
        nanoseconds(cost.cpu),
        i64::try_from(cost.memory).unwrap_or(i64::MAX)
    );
    if record.shadow {
        text.push_str(r#","s":true"#);
    }
    if record.round != 1 {
        let _infallible = write!(text, r#","r":{}"#, record.round);
    }
    outcome(text, &record.outcome);
    if !record.findings.is_empty() {
        text.push_str(r#","f":"#);
        list(text, &record.findings, finding, |text, more| {
            let _infallible = write!(text, r#"["","info","{more} more",[]]"#);
        });
    }
    if record.edits != 0 {
        let _infallible = write!(text, r#","e":{}"#, record.edits);
    }
    if !record.dropped.is_empty() {
        text.push_str(r#","d":"#);
        texts(text, &record.dropped);
    }
    text.push('}');
}

/// Returns the number that a class is stored as.
pub(crate) fn class(class: ApproverClass) -> i64 {
    match class {
        ApproverClass::Client => 1,
        ApproverClass::Operator => 2,
    }
}

/// Returns what became of the questions of a passage as arrays of policy, code, event, class, surface and grant; nothing
/// where there were none.
pub(crate) fn approvals(approvals: &[ApprovalRecord]) -> Option<String> {
    if approvals.is_empty() {
        return None;
    }
    let mut text = String::new();
    let one = |text: &mut String, approval: &ApprovalRecord| {
        let parts = [approval.policy.as_str(), approval.code.as_str(), approval.event.as_str()];
        text.push('[');
        for part in parts {
            string(text, part);
            text.push(',');
        }
        let _infallible = write!(text, "{},", class(approval.class));
        string(text, &approval.surface);
        if let Some(grant) = &approval.grant {
            text.push(',');
            string(text, grant);
        }
        text.push(']');
    };
    list(&mut text, approvals, one, |text, more| {
        let _infallible = write!(text, r#"["host","{more}-more","granted",1,""]"#);
    });
    Some(text)
}

fn outcome(text: &mut String, outcome: &PolicyOutcome) {
    match outcome {
        PolicyOutcome::Allow => {}
        PolicyOutcome::Ask(codes) => {
            text.push_str(r#","o":{"ask":"#);
            texts(text, codes);
            text.push('}');
        }
        PolicyOutcome::Deny(code) => {
            text.push_str(r#","o":{"deny":"#);
            string(text, code);
            text.push('}');
        }
        PolicyOutcome::Fault(fault) => {
            text.push_str(r#","o":{"fault":["#);
            string(text, fault.code());
            text.push(',');
            string(text, &fault.to_string());
            text.push_str("]}");
        }
    }
}

fn finding(text: &mut String, finding: &Finding) {
    text.push('[');
    string(text, finding.rule.as_str());
    text.push(',');
    string(text, finding.severity.as_str());
    text.push(',');
    string(text, &finding.message);
    text.push_str(",[");
    for (index, span) in finding.evidence.iter().take(LONGEST_LIST).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _infallible = write!(text, "{comma}[{},{},{}]", span.segment, span.start, span.end);
    }
    text.push_str("]]");
}

fn texts(text: &mut String, items: &[String]) {
    list(
        text,
        items,
        |text, item| string(text, item),
        |text, more| {
            let _infallible = write!(text, r#""{more} more""#);
        },
    );
}

fn list<T>(text: &mut String, items: &[T], one: impl Fn(&mut String, &T), more: impl Fn(&mut String, usize)) {
    text.push('[');
    for (index, item) in items.iter().take(LONGEST_LIST).enumerate() {
        if index > 0 {
            text.push(',');
        }
        one(text, item);
    }
    if let Some(left @ 1..) = items.len().checked_sub(LONGEST_LIST) {
        text.push(',');
        more(text, left);
    }
    text.push(']');
}

fn string(text: &mut String, value: &str) {
    text.push_str(&Value::from(cut(value)).to_json());
}

/// Cuts a text to what is kept of it, at a character boundary.
pub(crate) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default()
}
