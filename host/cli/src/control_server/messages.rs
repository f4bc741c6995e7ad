//! Passages of a session, with their texts where the journal keeps them.

use portcullis_gates::Judged;
use portcullis_model::json::Value;
use portcullis_model::{Subject, object};
use portcullis_store::{JournalEntry, JournalReader as _, Query};

use super::Control;
use super::reading::{Arguments, Problem};
use crate::{moment, passages};

/// A text is cut to so many characters.
const LONGEST_TEXT: usize = 2_000;
/// A passage shows so many texts.
const MOST_TEXTS: usize = 50;

/// Reads the latest passages of a session, oldest first.
pub(super) fn read(control: &Control, arguments: &Arguments) -> Result<Value, Problem> {
    let query = Query {
        session: Some(arguments.needed("session")?.to_owned()),
        limit: arguments.limit(50)?,
        ..Query::default()
    };
    let mut entries = control.store.latest(&query).map_err(|error| Problem::of("reading the journal", &error))?;
    entries.reverse();
    let messages = entries.iter().map(|entry| passage(entry, told(control, entry).as_ref())).collect::<Vec<_>>();
    Ok(object! { "messages" => messages }.into())
}

/// Describes the binaries of a passage.
pub(super) fn attachments(control: &Control, arguments: &Arguments) -> Result<Value, Problem> {
    let id = arguments.number("message", -1, -1, i64::MAX)?;
    let entry = control.store.entry(id).map_err(|error| Problem::of("reading the journal", &error))?;
    let session = arguments.needed("session")?;
    let entry = entry.filter(|entry| entry.session == session);
    let entry = entry.ok_or_else(|| Problem::new(format!("that session has no passage {id}")))?;
    let Some(judged) = told(control, &entry) else {
        return Err(Problem::new("nothing of this passage was kept (`journal: {payloads: full}` keeps it)"));
    };
    let Subject::Result(subject) = &judged.subject else {
        return Ok(object! { "attachments" => Vec::<Value>::new() }.into());
    };
    let described = subject.descriptors.iter().map(|descriptor| {
        Value::from(object! {
            "pointer" => descriptor.pointer.as_str(),
            "mime_type" => descriptor.mime.as_str(),
            "bytes" => descriptor.length,
            "digest" => descriptor.digest.to_string(),
        })
    });
    Ok(object! { "attachments" => described.collect::<Vec<_>>() }.into())
}

/// Returns what policies were told of a passage first, where it was kept and can be opened.
fn told(control: &Control, entry: &JournalEntry) -> Option<Judged> {
    let sealed = control.store.payload(entry.payload.as_ref()?).ok()??;
    control.key.open(&sealed).ok()?.into_iter().next()
}

/// Returns a passage, with its texts where they are known.
pub(super) fn passage(entry: &JournalEntry, judged: Option<&Judged>) -> Value {
    let mut value = passages::to_value(entry);
    let Some(object) = value.as_object_mut() else {
        return value;
    };
    object.insert("at", moment::show(entry.at));
    object.insert("session", entry.session.as_str());
    let Some((judged, position)) =
        judged.and_then(|judged| Some((judged, judged.position(&entry.name, &entry.subject)?)))
    else {
        return value;
    };
    let segments = judged.segments(position);
    let texts = segments.iter().filter(|segment| !segment.key).take(MOST_TEXTS).map(|segment| {
        let cut: String = segment.text.chars().take(LONGEST_TEXT).collect();
        let mut text = object! { "pointer" => segment.pointer.as_str(), "text" => cut.as_str() };
        if cut.len() < segment.text.len() {
            text.insert("cut", true);
        }
        Value::from(text)
    });
    let texts = texts.collect::<Vec<_>>();
    object.insert("texts", texts);
    value
}
