//! Opening the database file, for its owner alone.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::{Durability, HomeError, MigrateError, busy, migrate};

/// The database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file could not be created or closed to others.
    #[error("the database file `{path}` could not be made private")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `SQLite` could not open or read it.
    #[error("the database `{path}` could not be opened")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What `SQLite` said.
        #[source]
        source: rusqlite::Error,
    },
    /// Its layout does not fit.
    #[error("the database `{path}` could not be used")]
    Migrate {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: MigrateError,
    },
    /// The folder of the segments cannot be used.
    #[error("the folder of the journal's first stage cannot be used")]
    Segments(#[source] HomeError),
    /// A thread of the store could not be started.
    #[error("the thread of the database could not be started")]
    Thread(#[source] io::Error),
}

/// Statements kept prepared. There are fewer than this in the crate.
const STATEMENTS: usize = 32;

/// Opens the database, creating it with mode 0600, and brings it to the current layout.
pub(crate) fn open_and_migrate(path: &Path, durability: Durability) -> Result<Connection, OpenError> {
    private_file(path).map_err(|source| OpenError::File { path: path.to_owned(), source })?;
    let mut connection = open(path, durability)?;
    migrate::migrate(&mut connection).map_err(|source| OpenError::Migrate { path: path.to_owned(), source })?;
    Ok(connection)
}

/// Opens another connection to a database that exists.
pub(crate) fn open(path: &Path, durability: Durability) -> Result<Connection, OpenError> {
    configure(path, durability).map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })
}

fn configure(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // The first reader of a database whose writer was killed recovers the log under a lock; wait for that one here.
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // NORMAL: a commit is a write to the log, which the system keeps when this process is killed; only a checkpoint
    // waits for the disk, and our thread does those. OFF would spare the thread that wait and could leave the file
    // damaged after a power cut, for no gain to any caller. FULL: each commit waits for the disk.
    let synchronous = match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Checkpoints wait for the disk, so no caller does one by chance; see `maintenance`.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Rows come from servers that may be hostile: no SQL in the schema runs functions of its own, and pages that are
    // freed are not read back as something else.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.busy_handler(Some(busy::wait))?;
    Ok(connection)
}

/// Creates the file where it is missing, and closes it to others. `SQLite` gives its side files the same mode.
#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(nix::libc::O_NOFOLLOW)
        .open(path)?;
    if file.metadata()?.permissions().mode() & 0o177 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map(drop)
}
