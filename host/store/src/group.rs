//! Group commit: many records, one transaction.
//!
//! A caller that queued its record lets the tasks that are ready run once, so that they can queue theirs; then, if nobody
//! wrote it meanwhile, it commits all that wait. Nobody relies on another one being polled again, which a task that holds
//! several calls may not do. Measured by `tests/latency.rs` on two busy cores, against a caller that
//! commits at once and against a writer thread: one caller waits 21 µs, 15 µs and 27 µs (a thread costs two switches,
//! more than the commit); 16 callers get 94,000, 54,000 and 81,000 records a second. So a thread is used only where
//! somebody must sleep, for the disk (`power`) or for another process that holds the lock, because a thread that
//! carries traffic must not.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use portcullis_gates::{JournalError, Record};
use tokio::sync::oneshot;

use crate::commit::{Patience, Writer, is_busy};
use crate::maintenance::Signal;

/// So many records wait at most. Callers wait for their own record, so this many only wait when the disk stands still;
/// the next passage is then refused instead of remembered.
const MOST_WAITING: usize = 4_096;

/// So many bytes of foreign text wait at most, for a policy that finds much.
const MOST_BYTES: usize = 16 << 20;

/// Records of one transaction: a millisecond or two, which is what another gateway of the home waits at most.
const LARGEST_BATCH: usize = 256;

/// A caller commits for others so often before it hands over to the thread: it has a message of its own to carry on.
const MOST_ROUNDS: usize = 4;

/// The log is looked after each time this many transactions were added to it (16 to 50 MB), or when nothing is written.
/// A checkpoint waits for the disk, and file systems let writes to the log wait with it: a rare one of 20 ms stays out of
/// the 99th percentile, one for each 256 transactions does not (measured).
const COMMITS_BETWEEN_CHECKPOINTS: u64 = 4_096;

/// What callers and the thread share.
#[derive(Debug)]
pub(crate) struct Group {
    queue: Mutex<Queue>,
    writer: Mutex<Writer>,
    commits: AtomicU64,
    pub(crate) signal: Signal,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Pending>,
    bytes: usize,
}

#[derive(Debug)]
struct Pending {
    record: Record,
    bytes: usize,
    done: oneshot::Sender<Result<(), JournalError>>,
}

impl Group {
    pub(crate) fn new(writer: Writer) -> Self {
        Self {
            queue: Mutex::default(),
            writer: Mutex::new(writer),
            commits: AtomicU64::new(0),
            signal: Signal::default(),
        }
    }

    /// Queues a record. Its fate comes through the receiver, once somebody leads.
    pub(crate) fn enqueue(&self, record: Record) -> Result<oneshot::Receiver<Result<(), JournalError>>, JournalError> {
        let bytes = weight(&record);
        let (done, receiver) = oneshot::channel();
        let mut queue = lock(&self.queue);
        if queue.waiting.len() >= MOST_WAITING || queue.bytes.saturating_add(bytes) > MOST_BYTES {
            return Err(JournalError("too many records are waiting to be written".to_owned()));
        }
        queue.bytes += bytes;
        queue.waiting.push_back(Pending { record, bytes, done });
        Ok(receiver)
    }

    /// Lets the other ready tasks have a turn, then commits what waits unless somebody answered `receiver` meanwhile.
    pub(crate) async fn lead_after_turn(&self, receiver: &oneshot::Receiver<Result<(), JournalError>>) {
        let turn = Turn { group: self, receiver };
        // The runtime's own way to yield leaves the task on its thread. One that wakes itself is put where another thread may
        // take it, and each message of a lone caller crossed threads here (seen in traces of system calls).
        tokio::task::yield_now().await;
        drop(turn);
    }

    /// Commits what waits, if nobody else does. Never sleeps: where another process holds the lock, the thread goes on.
    pub(crate) fn lead(&self) {
        for _ in 0..MOST_ROUNDS {
            let Some(writer) = try_lock(&self.writer) else {
                // Whoever holds it looks into the queue after letting go.
                return;
            };
            match self.commit_batch(writer, Patience::None) {
                Step::Committed => {}
                // A record that was queued after the look into the queue and before the letting go is ours as well.
                Step::Empty if self.has_waiting() => {}
                Step::Empty => return,
                Step::Busy => break,
            }
        }
        if self.has_waiting() {
            self.signal.commit();
        }
    }

