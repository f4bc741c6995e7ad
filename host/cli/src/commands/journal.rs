//! `portcullis journal`: what the gates did, shown, exported and checked.

mod entry;
mod ocsf;
mod verify;

pub(crate) use entry::{line as entry_line, to_value as entry_value, told};

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::{JournalEntry, JournalReader as _, Query, SqliteStore};

use crate::arguments::journal::{Export, ExportForm, Journal, QueryEntries, ShowEntry, Tail};
use crate::failure::OrExit as _;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// `tail --follow` looks so often for what is new.
const LOOK: Duration = Duration::from_millis(500);

/// Passages that an export reads at once.
const BATCH: usize = 1_000;

/// Carries out one of the commands.
pub(crate) fn run(settings: &Settings, command: &Journal) -> Result<Exit, Failure> {
    match command {
        Journal::Tail(arguments) => tail(&*settings.open_store(&arguments.config)?, arguments),
        Journal::Show(arguments) => show(&*settings.open_store(&arguments.config)?, arguments),
        Journal::Query(arguments) => query(&*settings.open_store(&arguments.config)?, arguments),
        Journal::Export(arguments) => export(&settings.open_store(&arguments.config)?, arguments),
        Journal::Verify(arguments) => verify::verify(settings, arguments),
        Journal::Heads(config) => verify::heads(settings, config),
    }
}

fn read(store: &SqliteStore, query: &Query) -> Result<Vec<JournalEntry>, Failure> {
    store.latest(query).or_exit(Exit::State, "reading the journal")
}

fn tail(store: &SqliteStore, arguments: &Tail) -> Result<Exit, Failure> {
    let query = arguments.filters.query(arguments.lines);
    let mut entries = read(store, &query)?;
    let mut after = read(store, &Query { limit: 1, ..Query::default() })?.first().map_or(0, |entry| entry.id);
    loop {
        entries.reverse();
        let mut out = io::BufWriter::new(io::stdout().lock());
        for entry in &entries {
            after = after.max(entry.id);
            let line = if arguments.json { entry::to_value(entry).to_json() } else { entry::line(entry) };
            if ended(writeln!(out, "{line}"))? {
                return Ok(Exit::Success);
            }
        }
        if ended(out.flush())? || !arguments.follow {
            return Ok(Exit::Success);
        }
        drop(out);
        std::thread::sleep(LOOK);
        entries = read(store, &Query { after: Some(after), limit: Query::MOST, ..query.clone() })?;
    }
}

fn show(store: &SqliteStore, arguments: &ShowEntry) -> Result<Exit, Failure> {
    let found = store.entry(arguments.id).or_exit(Exit::State, "reading the journal")?;
    let entry = found.ok_or_else(|| {
        Failure::new(Exit::Failed, format!("the journal has no passage {}", arguments.id))
            .hint("`portcullis journal tail` shows the latest; old ones are removed as `journal` in the config says")
    })?;
    report::print(&entry::Whole(entry), arguments.format)?;
    Ok(Exit::Success)
}

fn query(store: &SqliteStore, arguments: &QueryEntries) -> Result<Exit, Failure> {
    let entries = read(store, &arguments.filters.query(arguments.limit))?;
    report::print(&Entries(entries), arguments.format)?;
    Ok(Exit::Success)
}

struct Entries(Vec<JournalEntry>);

impl Report for Entries {
    fn to_value(&self) -> Value {
        object! { "passages" => self.0.iter().map(entry::to_value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.iter().try_for_each(|entry| writeln!(out, "{}", entry::line(entry)))
    }
}

fn export(store: &Arc<SqliteStore>, arguments: &Export) -> Result<Exit, Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut after = None;
    loop {
        let query = Query { after, ..arguments.filters.query(BATCH) };
        let entries = store.earliest(&query).or_exit(Exit::State, "reading the journal")?;
        for entry in &entries {
            let value = match arguments.form {
                ExportForm::Jsonl => entry::to_value(entry),
                ExportForm::Ocsf => ocsf::event(entry),
            };
            if ended(writeln!(out, "{}", value.to_json()))? {
                return Ok(Exit::Success);
            }
        }
        after = entries.last().map(|entry| entry.id);
        if entries.len() < BATCH {
            return ended(out.flush()).map(|_| Exit::Success);
        }
    }
}

/// Returns true where nobody reads the output any more, which is no error.
fn ended(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        written => written.map(|()| false).or_exit(Exit::Internal, "writing to standard output"),
    }
}
