//! What Portcullis keeps between runs: one `SQLite` database in its home folder.
//!
//! [`SqliteStore`] is the journal of gate passages ([`portcullis_gates::Journal`]) and holds pins and the versions seen
//! of policies and packs behind the ports [`Pins`], [`Versions`] and [`JournalReader`]. It knows nothing about
//! WebAssembly, transports or the config file; the composition root hands it a [`Home`] and [`StoreOptions`].
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

mod busy;
mod commit;
mod decode;
mod encode;
mod grants;
mod group;
mod home;
mod journal;
mod maintenance;
mod migrate;
mod open;
mod pins;
mod query;
mod secret;
mod store;
mod versions;

pub use grants::GrantList;
pub use home::{Home, HomeError};
pub use journal::{FindingEntry, JournalEntry, JournalReader, OutcomeEntry, PolicyEntry, Query};
pub use migrate::MigrateError;
pub use open::OpenError;
pub use pins::{Pin, PinKey, Pins};
pub use store::{Durability, Retention, SqliteStore, StoreError, StoreOptions};
pub use versions::{Artifact, Compare, Observation, SeenVersion, Versions};

#[cfg(test)]
mod tests;
