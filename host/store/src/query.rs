//! Reading the journal from the database.

use std::collections::HashMap;

use portcullis_model::Digest;
use rusqlite::{Connection, Row, params};

use crate::{JournalEntry, JournalReader, Query, SqliteStore, StoreError, decode};

const SELECT: &str = "SELECT id, at, session, gate, server, name, subject, generation, decision, code, decided_by,
        elapsed, policies, approvals
    FROM journal
    WHERE id > ?1 AND (?2 IS NULL OR server = ?2) AND (?3 IS NULL OR session = ?3) AND (NOT ?4 OR decision IN (3, 4))
    ORDER BY id DESC LIMIT ?5";

impl JournalReader for SqliteStore {
    fn latest(&self, query: &Query) -> Result<Vec<JournalEntry>, StoreError> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let versions = versions(&transaction)?;
            let mut statement = transaction.prepare_cached(SELECT)?;
            let mut rows = statement.query(params![
                query.after.unwrap_or(i64::MIN),
                query.server,
                query.session,
                query.refused,
                i64::try_from(query.limit.min(Query::MOST)).unwrap_or(i64::MAX),
            ])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                entries.push(entry(row, &versions)?);
            }
            Ok(entries)
        })
    }
}

fn versions(connection: &Connection) -> Result<HashMap<i64, (String, Digest)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id, name, digest FROM policy_versions")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, Digest::from_bytes(row.get(2)?)))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn entry(row: &Row<'_>, versions: &HashMap<i64, (String, Digest)>) -> Result<JournalEntry, StoreError> {
    let id: i64 = row.get(0)?;
    let damaged = || StoreError::Row { table: "journal", row: id.to_string() };
    Ok(JournalEntry {
        id,
        at: decode::time(row.get(1)?),
        session: row.get(2)?,
        gate: row.get(3)?,
        server: row.get(4)?,
        name: row.get(5)?,
        subject: Digest::from_bytes(row.get(6)?),
        generation: u64::try_from(row.get::<_, i64>(7)?).map_err(|_| damaged())?,
        decision: decode::decision(row.get(8)?, row.get(9)?).ok_or_else(damaged)?,
        decided_by: row.get(10)?,
        elapsed: std::time::Duration::from_nanos(u64::try_from(row.get::<_, i64>(11)?).map_err(|_| damaged())?),
        policies: decode::policies(row.get_ref(12)?.as_str().map_err(|_| damaged())?, versions).ok_or_else(damaged)?,
        approvals: match row.get::<_, Option<String>>(13)? {
            Some(text) => decode::approvals(&text).ok_or_else(damaged)?,
            None => Vec::new(),
        },
    })
}