    /// Commits all that waits, sleeping where it must.
    pub(crate) fn lead_patiently(&self) {
        while self.commit_batch(lock(&self.writer), Patience::Full) == Step::Committed || self.has_waiting() {}
    }

    /// Lends the connection to something else that writes.
    pub(crate) fn with_writer<T>(&self, work: impl FnOnce(&mut Writer) -> T) -> T {
        let answer = work(&mut lock(&self.writer));
        if self.has_waiting() {
            self.signal.commit();
        }
        answer
    }

    /// Returns how many transactions were committed.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    fn has_waiting(&self) -> bool {
        !lock(&self.queue).waiting.is_empty()
    }

    fn commit_batch(&self, mut writer: MutexGuard<'_, Writer>, patience: Patience) -> Step {
        let batch = self.take_batch();
        if batch.is_empty() {
            return Step::Empty;
        }
        let result = writer.commit(batch.iter().map(|pending| &pending.record), patience);
        match result {
            Ok(()) => {
                drop(writer);
                for pending in batch {
                    pending.answer(Ok(()));
                }
            }
            Err(error) if patience == Patience::None && is_busy(&error) => {
                self.put_back(batch);
                return Step::Busy;
            }
            Err(error) if batch.len() == 1 || is_busy(&error) => {
                drop(writer);
                let error = journal_error(&error);
                for pending in batch {
                    pending.answer(Err(error.clone()));
                }
            }
            // One record that cannot be written must not take the others with it.
            Err(_) => {
                for pending in batch {
                    let result = writer.commit([&pending.record], patience);
                    pending.answer(result.map_err(|error| journal_error(&error)));
                }
            }
        }
        if self.commits.fetch_add(1, Ordering::Relaxed) % COMMITS_BETWEEN_CHECKPOINTS == COMMITS_BETWEEN_CHECKPOINTS - 1
        {
            self.signal.tidy();
        }
        Step::Committed
    }

    fn take_batch(&self) -> Vec<Pending> {
        let mut queue = lock(&self.queue);
        let count = queue.waiting.len().min(LARGEST_BATCH);
        let batch: Vec<_> = queue.waiting.drain(..count).collect();
        queue.bytes -= batch.iter().map(|pending| pending.bytes).sum::<usize>();
        batch
    }

    fn put_back(&self, batch: Vec<Pending>) {
        let mut queue = lock(&self.queue);
        for pending in batch.into_iter().rev() {
            queue.bytes += pending.bytes;
            queue.waiting.push_front(pending);
        }
    }
}

/// The intention to lead. Carried out on drop, so that the record of a caller that is cancelled meanwhile is written too.
struct Turn<'a> {
    group: &'a Group,
    receiver: &'a oneshot::Receiver<Result<(), JournalError>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.receiver.is_empty() && !self.receiver.is_terminated() {
            self.group.lead();
        }
    }
}

/// What came of an attempt to commit a batch.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Its callers have their answer, good or bad.
    Committed,
    /// Nothing was waiting.
    Empty,
    /// Another process holds the lock; nothing changed.
    Busy,
}

impl Pending {
    fn answer(self, result: Result<(), JournalError>) {
        // A caller that went away needs no answer.
        let _gone = self.done.send(result);
    }
}

/// Locks. A panic while the lock was held left nothing half done: transactions roll back, queues are whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The port's error is a text; this is the one place where the chain of causes becomes one.
pub(crate) fn journal_error(error: &dyn std::error::Error) -> JournalError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    JournalError(text)
}

/// Bytes of a record that others determine.
fn weight(record: &Record) -> usize {
    let policies = record.policies.iter().map(|policy| {
        let findings = policy.findings.iter().map(|finding| finding.message.len() + finding.evidence.len() * 12);
        let dropped = policy.dropped.iter().map(String::len);
        256 + findings.chain(dropped).sum::<usize>()
    });
    256 + record.server.len() + record.name.len() + policies.sum::<usize>()
}
