//! Passages as they are recorded.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::{JournalReader as _, Query};
use tokio::time::Instant;

use super::Control;
use super::messages::passage;
use super::reading::{Arguments, Problem, off_thread};

/// The journal is asked so often while somebody waits: a record reaches it within a second anyway.
const ROUND: Duration = Duration::from_millis(500);
/// So long one call waits at most, as long as clients let a call run.
const LONGEST_WAIT: i64 = 300_000;

/// Returns what was recorded after a cursor.
pub(super) fn poll(control: &Control, arguments: &Arguments) -> Result<Value, Problem> {
    let limit = arguments.limit(20)?;
    let Some(after) = cursor(control, arguments)? else {
        return Ok(object! { "events" => Vec::<Value>::new(), "next_cursor" => 0_u64 }.into());
    };
    let session = arguments.text("session")?.map(str::to_owned);
    let query = Query { after: Some(after), session, limit, ..Query::default() };
    let entries = control.store.earliest(&query).map_err(|error| Problem::of("reading the journal", &error))?;
    let next = entries.last().map_or(after, |entry| entry.id);
    let events = entries.iter().map(|entry| passage(entry, None)).collect::<Vec<_>>();
    Ok(object! { "events" => events, "next_cursor" => next }.into())
}

/// Waits for the next one.
pub(super) async fn wait(control: &Arc<Control>, arguments: &Arguments) -> Result<Value, Problem> {
    let limit = arguments.number("timeout_ms", 30_000, 0, LONGEST_WAIT)?;
    let until = Instant::now() + Duration::from_millis(u64::try_from(limit).unwrap_or_default());
    let after =
        off_thread(control, arguments, |control, arguments| Ok(cursor(control, arguments)?.unwrap_or_default().into()));
    let after = after.await?.as_i64().unwrap_or_default();
    loop {
        let next = arguments.with("after_cursor", after.into()).with("limit", 1_u64.into());
        let found = off_thread(control, &next, poll).await?;
        if let Some(event) = found.pointer("/events/0") {
            let next = found.get("next_cursor").cloned().unwrap_or(Value::Null);
            return Ok(object! { "event" => event.clone(), "next_cursor" => next }.into());
        }
        if Instant::now() + ROUND > until {
            tokio::time::sleep_until(until).await;
            return Ok(object! { "event" => Value::Null, "reason" => "timeout", "next_cursor" => after }.into());
        }
        tokio::time::sleep(ROUND).await;
    }
}

/// Returns the cursor that is named, else that of the latest passage; nothing where there is none yet.
fn cursor(control: &Control, arguments: &Arguments) -> Result<Option<i64>, Problem> {
    let named = arguments.number("after_cursor", -1, -1, i64::MAX)?;
    if named >= 0 {
        return Ok(Some(named));
    }
    let query = Query { limit: 1, ..Query::default() };
    let latest = control.store.latest(&query).map_err(|error| Problem::of("reading the journal", &error))?;
    Ok(Some(latest.first().map_or(0, |entry| entry.id)))
}
