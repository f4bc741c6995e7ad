//! A row as the entry it was written from.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_gates::{ApprovalEvent, ApprovalRecord, Cost, RecordedDecision};
use portcullis_model::json::{Object, Value};
use portcullis_model::{ApproverClass, Digest, PolicyName, RuleId, Span};

use crate::{ChainId, FindingEntry, Head, JournalEntry, Link, OutcomeEntry, PolicyEntry};

/// Returns the decision of a number and a code, or nothing where the number is unknown.
pub(crate) fn decision(number: i64, code: Option<String>) -> Option<RecordedDecision> {
    match number {
        0 => Some(RecordedDecision::Cleared),
        1 => Some(RecordedDecision::Edited),
        2 => Some(RecordedDecision::Approved),
        3 => Some(RecordedDecision::Refused(code.unwrap_or_default())),
        4 => Some(RecordedDecision::Quarantined(code.unwrap_or_default())),
        5 => Some(RecordedDecision::Revoked),
        6 => Some(RecordedDecision::Compared),
        _ => None,
    }
}

/// Returns the time of so many microseconds since 1970.
pub(crate) fn time(microseconds: i64) -> SystemTime {
    let distance = Duration::from_micros(microseconds.unsigned_abs());
    let time = if microseconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    time.unwrap_or(UNIX_EPOCH)
}

/// The policies of passages, by the digest that names their list.
pub(crate) type Lineups = HashMap<String, Vec<(String, Digest)>>;

/// Returns the policies of a lineup, or nothing where the text is not what `encode` writes.
pub(crate) fn lineup(text: &str) -> Option<Vec<(String, Digest)>> {
    let value = portcullis_model::json::parse_str(text).ok()?;
    let pair = |value: &Value| {
        let [policy, digest] = value.as_array()? else {
            return None;
        };
        Some((policy.as_str()?.to_owned(), Digest::parse(digest.as_str()?)?))
    };
    value.as_array()?.iter().map(pair).collect()
}

/// Returns the entry of a passage, or nothing where the text is not what `encode` writes.
pub(crate) fn passage(id: i64, text: &str, lineups: &Lineups) -> Option<JournalEntry> {
    let value = portcullis_model::json::parse_str(text).ok()?;
    let texts = |key| Some(value.get(key)?.as_str()?.to_owned());
    let policies = match (value.get("lineup"), value.get("policies")) {
        (Some(lineup), Some(policies)) => {
            let (lineup, policies) = (lineups.get(lineup.as_str()?)?, policies.as_array()?);
            if lineup.len() != policies.len() {
                return None;
            }
            lineup.iter().zip(policies).map(|((name, digest), value)| passage_policy(name, *digest, value)).collect()
        }
        (None, None) => Some(Vec::new()),
        (Some(_), None) | (None, Some(_)) => None,
    };
    Some(JournalEntry {
        id,
        at: time(value.get("at")?.as_i64()?),
        session: texts("session")?,
        gate: texts("gate")?,
        server: texts("server")?,
        name: texts("name")?,
        subject: Digest::parse(value.get("subject")?.as_str()?)?,
        generation: value.get("generation")?.as_u64()?,
        decision: word(value.get("decision")?.as_str()?, texts("code"))?,
        decided_by: texts("by"),
        policies: policies?,
        approvals: match value.get("approvals") {
            Some(list) => list.as_array()?.iter().map(approval).collect::<Option<_>>()?,
            None => Vec::new(),
        },
        elapsed: Duration::from_nanos(value.get("elapsed")?.as_u64()?),
        place: None,
        payload: match value.get("payload") {
            Some(digest) => Some(Digest::parse(digest.as_str()?)?),
            None => None,
        },
    })
}

fn passage_policy(policy: &str, digest: Digest, value: &Value) -> Option<PolicyEntry> {
    let [wall, cpu, memory, more @ ..] = value.as_array()? else {
        return None;
    };
    let nothing = Value::from(Object::new());
    entry(policy.to_owned(), digest, [wall, cpu, memory], more.first().unwrap_or(&nothing))
}

fn word(decision: &str, code: Option<String>) -> Option<RecordedDecision> {
    let number = match decision {
        "cleared" => 0,
        "edited" => 1,
        "approved" => 2,
        "refused" => 3,
        "quarantined" => 4,
        "revoked" => 5,
        "compared" => 6,
        _ => return None,
    };
    self::decision(number, code)
}

