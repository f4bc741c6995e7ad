//! Writing a batch of records in one transaction.

use std::collections::HashMap;

use portcullis_gates::{PolicyRecord, Record};
use portcullis_model::{Digest, PolicyName};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use crate::{busy, encode};

/// The connection that writes, with what it knows of the database.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    /// Ids in `policy_versions` of policies written before.
    versions: HashMap<(PolicyName, Digest), i64>,
    patience: Patience,
    /// Kept for its capacity.
    text: String,
}

/// For how long a transaction waits for other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Not at all: the caller is a thread that carries traffic.
    None,
    /// A few tens of milliseconds: the work can be done later.
    Little,
    /// Some seconds: somebody waits for it.
    Full,
}

/// More versions than this are only seen where policies change all the time; then all are looked up anew.
const MOST_VERSIONS: usize = 1_024;

impl Writer {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, versions: HashMap::new(), patience: Patience::Full, text: String::new() }
    }

    /// Does work in a transaction that may write: all of it, or none.
    pub(crate) fn transact<T>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.wait_for_others(patience)?;
        // Prepared like all others: parsing these two would cost a tenth of a record.
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

    fn wait_for_others(&mut self, patience: Patience) -> rusqlite::Result<()> {
        if self.patience != patience {
            match patience {
                Patience::None => self.connection.busy_handler(None::<fn(i32) -> bool>)?,
                Patience::Little => self.connection.busy_handler(Some(busy::wait_briefly))?,
                Patience::Full => self.connection.busy_handler(Some(busy::wait))?,
            }
            self.patience = patience;
        }
        Ok(())
    }

    /// Writes records: all of them, or none.
    pub(crate) fn commit<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record>,
        patience: Patience,
    ) -> rusqlite::Result<()> {
        if self.versions.len() > MOST_VERSIONS {
            self.versions.clear();
        }
        let mut versions = std::mem::take(&mut self.versions);
        let mut text = std::mem::take(&mut self.text);
        let known = versions.len();
        let result = self.transact(patience, |connection| {
            records.into_iter().try_for_each(|record| insert(connection, record, &mut versions, &mut text))
        });
        // What was added to a transaction that failed is not in the database.
        if result.is_err() && versions.len() != known {
            versions.clear();
        }
        self.versions = versions;
        self.text = text;
        result
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

fn insert(
    connection: &Connection,
    record: &Record,
    versions: &mut HashMap<(PolicyName, Digest), i64>,
    text: &mut String,
) -> rusqlite::Result<()> {
    text.clear();
    text.push('[');
    for (index, policy) in record.policies.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        encode::policy(text, version(connection, policy, versions)?, policy);
    }
    text.push(']');
    let (decision, code) = encode::decision(&record.decision);
    connection
        .prepare_cached(
            "INSERT INTO journal
             (at, session, gate, server, name, subject, generation, decision, code, decided_by, elapsed, policies, approvals)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            encode::microseconds(record.at),
            record.session,
            record.gate.as_str(),
            encode::cut(&record.server),
            encode::cut(&record.name),
            record.subject.as_bytes(),
            i64::try_from(record.generation).unwrap_or(i64::MAX),
            decision,
            code,
            record.decided_by.as_ref().map(PolicyName::as_str),
            encode::nanoseconds(record.elapsed),
            text.as_str(),
            encode::approvals(&record.approvals),
        ])?;
    Ok(())
}

/// Returns the id of a policy's version, adding it where it is new.
fn version(
    connection: &Connection,
    policy: &PolicyRecord,
    versions: &mut HashMap<(PolicyName, Digest), i64>,
) -> rusqlite::Result<i64> {
    let key = (policy.policy.clone(), policy.digest);
    if let Some(id) = versions.get(&key) {
        return Ok(*id);
    }
    let found = connection
        .prepare_cached("SELECT id FROM policy_versions WHERE name = ?1 AND digest = ?2")?
        .query_row(params![key.0.as_str(), key.1.as_bytes()], |row| row.get(0))
        .optional()?;
    let id = if let Some(id) = found {
        id
    } else {
        connection
            .prepare_cached("INSERT INTO policy_versions (name, digest) VALUES (?1, ?2)")?
            .execute(params![key.0.as_str(), key.1.as_bytes()])?;
        connection.last_insert_rowid()
    };
    versions.insert(key, id);
    Ok(id)
}
