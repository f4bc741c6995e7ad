use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use portcullis_gates::Journal as _;

use super::{all, block_on, home, record};
use crate::append::Bounds;
use crate::{Home, SqliteStore, StoreOptions};

const HOME_OF_CHILD: &str = "PORTCULLIS_STORE_TEST_HOME";

/// Small segments, so that the child is killed while it begins another, too.
const BOUNDS: Bounds = Bounds { segment: 16 << 10, backlog: 64 << 20 };

fn store(home: &Home) -> SqliteStore {
    SqliteStore::open_with(&home.database(), home.folder("journal").unwrap(), StoreOptions::default(), BOUNDS).unwrap()
}

/// A process that writes records as fast as it can and says which were acknowledged.
pub(super) struct Writing {
    child: Child,
    acknowledged: Arc<AtomicUsize>,
    reading: Option<JoinHandle<Vec<String>>>,
}

impl Writing {
    pub(super) fn start(home: &Home) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::crash::the_child_writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(HOME_OF_CHILD, home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&acknowledged);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reading = std::thread::spawn(move || {
            let mut names = Vec::new();
            for line in lines.map_while(Result::ok) {
                // The last line of a process that was killed may be cut.
                if let Some(name) = line.strip_suffix('!').filter(|line| line.starts_with("child-")) {
                    names.push(name.to_owned());
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
            names
        });
        Self { child, acknowledged, reading: Some(reading) }
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Kills the process with SIGKILL and returns the records that it had acknowledged.
    pub(super) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reading.take().unwrap().join().unwrap()
    }
}

#[test]
#[ignore = "runs in a process of its own, started by other tests"]
fn the_child_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(HOME_OF_CHILD) else { return };
    let store = store(&Home::open(path.as_ref()).unwrap());
    let process = std::process::id();
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let store = &store;
            scope.spawn(move || {
                // Bounded in case nobody kills it.
                for index in 0..100_000 {
                    let name = format!("child-{process}-{caller}-{index}");
                    block_on(store.write(record(&name))).unwrap();
                    writeln!(std::io::stdout().lock(), "{name}!").unwrap();
                }
            });
        }
    });
}

#[test]
fn every_acknowledged_record_survives_a_hundred_kills_of_the_writer() {
    let (_folder, home) = home();
    let mut acknowledged = BTreeSet::new();
    for round in 0..100_usize {
        let child = Writing::start(&home);
        // Killed at another point each time: before the first record too.
        let wanted = round * 7 % 150;
        while child.acknowledged() < wanted {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        acknowledged.extend(child.kill());
    }
    let store = store(&home);
    let entries = all(&store);
    let written: BTreeSet<_> = entries.iter().map(|entry| entry.name.clone()).collect();
    assert_eq!(written.len(), entries.len(), "nothing is there twice");
    let lost: Vec<_> = acknowledged.difference(&written).collect();
    assert!(lost.is_empty(), "{} of {} were lost: {lost:?}", lost.len(), acknowledged.len());
    // At most one record of each of the four callers was written and not yet told.
    assert!(written.len() <= acknowledged.len() + 4 * 100, "{} and {}", written.len(), acknowledged.len());
    let left: Vec<_> =
        std::fs::read_dir(home.path().join("journal")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().is_some_and(|ending| ending == "new")), "{left:?}");
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
