//! What is shown of servers.

use std::time::{Duration, SystemTime};

use portcullis_mcp::status::{ServerStatus, Usage};
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// Returns a server for scripts.
pub(crate) fn to_object(server: &ServerStatus) -> Object {
    let mut object = object! {
        "name" => server.server.as_str(),
        "transport" => server.transport,
        "phase" => server.phase.as_str(),
        "since_ms" => unix_ms(server.since),
        "starts" => server.starts,
        "breaker" => server.breaker.as_str(),
    };
    let mut optional = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            object.insert(key, value);
        }
    };
    optional("code", server.reason_code.as_deref());
    optional("reason", server.reason.as_deref());
    optional("implementation", server.implementation.as_deref());
    optional("protocol", server.protocol.as_deref());
    optional("pending", server.pending.as_deref());
    for (key, time) in [("started_in_ms", server.started_in), ("retry_in_ms", server.retry_in)] {
        if let Some(time) = time {
            object.insert(key, millis(time));
        }
    }
    if let Some(confinement) = &server.confinement {
        let texts = |lines: &[String]| lines.iter().map(|line| Value::from(line.as_str())).collect::<Vec<_>>();
        let confined = texts(&confinement.confined);
        object.insert("sandbox", object! { "confined" => confined, "not_confined" => texts(&confinement.open) });
    }
    let counts = server.counts;
    object.insert("usage", usage_to_value(&server.usage));
    object.insert("tools_listed", counts.tools_listed as u64);
    object.insert("tools_exposed", counts.tools_exposed as u64);
    object.insert("tools_filtered", counts.tools_filtered as u64);
    object.insert("listed", counts.listed as u64);
    object.insert("exposed", counts.exposed as u64);
    let withheld = server.withheld.iter().map(|item| {
        let mut object = object! {
            "kind" => item.kind.as_str(),
            "name" => item.name.as_str(),
            "code" => item.code.as_str(),
            "detail" => item.detail.as_str(),
        };
        if let Some(policy) = &item.policy {
            object.insert("policy", policy.as_str());
        }
        Value::from(object)
    });
    object.insert("withheld", withheld.collect::<Vec<_>>());
    object
}

/// Returns what a server was used for. The tools stand in the order of their use, the most used first.
fn usage_to_value(usage: &Usage) -> Value {
    let mut used: Vec<(&String, &u64)> = usage.tools.iter().collect();
    used.sort_by(|left, right| right.1.cmp(left.1));
    let mut tools = Object::new();
    for (name, count) in used {
        tools.insert(name.as_str(), *count);
    }
    let sampling = usage.sampling;
    let sampling = object! {
        "requests" => sampling.requests,
        "errors" => sampling.errors,
        "tokens" => sampling.tokens,
        "tool_uses" => sampling.tool_uses,
    };
    object! {
        "sampling" => sampling,
        "requests" => usage.requests,
        "errors" => usage.errors,
        "unanswered" => usage.unanswered,
        "tokens_sent_estimate" => usage.tokens_sent,
        "tokens_received_estimate" => usage.tokens_received,
        "tools" => tools,
        "other_tools" => usage.other_tools,
    }
    .into()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since the start of 1970, as the journal counts them.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    millis(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
