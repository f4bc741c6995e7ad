//! `portcullis approvals watch`: told of every question while it runs. Whoever watches counts as present: calls wait.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::Home;
use tokio::sync::mpsc;

use super::print::{Detail, write_line};
use crate::arguments::Format;
use crate::failure::OrExit as _;
use crate::operator::{Connection, ConnectionError, Gateways, Shown, shown_to_value};
use crate::report::Report as _;
use crate::{Exit, Failure};

/// New gateways are looked for this often.
const LOOK: Duration = Duration::from_secs(1);

/// So many news of gateways wait to be printed.
const MOST_NEWS: usize = 16;

/// What a gateway has open; nothing once it ended.
type News = (PathBuf, Option<Vec<Shown>>);

/// Watches all gateways, those that start later as well, until it is interrupted.
pub(super) async fn run(home: &Home, format: Format) -> Result<Exit, Failure> {
    let gateways = Gateways::of(home).or_exit(Exit::State, "opening the folder for approvals")?;
    let (sender, mut receiver) = mpsc::channel::<News>(MOST_NEWS);
    let mut known: BTreeMap<PathBuf, Vec<Shown>> = BTreeMap::new();
    let mut looking = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = looking.tick() => {
                for path in gateways.sockets().or_exit(Exit::State, "looking for running gateways")? {
                    if let std::collections::btree_map::Entry::Vacant(place) = known.entry(path.clone()) {
                        place.insert(Vec::new());
                        tokio::spawn(follow(path, sender.clone()));
                    }
                }
            }
            Some((path, questions)) = receiver.recv() => {
                let before = known.remove(&path).unwrap_or_default();
                print(&before, questions.as_deref().unwrap_or_default(), format)?;
                if let Some(questions) = questions {
                    known.insert(path, questions);
                }
            }
        }
    }
}

/// Passes on what one gateway tells.
async fn follow(path: PathBuf, sender: mpsc::Sender<News>) {
    let told = async {
        let mut connection = Connection::open(&path).await?;
        connection.watch().await?;
        loop {
            let questions = connection.next().await?;
            if sender.send((path.clone(), Some(questions))).await.is_err() {
                return Ok(());
            }
        }
    };
    let told: Result<(), ConnectionError> = told.await;
    match told {
        Err(ConnectionError::Gone) => crate::operator::forget(&path),
        Err(ConnectionError::Ended) | Ok(()) => {}
        Err(error) => super::unreachable_gateway(&error),
    }
    // Not at once: a gateway that turns watchers away would be asked without a pause.
    tokio::time::sleep(LOOK).await;
    let _printing_ended = sender.send((path, None)).await;
}

/// Prints what is new and what is gone.
fn print(before: &[Shown], now: &[Shown], format: Format) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let has = |list: &[Shown], id: &str| list.iter().any(|shown| shown.id == id);
    let mut write = || -> io::Result<()> {
        for shown in now.iter().filter(|shown| !has(before, &shown.id)) {
            if format.json {
                writeln!(out, "{}", Value::from(object! { "asked" => shown_to_value(shown) }).to_json())?;
            } else {
                Detail(shown.clone()).write_text(&mut out)?;
            }
        }
        for shown in now.iter().filter(|shown| shown.answered.is_some()) {
            let was_answered = before.iter().any(|old| old.id == shown.id && old.answered == shown.answered);
            if !was_answered && !format.json {
                write_line(shown, &mut out)?;
            }
        }
        for shown in before.iter().filter(|shown| !has(now, &shown.id)) {
            if format.json {
                writeln!(out, "{}", Value::from(object! { "closed" => shown.id.as_str() }).to_json())?;
            } else {
                writeln!(out, "{} is closed", crate::failure::one_line(&shown.id))?;
            }
        }
        out.flush()
    };
    match write() {
        // Whoever read is gone, and nobody watches any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::new(Exit::Success, "nobody reads")),
        written => written.or_exit(Exit::Internal, "writing to standard output"),
    }
}
