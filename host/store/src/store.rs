//! The SQLite-backed store.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use portcullis_gates::{Journal, JournalError, JournalFuture, Record};
use rusqlite::Connection;

use crate::commit::{Patience, Writer};
use crate::group::{Group, lock};
use crate::{Home, OpenError, maintenance, open};

/// What the store survives once a write is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// The end of this process, by a kill too. A power cut may lose the last records, never the database.
    #[default]
    Process,
    /// A power cut: each write waits for the disk.
    Power,
}

/// How long records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// So many records at most.
    pub records: u64,
    /// So old at most.
    pub age: Duration,
}

impl Default for Retention {
    /// A million records (about 400 MB) or 30 days.
    fn default() -> Self {
        Self { records: 1_000_000, age: Duration::from_hours(30 * 24) }
    }
}

/// How the store works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// What a write survives.
    pub durability: Durability,
    /// How long records are kept.
    pub retention: Retention,
}

/// Something could not be read from the store or written to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// `SQLite` failed: the disk is full, another process holds the lock for too long, the file is damaged.
    #[error("the database failed")]
    Sqlite(#[from] rusqlite::Error),
    /// A row is not what this program writes.
    #[error("{table} {row} of the database cannot be read")]
    Row {
        /// The table.
        table: &'static str,
        /// Which row.
        row: String,
    },
}

/// Journal, pins and versions in one `SQLite` database. Dropping it ends its thread.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) group: Arc<Group>,
    reader: Mutex<Connection>,
    leader: Leader,
    thread: Option<JoinHandle<()>>,
}

/// Who commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leader {
    /// The first caller, after the other ready tasks had a turn.
    Caller,
    /// The caller that finds the connection free, to measure against.
    #[cfg(test)]
    CallerAtOnce,
    /// The store's thread.
    Thread,
}

impl SqliteStore {
    /// Opens the database of a home, creating or migrating it where needed. Blocks for the disk.
    pub fn open(home: &Home, options: StoreOptions) -> Result<Self, OpenError> {
        Self::open_file(&home.database(), options)
    }

    /// Opens a database elsewhere, in a folder that is as private as the operator made it.
    pub fn open_file(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let leader = match options.durability {
            Durability::Process => Leader::Caller,
            Durability::Power => Leader::Thread,
        };
        Self::open_with(path, options, leader)
    }

    pub(crate) fn open_with(path: &Path, options: StoreOptions, leader: Leader) -> Result<Self, OpenError> {
        let writer = open::open_and_migrate(path, options.durability)?;
        let reader = open::open(path, options.durability)?;
        let own = open::open(path, options.durability)?;
        let group = Arc::new(Group::new(Writer::new(writer)));
        let shared = Arc::clone(&group);
        let thread = std::thread::Builder::new()
            .name("portcullis-store".to_owned())
            .spawn(move || maintenance::run(&shared, own, options.retention))
            .map_err(OpenError::Thread)?;
        Ok(Self { group, reader: Mutex::new(reader), leader, thread: Some(thread) })
    }

    /// Reads. Readers see the last commit and hold up no writer.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&lock(&self.reader))
    }

    /// Writes, waiting for other processes as long as a record would.
    pub(crate) fn transact<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        Ok(self.group.with_writer(|writer| writer.transact(Patience::Full, work))?)
    }

    async fn write_record(&self, record: Record) -> Result<(), JournalError> {
        let receiver = self.group.enqueue(record)?;
        match self.leader {
            Leader::Caller => self.group.lead_after_turn(&receiver).await,
            #[cfg(test)]
            Leader::CallerAtOnce => self.group.lead(),
            Leader::Thread => self.group.signal.commit(),
        }
        receiver.await.unwrap_or_else(|_| Err(JournalError("the store was closed".to_owned())))
    }
}

impl Journal for SqliteStore {
    fn write(&self, record: Record) -> JournalFuture<'_> {
        Box::pin(self.write_record(record))
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.group.signal.stop();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            let _panicked = thread.join();
        }
    }
}