/// Returns what each policy did, or nothing where the text is not what rows of the first layouts have.
pub(crate) fn policies(text: &str, versions: &HashMap<i64, (String, Digest)>) -> Option<Vec<PolicyEntry>> {
    let value = portcullis_model::json::parse_str(text).ok()?;
    value.as_array()?.iter().map(|entry| policy(entry, versions)).collect()
}

/// Returns a head that a chain tells of another, or nothing where the value is none.
pub(crate) fn head(value: &Value) -> Option<Head> {
    let [chain, sequence, hash] = value.as_array()? else {
        return None;
    };
    let link = Link { sequence: sequence.as_u64()?, hash: Digest::parse(hash.as_str()?)? };
    Some(Head { chain: ChainId::parse(chain.as_str()?)?, link })
}

/// Returns the class of a number, or nothing where the number is unknown.
pub(crate) fn class(number: i64) -> Option<ApproverClass> {
    match number {
        1 => Some(ApproverClass::Client),
        2 => Some(ApproverClass::Operator),
        _ => None,
    }
}

/// Returns what became of questions, or nothing where the text is not what `encode` writes.
pub(crate) fn approvals(text: &str) -> Option<Vec<ApprovalRecord>> {
    let value = portcullis_model::json::parse_str(text).ok()?;
    value.as_array()?.iter().map(approval).collect()
}

fn approval(value: &Value) -> Option<ApprovalRecord> {
    let [policy, code, event, number, surface, grant @ ..] = value.as_array()? else {
        return None;
    };
    Some(ApprovalRecord {
        policy: PolicyName::parse(policy.as_str()?).ok()?,
        code: RuleId::parse(code.as_str()?).ok()?,
        event: ApprovalEvent::parse(event.as_str()?)?,
        class: class(number.as_i64()?)?,
        surface: surface.as_str()?.to_owned(),
        grant: grant.first().and_then(Value::as_str).map(str::to_owned),
    })
}

fn policy(value: &Value, versions: &HashMap<i64, (String, Digest)>) -> Option<PolicyEntry> {
    let (policy, digest) = versions.get(&value.get("p")?.as_i64()?)?.clone();
    let [wall, cpu, memory] = value.get("t")?.as_array()? else {
        return None;
    };
    entry(policy, digest, [wall, cpu, memory], value)
}

fn entry(policy: String, digest: Digest, [wall, cpu, memory]: [&Value; 3], value: &Value) -> Option<PolicyEntry> {
    let cost = Cost {
        wall: Duration::from_nanos(wall.as_u64()?),
        cpu: Duration::from_nanos(cpu.as_u64()?),
        memory: memory.as_u64()?,
    };
    Some(PolicyEntry {
        policy,
        digest,
        shadow: value.get("s").and_then(Value::as_bool).unwrap_or(false),
        round: number(value, "r", 1)?,
        outcome: value.get("o").map_or(Some(OutcomeEntry::Allow), outcome)?,
        findings: value.get("f").map_or(Some(Vec::new()), |list| list.as_array()?.iter().map(finding).collect())?,
        edits: number(value, "e", 0)?,
        dropped: value.get("d").map_or(Some(Vec::new()), texts)?,
        cost,
    })
}

fn outcome(value: &Value) -> Option<OutcomeEntry> {
    if let Some(codes) = value.get("ask") {
        return Some(OutcomeEntry::Ask(texts(codes)?));
    }
    if let Some(code) = value.get("deny") {
        return Some(OutcomeEntry::Deny(code.as_str()?.to_owned()));
    }
    let [code, message] = value.get("fault")?.as_array()? else {
        return None;
    };
    Some(OutcomeEntry::Fault { code: code.as_str()?.to_owned(), message: message.as_str()?.to_owned() })
}

fn finding(value: &Value) -> Option<FindingEntry> {
    let [rule, severity, message, evidence] = value.as_array()? else {
        return None;
    };
    Some(FindingEntry {
        rule: rule.as_str()?.to_owned(),
        severity: severity.as_str()?.to_owned(),
        message: message.as_str()?.to_owned(),
        evidence: evidence.as_array()?.iter().map(span).collect::<Option<_>>()?,
    })
}

fn span(value: &Value) -> Option<Span> {
    let [segment, start, end] = value.as_array()? else {
        return None;
    };
    let part = |value: &Value| u32::try_from(value.as_u64()?).ok();
    Some(Span { segment: part(segment)?, start: part(start)?, end: part(end)? })
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
}

fn number(value: &Value, key: &str, missing: u32) -> Option<u32> {
    value.get(key).map_or(Some(missing), |number| u32::try_from(number.as_u64()?).ok())
}
