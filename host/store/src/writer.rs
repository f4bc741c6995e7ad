//! The connection that writes to the database.

use rusqlite::{Connection, ErrorCode};

use crate::busy;

/// The connection that writes. Lent to one caller at a time.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    patience: Patience,
    /// True where each commit waits for the disk.
    synchronous: bool,
}

/// For how long a transaction waits for other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A few tens of milliseconds: the work can be done later.
    Little,
    /// Some seconds: somebody waits for it.
    Full,
}

impl Writer {
    /// Wraps a connection whose commits wait for the disk or do not.
    pub(crate) fn new(connection: Connection, synchronous: bool) -> Self {
        Self { connection, patience: Patience::Full, synchronous }
    }

    /// Does work in a transaction that may write: all of it, or none.
    pub(crate) fn transact<T>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.wait_for_others(patience)?;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = work(&self.connection).and_then(|answer| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(answer)
        });
        // Some errors, such as a full disk, end the transaction by themselves.
        if done.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Makes commits wait for the disk or not. Returns what was before.
    pub(crate) fn synchronize(&mut self, synchronous: bool) -> rusqlite::Result<bool> {
        let before = self.synchronous;
        if before != synchronous {
            self.connection.pragma_update(None, "synchronous", if synchronous { "FULL" } else { "NORMAL" })?;
            self.synchronous = synchronous;
        }
        Ok(before)
    }

    fn wait_for_others(&mut self, patience: Patience) -> rusqlite::Result<()> {
        if self.patience != patience {
            match patience {
                Patience::Little => self.connection.busy_handler(Some(busy::wait_briefly))?,
                Patience::Full => self.connection.busy_handler(Some(busy::wait))?,
            }
            self.patience = patience;
        }
        Ok(())
    }

    /// Limits the size of the database, so that tests can fill it.
    #[cfg(test)]
    pub(crate) fn limit_pages(&self, pages: u32) {
        self.connection.pragma_update(None, "max_page_count", pages).unwrap();
    }
}

/// Returns true where another process holds the lock: the same transaction may pass later.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
