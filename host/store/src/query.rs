//! Reading the journal from the database.

use std::collections::HashMap;

use portcullis_model::Digest;
use rusqlite::{Connection, Row, params};

use crate::absorb::{Kind, link};
use crate::decode::Lineups;
use crate::{ChainId, JournalEntry, JournalReader, Query, SqliteStore, StoreError, decode, encode};

const SELECT: &str = "SELECT records.id, body, chains.name, records.sequence, records.hash
    FROM records JOIN chains ON chains.id = chain
    WHERE records.id > ?1 AND records.id < ?2 AND kind = ?3 AND at >= ?4 ORDER BY records.id";

/// Rows of layouts before records had chains; their numbers are lower than those of all others.
const SELECT_FORMER: &str =
    "SELECT id, at, session, gate, server, name, subject, generation, decision, code, decided_by,
        elapsed, policies, approvals
    FROM journal WHERE id > ?1 AND id < ?2 ORDER BY id";

/// Which end of the journal is read first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    NewestFirst,
    OldestFirst,
}

impl Order {
    /// Completes a statement that selects rows by number.
    fn of(self, select: &str) -> String {
        match self {
            Self::NewestFirst => format!("{select} DESC"),
            Self::OldestFirst => format!("{select} ASC"),
        }
    }
}

impl JournalReader for SqliteStore {
    fn latest(&self, query: &Query) -> Result<Vec<JournalEntry>, StoreError> {
        self.absorb()?;
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let mut entries = Vec::new();
            collect(&transaction, query, Order::NewestFirst, &mut entries)?;
            collect_former(&transaction, query, Order::NewestFirst, &mut entries)?;
            Ok(entries)
        })
    }

    fn earliest(&self, query: &Query) -> Result<Vec<JournalEntry>, StoreError> {
        self.absorb()?;
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let mut entries = Vec::new();
            collect_former(&transaction, query, Order::OldestFirst, &mut entries)?;
            collect(&transaction, query, Order::OldestFirst, &mut entries)?;
            Ok(entries)
        })
    }
}

fn collect(
    connection: &Connection,
    query: &Query,
    order: Order,
    entries: &mut Vec<JournalEntry>,
) -> Result<(), StoreError> {
    if entries.len() >= query.limit() {
        return Ok(());
    }
    let lineups = lineups(connection)?;
    let mut statement = connection.prepare_cached(&order.of(SELECT))?;
    let [after, before] = query.range();
    let since = query.since.map_or(i64::MIN, encode::microseconds);
    let mut rows = statement.query(params![after, before, Kind::Passage.number(), since])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let damaged = || StoreError::Row { table: "records", row: id.to_string() };
        let body = row.get_ref(1)?.as_str().map_err(|_| damaged())?;
        let mut entry = decode::passage(id, body, &lineups).ok_or_else(damaged)?;
        entry.place = Some((ChainId::from_bytes(row.get(2)?), link(row, 3)?));
        if query.wants(&entry) {
            entries.push(entry);
            if entries.len() >= query.limit() {
                break;
            }
        }
    }
    Ok(())
}

fn lineups(connection: &Connection) -> Result<Lineups, StoreError> {
    let mut statement = connection.prepare_cached("SELECT digest, policies FROM lineups")?;
    let mut rows = statement.query([])?;
    let mut lineups = Lineups::new();
    while let Some(row) = rows.next()? {
        let digest: String = row.get(0)?;
        let text: String = row.get(1)?;
        let damaged = || StoreError::Row { table: "lineups", row: digest.clone() };
        let is_named = Digest::of(text.as_bytes()).to_string() == digest;
        let policies = decode::lineup(&text).filter(|_| is_named).ok_or_else(damaged)?;
        lineups.insert(digest, policies);
    }
    Ok(lineups)
}

fn collect_former(
    connection: &Connection,
    query: &Query,
    order: Order,
    entries: &mut Vec<JournalEntry>,
) -> Result<(), StoreError> {
    if entries.len() >= query.limit() {
        return Ok(());
    }
    let versions = versions(connection)?;
    let mut statement = connection.prepare_cached(&order.of(SELECT_FORMER))?;
    let mut rows = statement.query(query.range())?;
    while let Some(row) = rows.next()? {
        let entry = former_entry(row, &versions)?;
        if query.wants(&entry) {
            entries.push(entry);
            if entries.len() >= query.limit() {
                break;
            }
        }
    }
    Ok(())
}

fn versions(connection: &Connection) -> Result<HashMap<i64, (String, Digest)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id, name, digest FROM policy_versions")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, Digest::from_bytes(row.get(2)?)))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn former_entry(row: &Row<'_>, versions: &HashMap<i64, (String, Digest)>) -> Result<JournalEntry, StoreError> {
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
        place: None,
        payload: None,
    })
}
