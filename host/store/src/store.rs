//! The SQLite-backed store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use portcullis_gates::{Journal, JournalError, JournalFuture, Record};
use portcullis_model::Digest;
use rusqlite::{Connection, OptionalExtension as _};

use crate::absorb::{self, Absorber};
use crate::append::{Appended, Appender, Bounds};
use crate::home::private_folder;
use crate::maintenance::{self, Signal};
use crate::writer::{Patience, Writer};
use crate::{Home, OpenError, PayloadKey, lock, open};

/// A chain is joined to so many others at most, those that began last: each of them was joined to those before it.
pub(crate) const MOST_HEADS: u32 = 64;

/// When so many bytes wait for the database, they are moved at once.
const URGENT: u64 = 4 << 20;

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
    /// The database has so many bytes in use at most, all that is kept in it counted; the oldest records go first.
    pub bytes: u64,
    /// So old at most are payloads.
    pub payloads: Duration,
}

impl Default for Retention {
    /// A million records (about 600 MB), 30 days, or 1 GiB; payloads for a week.
    fn default() -> Self {
        Self {
            records: 1_000_000,
            age: Duration::from_hours(30 * 24),
            bytes: 1 << 30,
            payloads: Duration::from_hours(7 * 24),
        }
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
    /// The folder with the records that are not in the database yet cannot be read.
    #[error("the folder `{folder}` of the journal's first stage cannot be read")]
    Segments {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A row is not what this program writes.
    #[error("{table} {row} of the database cannot be read")]
    Row {
        /// The table.
        table: &'static str,
        /// Which row.
        row: String,
    },
}

/// How the name of the folder ends that holds the segments of a database outside of a home.
const SEGMENTS: &str = ".segments";

/// Journal, pins and versions in one `SQLite` database. Dropping it ends its thread.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) shared: Arc<Shared>,
    reader: Mutex<Connection>,
    thread: Option<JoinHandle<()>>,
}

/// What callers and the thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) writer: Mutex<Writer>,
    pub(crate) appender: Appender,
    absorber: Mutex<Absorber>,
    pub(crate) signal: Signal,
}

impl SqliteStore {
    /// Opens the database of a home, creating or migrating it where needed. Blocks for the disk.
    pub fn open(home: &Home, options: StoreOptions) -> Result<Self, OpenError> {
        let segments = home.folder("journal").map_err(OpenError::Segments)?;
        Self::open_with(&home.database(), segments, options, Bounds::default())
    }

    /// Opens a database elsewhere, in a folder that is as private as the operator made it. Segments are beside it.
    pub fn open_file(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(SEGMENTS);
        let segments = path.with_file_name(name);
        private_folder(&segments).map_err(OpenError::Segments)?;
        Self::open_with(path, segments, options, Bounds::default())
    }

    pub(crate) fn open_with(
        path: &Path,
        segments: PathBuf,
        options: StoreOptions,
        bounds: Bounds,
    ) -> Result<Self, OpenError> {
        let writer = open::open_and_migrate(path, options.durability)?;
        let reader = open::open(path, options.durability)?;
        let own = open::open(path, options.durability)?;
        let heads =
            absorb::heads(&writer, MOST_HEADS).map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
        let shared = Arc::new(Shared {
            writer: Mutex::new(Writer::new(writer, options.durability == Durability::Power)),
            appender: Appender::new(segments.clone(), options.durability, bounds, heads).map_err(OpenError::Thread)?,
            absorber: Mutex::new(Absorber::new(segments)),
            signal: Signal::default(),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("portcullis-store".to_owned())
            .spawn(move || maintenance::run(&theirs, own, options.retention))
            .map_err(OpenError::Thread)?;
        Ok(Self { shared, reader: Mutex::new(reader), thread: Some(thread) })
    }

    /// Reads. Readers see the last commit and hold up no writer.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&lock(&self.reader))
    }

    /// Writes, waiting some seconds for other processes.
    pub(crate) fn transact<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        Ok(lock(&self.shared.writer).transact(Patience::Full, work)?)
    }

    /// Keeps what policies were told from now on, where records have it, sealed with this key.
    pub fn keep_payloads(&self, key: Arc<PayloadKey>) {
        self.shared.appender.keep_payloads(key);
    }

    /// Returns the sealed payload of that name, unless it was removed.
    pub fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT sealed FROM payloads WHERE digest = ?1")?;
            Ok(statement.query_row([digest.as_bytes()], |row| row.get(0)).optional()?)
        })
    }

    /// Returns how many segments were left aside because something in them cannot be read.
    pub(crate) fn damaged_segments(&self) -> Result<usize, StoreError> {
        lock(&self.shared.absorber).damaged()
    }

    /// Moves the records of all processes into the database, so that a reader sees them.
    pub(crate) fn absorb(&self) -> Result<(), StoreError> {
        self.shared.absorb()
    }
}

impl Shared {
    pub(crate) fn absorb(&self) -> Result<(), StoreError> {
        let mut absorber = lock(&self.absorber);
        let appended = self.appender.appended();
        let unread = absorber.absorb(&self.writer)?;
        self.appender.absorbed(appended, &unread);
        Ok(())
    }
}

impl Journal for SqliteStore {
    fn write(&self, record: Record) -> JournalFuture<'_> {
        let appended = self.shared.appender.append(&record);
        let is_urgent = self.shared.appender.backlog() > URGENT;
        self.shared.signal.appended(is_urgent);
        match appended {
            Ok(Appended::Done) => Box::pin(std::future::ready(Ok(()))),
            Ok(Appended::Flushing(receiver)) => Box::pin(async move {
                receiver.await.unwrap_or_else(|_| Err(JournalError("the store was closed".to_owned())))
            }),
            Err(error) => Box::pin(std::future::ready(Err(journal_error(&error)))),
        }
    }
}

/// The port's error is a text; this is the one place where the chain of causes becomes one.
fn journal_error(error: &dyn std::error::Error) -> JournalError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    JournalError(text)
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The last pass of the thread finds all segments of this process complete, and removes them.
        self.shared.appender.close();
        self.shared.signal.stop();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            let _panicked = thread.join();
        }
    }
}
