//! Group commit: whoever waits for the disk waits for one flush together with all others.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use portcullis_gates::JournalError;
use tokio::sync::oneshot;

use crate::lock;

/// The thread that flushes.
#[derive(Debug)]
pub(crate) struct Flusher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    failed: AtomicBool,
}

/// What the next flush is for. Callers wait for their own record, so there are as many as there are calls in flight.
#[derive(Debug, Default)]
struct Waiting {
    files: Vec<Arc<File>>,
    callers: Vec<oneshot::Sender<Result<(), JournalError>>>,
    stop: bool,
}

impl Flusher {
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("portcullis-flush".to_owned()).spawn(move || theirs.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Returns what tells when all that was written to a file so far is on the disk.
    pub(crate) fn flush(&self, file: &Arc<File>) -> oneshot::Receiver<Result<(), JournalError>> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.shared.waiting);
        if !waiting.files.iter().any(|known| Arc::ptr_eq(known, file)) {
            waiting.files.push(Arc::clone(file));
        }
        waiting.callers.push(sender);
        drop(waiting);
        self.shared.changed.notify_one();
        receiver
    }

    /// Returns true where a flush failed: the system may have dropped what it could not write, and a later flush that
    /// succeeds says nothing about it.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Acquire)
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut waiting = lock(&self.waiting);
            while waiting.callers.is_empty() && !waiting.stop {
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            let (files, callers) = (std::mem::take(&mut waiting.files), std::mem::take(&mut waiting.callers));
            drop(waiting);
            if callers.is_empty() {
                return;
            }
            let result = files.iter().try_for_each(|file| file.sync_data()).map_err(|error| {
                self.failed.store(true, Ordering::Release);
                JournalError(format!("the segment of the journal could not be flushed to the disk: {error}"))
            });
            for caller in callers {
                // A caller that went away needs no answer.
                let _gone = caller.send(result.clone());
            }
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        lock(&self.shared.waiting).stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            let _panicked = thread.join();
        }
    }
}
