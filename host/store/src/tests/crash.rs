use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use portcullis_gates::Journal as _;

use super::{block_on, home, record, store};
use crate::{Home, JournalReader as _, Query};

const HOME_OF_CHILD: &str = "PORTCULLIS_STORE_TEST_HOME";

/// A process that writes records as fast as it can and says which were acknowledged.
pub(super) struct Writing {
    child: Child,
    acknowledged: Arc<AtomicUsize>,
    reading: Option<JoinHandle<()>>,
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
            for line in lines.map_while(Result::ok) {
                if line.starts_with("child-") {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Self { child, acknowledged, reading: Some(reading) }
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Kills the process with SIGKILL and returns how many records it had acknowledged.
    pub(super) fn kill(&mut self) -> usize {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        if let Some(reading) = self.reading.take() {
            reading.join().unwrap();
        }
        self.acknowledged()
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
                    writeln!(std::io::stdout().lock(), "{name}").unwrap();
                }
            });
        }
    });
}

#[test]
fn every_acknowledged_record_survives_a_kill_of_the_writer() {
    let (_folder, home) = home();
    let mut acknowledged = 0;
    for round in 0..4 {
        let mut child = Writing::start(&home);
        while child.acknowledged() < 150 + round * 100 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        acknowledged += child.kill();
        let entries = store(&home).latest(&Query { limit: Query::MOST, ..Query::default() }).unwrap();
        let names: BTreeSet<_> = entries.iter().map(|entry| &entry.name).collect();
        assert_eq!(names.len(), entries.len(), "nothing is written twice");
        // At most one record of each of the four callers was written and not yet acknowledged.
        assert!(names.len() >= acknowledged.min(Query::MOST), "{} of {acknowledged} survived", names.len());
        assert!(names.len() <= acknowledged + 4 * (round + 1));
    }
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
