//! What Portcullis keeps between runs: one `SQLite` database in its home folder.
//!
//! [`SqliteStore`] is the journal of gate passages ([`portcullis_gates::Journal`]) and holds pins and the versions seen
//! of policies and packs behind the ports [`Pins`], [`Versions`] and [`JournalReader`]. It knows nothing about
//! WebAssembly, transports or the config file; the composition root hands it a [`Home`] and [`StoreOptions`].
//!
//! A record is appended to a file first, a *segment*, by the caller itself: one write, no thread, no lock of the database.
//! A thread moves records into the database in batches, and whoever reads the journal moves what is left before. So
//! nothing that was acknowledged is lost when a process is killed. The records of a process form a chain of hashes
//! ([`Link`]), and a chain names the heads of those that were known when it began.
//!
//! Several gateways may share a home. No transaction is longer than one batch, waits for another process are bounded,
//! and every fault (a full disk, a locked or damaged database) is a typed error.
//!
//! ```
//! use portcullis_store::{Home, JournalReader, Query, SqliteStore, StoreOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let home = Home::open(folder.path())?;
//! let store = SqliteStore::open(&home, StoreOptions::default())?;
//! assert!(store.latest(&Query::default())?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod absorb;
mod append;
mod busy;
mod chain;
mod decode;
mod encode;
mod grants;
mod heads;
mod home;
mod journal;
mod maintenance;
mod migrate;
mod open;
mod payload;
mod pins;
mod query;
mod secret;
mod segment;
mod store;
mod verify;
mod versions;
mod writer;

pub use chain::{ChainId, Head, Link};
pub use grants::GrantList;
pub use heads::{HeadKey, SignedHead};
pub use home::{Home, HomeError};
pub use journal::{FindingEntry, JournalEntry, JournalReader, OutcomeEntry, PolicyEntry, Query};
pub use migrate::MigrateError;
pub use open::OpenError;
pub use payload::{PayloadError, PayloadKey};
pub use pins::{Pin, PinKey, Pins};
pub use store::{Durability, Retention, SqliteStore, StoreError, StoreOptions};
pub use verify::{ChainReport, Trouble, Verification};
pub use versions::{Artifact, Compare, Observation, SeenVersion, Versions};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. A panic while the lock was held left nothing half done: transactions roll back, records are whole or absent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
