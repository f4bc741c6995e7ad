//! A passage as an event of the Open Cybersecurity Schema Framework: API Activity (class 6003) with the profile
//! `security_control`, version 1.3.0 of the schema.

use std::time::UNIX_EPOCH;

use portcullis_gates::RecordedDecision;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::JournalEntry;

use super::entry;

const VERSION: &str = "1.3.0";
const CLASS: u64 = 6003;
/// Application Activity.
const CATEGORY: u64 = 6;
/// Reads resources or what is like them.
const READ: u64 = 2;
/// None that the schema names.
const OTHER: u64 = 99;

/// Returns the event.
pub(super) fn event(passage: &JournalEntry) -> Value {
    let (decision, code) = passage.outcome();
    // Action (allowed or denied) and disposition, as the profile numbers them.
    let (action, disposition): (u64, u64) = match passage.decision {
        RecordedDecision::Cleared => (1, 1),
        RecordedDecision::Edited => (1, 11),
        RecordedDecision::Approved => (1, 8),
        RecordedDecision::Refused(_) => (2, 2),
        RecordedDecision::Quarantined(_) => (2, 3),
        RecordedDecision::Revoked => (2, 99),
        // Nothing came of it: the profile calls that logged.
        RecordedDecision::Compared => (1, 17),
    };
    let activity = if passage.gate == "result" || passage.gate == "listing" { READ } else { OTHER };
    let milliseconds = passage.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut event = object! {
        "category_uid" => CATEGORY,
        "class_uid" => CLASS,
        "activity_id" => activity,
        "type_uid" => CLASS * 100 + activity,
        "time" => u64::try_from(milliseconds).unwrap_or(u64::MAX),
        "duration" => u64::try_from(passage.elapsed.as_millis()).unwrap_or(u64::MAX),
        "severity_id" => severity(passage),
        "status_id" => if action == 1 { 1_u64 } else { 2 },
        "action_id" => action,
        "disposition_id" => disposition,
        "message" => format!("{} gate: {decision}", passage.gate),
        "metadata" => Value::from(object! {
            "version" => VERSION,
            "uid" => passage.id.to_string(),
            "profiles" => vec![Value::from("security_control")],
            "product" => Value::from(object! {
                "name" => "Portcullis",
                "vendor_name" => "Portcullis",
                "version" => env!("CARGO_PKG_VERSION"),
            }),
        }),
        "actor" => Value::from(object! {
            "app_name" => "MCP client",
            "session" => Value::from(object! { "uid" => passage.session.as_str() }),
        }),
        "api" => Value::from(object! {
            "operation" => format!("{}:{}", passage.gate, passage.name),
            "service" => Value::from(object! { "name" => passage.server.as_str() }),
        }),
        "src_endpoint" => Value::from(object! { "svc_name" => "MCP client" }),
        "dst_endpoint" => Value::from(object! { "svc_name" => passage.server.as_str() }),
    };
    if activity == OTHER {
        event.insert("activity_name", passage.gate.as_str());
    }
    if let Some(code) = code {
        event.insert("status_code", code);
    }
    if let Some(policy) = decided_by(passage) {
        event.insert("policy", policy);
    }
    event.insert("unmapped", entry::to_value(passage));
    event.into()
}

fn decided_by(passage: &JournalEntry) -> Option<Object> {
    let name = passage.decided_by.as_ref()?;
    let mut policy = object! { "name" => name.as_str() };
    if let Some(entry) = passage.policies.iter().find(|entry| entry.policy == *name) {
        policy.insert("uid", entry.digest.to_string());
    }
    Some(policy)
}

/// The gravest finding; a refusal without one is medium, all else informational.
fn severity(passage: &JournalEntry) -> u64 {
    let least = match passage.decision {
        RecordedDecision::Refused(_) | RecordedDecision::Quarantined(_) => 3,
        RecordedDecision::Cleared
        | RecordedDecision::Edited
        | RecordedDecision::Approved
        | RecordedDecision::Revoked
        | RecordedDecision::Compared => 1,
    };
    let findings = passage.policies.iter().flat_map(|policy| &policy.findings);
    let graded = findings.map(|finding| match finding.severity.as_str() {
        "low" => 2,
        "medium" => 3,
        "high" => 4,
        "critical" => 5,
        _ => 1,
    });
    graded.max().unwrap_or(least)
}
