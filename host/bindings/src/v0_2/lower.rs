//! From the vocabulary of the host to facts of the draft.

use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Era, Facts, ServerName, Trust};

/// Returns what the host knows, by name, as JSON.
pub(super) fn facts(facts: &Facts) -> Vec<(&'static str, String)> {
    let text = |text: &str| Value::from(text).to_json();
    let labels: Vec<Value> = facts.labels.iter().map(|label| Value::from(label.name.as_str())).collect();
    let mut all = vec![
        ("session", text(facts.session.as_str())),
        ("principal", text(facts.principal.as_str())),
        ("client", text(&facts.client.name)),
        (
            "era",
            text(match facts.era {
                Era::Initialize => "initialize",
                Era::Stateless => "stateless",
            }),
        ),
        ("server", text(facts.server.as_ref().map_or("", ServerName::as_str))),
        ("labels", Value::from(labels).to_json()),
        ("round", facts.round.to_string()),
    ];
    all.extend(facts.server_trust.map(|trust| {
        (
            "server-trust",
            text(match trust {
                Trust::Full => "full",
                Trust::Untrusted => "untrusted",
            }),
        )
    }));
    all.extend(facts.approver.map(|approver| {
        (
            "approver",
            text(match approver {
                ApproverClass::Client => "client",
                ApproverClass::Operator => "operator",
            }),
        )
    }));
    all
}
