//! The layout of the database, as a list of steps.

use rusqlite::{Connection, TransactionBehavior};

/// The database could not be brought to the layout of this program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// A newer Portcullis wrote it; going on could damage what it means.
    #[error("the database has layout {found}, and this program knows layouts up to {known}")]
    Newer {
        /// Layout of the database.
        found: u32,
        /// Newest layout known here.
        known: u32,
    },
    /// It is a database of another program.
    #[error("the database was not written by Portcullis")]
    Foreign,
    /// `SQLite` failed.
    #[error("the layout of the database could not be changed")]
    Sqlite(#[from] rusqlite::Error),
}

/// Marks our files ("PCLS"), so that a step is never applied to somebody else's database.
const APPLICATION_ID: u32 = 0x5043_4c53;

/// Step `n` leads from layout `n` to `n + 1`. A step that was released is never edited; a new one is appended.
const STEPS: &[&str] = &[
    // Records are read by age only, so the row id is the one index: a second would be paid by every passage.
    // `policies` is text that SQLite's own JSON functions read; policies stand in it by their id in `policy_versions`.
    "CREATE TABLE journal (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        session TEXT NOT NULL,
        gate TEXT NOT NULL,
        server TEXT NOT NULL,
        name TEXT NOT NULL,
        subject BLOB NOT NULL,
        generation INTEGER NOT NULL,
        decision INTEGER NOT NULL,
        code TEXT,
        decided_by TEXT,
        elapsed INTEGER NOT NULL,
        policies TEXT NOT NULL
    ) STRICT;
    CREATE TABLE policy_versions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        digest BLOB NOT NULL,
        UNIQUE (name, digest)
    ) STRICT;",
    "CREATE TABLE pins (
        server TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        digest BLOB NOT NULL,
        fields TEXT NOT NULL,
        document TEXT NOT NULL,
        approved_at INTEGER NOT NULL,
        PRIMARY KEY (server, kind, name)
    ) STRICT;
    CREATE TABLE versions_seen (
        artifact TEXT NOT NULL,
        policy TEXT NOT NULL,
        pack TEXT NOT NULL,
        version TEXT NOT NULL,
        seen_at INTEGER NOT NULL,
        PRIMARY KEY (artifact, policy, pack)
    ) STRICT;",
    // Grants are looked for by the digest of the question they answer. What became of a passage's questions is kept
    // with it; most passages had none, and NULL costs nothing.
    "CREATE TABLE grants (
        id TEXT PRIMARY KEY,
        question BLOB NOT NULL,
        gate TEXT NOT NULL,
        policy TEXT NOT NULL,
        code TEXT NOT NULL,
        server TEXT NOT NULL,
        identity BLOB NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        definition BLOB,
        principal TEXT NOT NULL,
        limits TEXT NOT NULL,
        allows INTEGER NOT NULL,
        class INTEGER NOT NULL,
        surface TEXT NOT NULL,
        given_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        session TEXT
    ) STRICT;
    CREATE INDEX grants_by_question ON grants (question);
    ALTER TABLE journal ADD COLUMN approvals TEXT;",
    // A record is its text and its place in a chain. Only time and kind are columns: others would be paid by every
    // passage, to spare a second in a query over a million of them. Numbers go on where the former table ends, and no
    // number is used twice, even where all records are pruned. `place` is how far `segment` was read.
    "CREATE TABLE chains (
        id INTEGER PRIMARY KEY,
        name BLOB NOT NULL UNIQUE,
        sequence INTEGER NOT NULL,
        hash BLOB NOT NULL,
        segment INTEGER NOT NULL,
        place INTEGER NOT NULL,
        pruned INTEGER,
        pruned_hash BLOB
    ) STRICT;
    CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chain INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        hash BLOB NOT NULL,
        at INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE lineups (
        digest TEXT PRIMARY KEY,
        policies TEXT NOT NULL
    ) STRICT;
    INSERT INTO sqlite_sequence (name, seq) SELECT 'records', coalesce(max(id), 0) FROM journal;",
    // What policies were told, sealed; kept for another time than records.
    "CREATE TABLE payloads (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        sealed BLOB NOT NULL
    ) STRICT;",
];

/// Applies the steps that are missing. Several processes may do so at once: each step is decided under the write lock.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), MigrateError> {
    migrate_to(connection, STEPS.len())
}

/// Applies the steps up to a layout.
pub(crate) fn migrate_to(connection: &mut Connection, layout: usize) -> Result<(), MigrateError> {
    let known = u32::try_from(STEPS.len()).unwrap_or(u32::MAX);
    // A database that is up to date is the usual case and needs no write lock.
    if pragma(connection, "application_id")? == APPLICATION_ID && pragma(connection, "user_version")? == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = pragma(&transaction, "user_version")?;
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    let objects: u32 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if objects > 0 && pragma(&transaction, "application_id")? != APPLICATION_ID {
        return Err(MigrateError::Foreign);
    }
    for step in STEPS.iter().take(layout).skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", u32::try_from(layout).unwrap_or(known))?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()?;
    Ok(())
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
