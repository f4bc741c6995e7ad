//! Writing a batch of records in one transaction.

use std::collections::HashMap;

use portcullis_gates::{PolicyRecord, Record};
use portcullis_model::{Digest, PolicyName};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior, params};

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

    /// Begins a transaction that may write.
    pub(crate) fn begin(&mut self, patience: Patience) -> rusqlite::Result<Transaction<'_>> {
        if self.patience != patience {
            match patience {
                Patience::None => self.connection.busy_handler(None::<fn(i32) -> bool>)?,
                Patience::Little => self.connection.busy_handler(Some(busy::wait_briefly))?,
                Patience::Full => self.connection.busy_handler(Some(busy::wait))?,
            }
            self.patience = patience;
        }
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate)
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
        let result = self.begin(patience).and_then(|transaction| {
            for record in records {
                insert(&transaction, record, &mut versions, &mut text)?;
            }
            transaction.commit()
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
    transaction: &Transaction<'_>,
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
        encode::policy(text, version(transaction, policy, versions)?, policy);
    }
    text.push(']');
    let (decision, code) = encode::decision(&record.decision);
    transaction
        .prepare_cached(
            "INSERT INTO journal
             (at, session, gate, server, name, subject, generation, decision, code, decided_by, elapsed, policies)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
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
        ])?;
    Ok(())
}

/// Returns the id of a policy's version, adding it where it is new.
fn version(
    transaction: &Transaction<'_>,
    policy: &PolicyRecord,
    versions: &mut HashMap<(PolicyName, Digest), i64>,
) -> rusqlite::Result<i64> {
    let key = (policy.policy.clone(), policy.digest);
    if let Some(id) = versions.get(&key) {
        return Ok(*id);
    }
    let found = transaction
        .prepare_cached("SELECT id FROM policy_versions WHERE name = ?1 AND digest = ?2")?
        .query_row(params![key.0.as_str(), key.1.as_bytes()], |row| row.get(0))
        .optional()?;
    let id = if let Some(id) = found {
        id
    } else {
        transaction
            .prepare_cached("INSERT INTO policy_versions (name, digest) VALUES (?1, ?2)")?
            .execute(params![key.0.as_str(), key.1.as_bytes()])?;
        transaction.last_insert_rowid()
    };
    versions.insert(key, id);
    Ok(id)
}
