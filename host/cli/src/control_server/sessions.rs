//! Sessions: what passed the gates for each, and who they are while they last.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::{JournalEntry, JournalReader as _, Query};

use super::Control;
use super::reading::{Arguments, Problem, off_thread};
use crate::moment;
use crate::operator::Gateways;

/// So many of the latest passages are looked through for sessions.
const LOOKED_AT: usize = 5_000;
/// Of one session, so many passages are counted.
const COUNTED: usize = Query::MOST;

/// Lists sessions, the latest first.
pub(super) async fn list(control: &Arc<Control>, arguments: &Arguments) -> Result<Value, Problem> {
    let (limit, search) = (arguments.limit(50)?, arguments.text("search")?.map(str::to_lowercase));
    let listed = off_thread(control, arguments, recorded).await?;
    let mut listed = listed.as_array().unwrap_or_default().to_vec();
    let live = live(control).await;
    for session in &mut listed {
        add_live(session, &live);
    }
    // Sessions that did nothing yet are known to their gateways alone.
    for (id, session) in &live {
        if !listed.iter().any(|known| known.get("session").and_then(Value::as_str) == Some(id)) {
            let mut quiet = object! { "session" => id.as_str(), "passages" => 0_u64 };
            quiet.insert("live", session.clone());
            listed.insert(0, quiet.into());
        }
    }
    let matches = |session: &Value| search.as_ref().is_none_or(|text| session.to_json().to_lowercase().contains(text));
    listed.retain(matches);
    listed.truncate(limit);
    Ok(object! { "sessions" => listed, "gateways_asked" => !live.is_empty() }.into())
}

/// Tells of one session.
pub(super) async fn get(control: &Arc<Control>, arguments: &Arguments) -> Result<Value, Problem> {
    let id = arguments.needed("session")?.to_owned();
    let mut session = off_thread(control, arguments, one).await?;
    let live = live(control).await;
    add_live(&mut session, &live);
    if session.get("passages").and_then(Value::as_u64) == Some(0) && session.get("live").is_none() {
        return Err(Problem::new(format!("no session `{}` is known", id.chars().take(64).collect::<String>())));
    }
    Ok(session)
}

fn recorded(control: &Control, _: &Arguments) -> Result<Value, Problem> {
    let query = Query { limit: LOOKED_AT, ..Query::default() };
    let entries = control.store.latest(&query).map_err(|error| Problem::of("reading the journal", &error))?;
    let mut order: Vec<&str> = Vec::new();
    let mut by_session: BTreeMap<&str, Vec<&JournalEntry>> = BTreeMap::new();
    for entry in &entries {
        let passages = by_session.entry(&entry.session).or_default();
        if passages.is_empty() {
            order.push(&entry.session);
        }
        passages.push(entry);
    }
    let sessions = order.into_iter().filter_map(|id| Some(summary(id, by_session.get(id)?)));
    Ok(sessions.collect::<Vec<Value>>().into())
}

fn one(control: &Control, arguments: &Arguments) -> Result<Value, Problem> {
    let id = arguments.needed("session")?;
    let query = Query { session: Some(id.to_owned()), limit: COUNTED, ..Query::default() };
    let entries = control.store.latest(&query).map_err(|error| Problem::of("reading the journal", &error))?;
    let entries: Vec<&JournalEntry> = entries.iter().collect();
    let mut session = summary(id, &entries);
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for entry in &entries {
        *counts.entry((entry.gate.as_str(), entry.outcome().0)).or_default() += 1;
    }
    let counts = counts.into_iter().map(|((gate, outcome), count)| {
        Value::from(object! { "gate" => gate, "outcome" => outcome, "count" => count })
    });
    if let Some(object) = session.as_object_mut() {
        object.insert("by_gate", counts.collect::<Vec<_>>());
    }
    Ok(session)
}

/// Returns a session, from its passages, the newest first.
fn summary(id: &str, entries: &[&JournalEntry]) -> Value {
    let mut servers: Vec<&str> = entries.iter().map(|entry| entry.server.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    servers.retain(|server| !server.is_empty());
    let refused = entries.iter().filter(|entry| matches!(entry.outcome().0, "refused" | "quarantined")).count();
    let mut session = object! {
        "session" => id,
        "passages" => entries.len() as u64,
        "refused" => refused as u64,
        "servers" => servers.into_iter().map(Value::from).collect::<Vec<_>>(),
    };
    if let (Some(last), Some(first)) = (entries.first(), entries.last()) {
        session.insert("last_at", moment::show(last.at));
        session.insert("first_at", moment::show(first.at));
    }
    session.into()
}

/// Returns what running gateways tell of their sessions, by id.
async fn live(control: &Control) -> BTreeMap<String, Object> {
    let mut sessions = BTreeMap::new();
    let Ok(gateways) = Gateways::of(&control.home) else {
        return sessions;
    };
    for mut connection in gateways.connect().await.unwrap_or_default() {
        // One that does not answer is none that runs.
        for (what, value) in connection.status().await.unwrap_or_default() {
            if let ("session", Value::Object(session)) = (what.as_str(), value)
                && let Some(id) = session.get("id").and_then(Value::as_str).map(str::to_owned)
            {
                sessions.insert(id, session);
            }
        }
    }
    sessions
}

fn add_live(session: &mut Value, live: &BTreeMap<String, Object>) {
    let known = session.get("session").and_then(Value::as_str).and_then(|id| live.get(id));
    if let (Some(known), Some(object)) = (known.cloned(), session.as_object_mut()) {
        object.insert("live", known);
    }
}
