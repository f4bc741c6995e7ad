mod concurrency;
mod crash;
mod grants;
mod journal;
mod migration;
mod payloads;
mod pins;
mod privacy;
mod verify;
mod versions;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, UNIX_EPOCH};

use portcullis_gates::{Cost, PolicyOutcome, PolicyRecord, Record, RecordedDecision};
use portcullis_model::{Digest, GateName, PolicyName};
use tempfile::TempDir;

use crate::{Home, JournalEntry, JournalReader as _, Query, SqliteStore, StoreOptions};

/// A home of its own, gone with the value.
fn home() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(&folder.path().join("home")).unwrap();
    (folder, home)
}

fn store(home: &Home) -> SqliteStore {
    SqliteStore::open(home, StoreOptions::default()).unwrap()
}

/// Returns all entries, the newest first.
fn all(store: &SqliteStore) -> Vec<JournalEntry> {
    let mut entries: Vec<JournalEntry> = Vec::new();
    loop {
        let before = entries.last().map(|entry| entry.id);
        let more = store.latest(&Query { before, limit: Query::MOST, ..Query::default() }).unwrap();
        if more.is_empty() {
            return entries;
        }
        entries.extend(more);
    }
}

/// A passage that two policies let through.
fn record(name: &str) -> Record {
    Record {
        at: UNIX_EPOCH + Duration::from_micros(1_800_000_000_000_001),
        session: "session-1".to_owned(),
        gate: GateName::Call,
        server: "files".to_owned(),
        name: name.to_owned(),
        subject: Digest::of(name.as_bytes()),
        generation: 3,
        decision: RecordedDecision::Cleared,
        decided_by: None,
        policies: vec![allowed("trust"), allowed("flow")],
        approvals: Vec::new(),
        elapsed: Duration::from_nanos(41_123),
        inputs: Vec::new(),
    }
}

fn allowed(policy: &str) -> PolicyRecord {
    PolicyRecord {
        policy: PolicyName::parse(policy).unwrap(),
        digest: Digest::of(policy.as_bytes()),
        shadow: false,
        round: 1,
        outcome: PolicyOutcome::Allow,
        findings: Vec::new(),
        edits: 0,
        dropped: Vec::new(),
        cost: Cost { wall: Duration::from_nanos(9_001), cpu: Duration::from_nanos(8_002), memory: 131_072 },
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, without a runtime: the store needs none.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
