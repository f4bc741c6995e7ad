//! Checking the chains: what was changed, removed, moved or cut off since records were written.

use std::collections::{BTreeMap, HashMap};

use portcullis_model::Digest;
use portcullis_model::json::{Value, parse_str};
use rusqlite::Connection;

use crate::absorb::{Kind, link};
use crate::{ChainId, Head, Link, SqliteStore, StoreError, decode};

/// Troubles of a chain that are told; of more, only the number is.
const MOST_TOLD: usize = 100;

/// What came of checking all chains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Each chain, in the order in which they reached the database.
    pub chains: Vec<ChainReport>,
    /// Chains that a head names and that are gone altogether.
    pub missing: Vec<Head>,
    /// Segments that were left aside because something in them cannot be read.
    pub damaged_segments: usize,
}

impl Verification {
    /// Returns true where nothing is wrong.
    pub fn holds(&self) -> bool {
        self.missing.is_empty() && self.damaged_segments == 0 && self.chains.iter().all(|chain| chain.troubles == 0)
    }

    /// Returns how many records were checked.
    pub fn records(&self) -> u64 {
        self.chains.iter().map(|chain| chain.records).sum()
    }
}

/// What came of checking one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainReport {
    /// The chain.
    pub chain: ChainId,
    /// Records that are there.
    pub records: u64,
    /// Records that retention removed from its beginning.
    pub pruned: u64,
    /// Its last record.
    pub head: Link,
    /// How much is wrong.
    pub troubles: u64,
    /// What is wrong, the first hundred.
    pub told: Vec<Trouble>,
}

/// Something that is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The text of a record, or its columns, are not what was hashed.
    #[error("record {sequence} (entry {id}) was changed")]
    Changed {
        /// Its number in the chain.
        sequence: u64,
        /// Its number in the journal.
        id: i64,
    },
    /// Records are gone.
    #[error("records {from} to {to} are missing")]
    Missing {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A record stands behind one that was written after it.
    #[error("record {sequence} (entry {id}) stands in another place than it was written in")]
    Moved {
        /// Its number in the chain.
        sequence: u64,
        /// Its number in the journal.
        id: i64,
    },
    /// The chain ends earlier than it is known to have gone.
    #[error("the chain was cut: it went up to record {known} at least")]
    Cut {
        /// The last record that is known of.
        known: u64,
    },
    /// A head says otherwise: the chain was computed anew from some record on.
    #[error("a head tells another hash of record {sequence}")]
    Contradicted {
        /// The record.
        sequence: u64,
    },
}

impl SqliteStore {
    /// Checks all chains against themselves, the heads that they tell of each other, and those given. Reads the whole journal:
    /// a few microseconds a record.
    pub fn verify(&self, heads: &[Head]) -> Result<Verification, StoreError> {
        self.absorb()?;
        let damaged_segments = self.damaged_segments()?;
        let mut found = self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            verify(&transaction, heads)
        })?;
        found.damaged_segments = damaged_segments;
        Ok(found)
    }
}

/// A chain as it is read along.
struct Reading {
    report: ChainReport,
    link: Link,
    /// How far the database says that it goes.
    head: Link,
}

impl Reading {
    fn tell(&mut self, trouble: Trouble) {
        self.report.troubles += 1;
        if self.report.told.len() < MOST_TOLD {
            self.report.told.push(trouble);
        }
    }
}

/// What heads say: of each chain, the hashes of some of its records.
type Claims = HashMap<ChainId, BTreeMap<u64, Vec<Digest>>>;

fn verify(connection: &Connection, heads: &[Head]) -> Result<Verification, StoreError> {
    let mut claims = Claims::new();
    for head in heads.iter().copied().chain(told_heads(connection)?) {
        claims.entry(head.chain).or_default().entry(head.link.sequence).or_default().push(head.link.hash);
    }
    let mut chains = chains(connection)?;
    let mut statement =
        connection.prepare("SELECT id, chain, sequence, hash, at, kind, body FROM records ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, chain): (i64, i64) = (row.get(0)?, row.get(1)?);
        let damaged = || StoreError::Row { table: "records", row: id.to_string() };
        let reading = chains.get_mut(&chain).ok_or_else(damaged)?;
        let written = link(row, 2)?;
        let (at, kind): (i64, i64) = (row.get(4)?, row.get(5)?);
        let body = row.get_ref(6)?.as_str().map_err(|_| damaged())?;
        let expected = reading.link.sequence.saturating_add(1);
        reading.report.records += 1;
        if written.sequence < expected {
            reading.tell(Trouble::Moved { sequence: written.sequence, id });
            continue;
        }
        if written.sequence > expected {
            reading.tell(Trouble::Missing { from: expected, to: written.sequence - 1 });
        } else {
            let (its_kind, its_at) = Kind::of(body);
            if reading.link.next(body.as_bytes()) != written || (its_kind.number(), its_at) != (kind, at) {
                reading.tell(Trouble::Changed { sequence: written.sequence, id });
            }
        }
        if let Some(hashes) = claims.get(&reading.report.chain).and_then(|claims| claims.get(&written.sequence))
            && hashes.iter().any(|hash| *hash != written.hash)
        {
            reading.tell(Trouble::Contradicted { sequence: written.sequence });
        }
        reading.link = written;
    }
    Ok(finish(chains, &claims))
}

fn finish(chains: BTreeMap<i64, Reading>, claims: &Claims) -> Verification {
    let mut verification = Verification::default();
    for mut reading in chains.into_values() {
        let claimed = claims.get(&reading.report.chain).and_then(|claims| claims.keys().next_back()).copied();
        let known = reading.head.sequence.max(claimed.unwrap_or(0));
        if known > reading.link.sequence {
            reading.tell(Trouble::Cut { known });
        } else if reading.head.sequence == reading.link.sequence && reading.head.hash != reading.link.hash {
            reading.tell(Trouble::Contradicted { sequence: reading.link.sequence });
        }
        reading.report.head = reading.link;
        verification.chains.push(reading.report);
    }
    let mut missing: Vec<_> = claims.iter().collect();
    missing.sort_unstable_by_key(|(chain, _)| **chain);
    for (chain, claims) in missing {
        let last = claims.last_key_value().and_then(|(sequence, hashes)| Some((*sequence, *hashes.first()?)));
        if let Some((sequence, hash)) = last
            && !verification.chains.iter().any(|report| report.chain == *chain)
        {
            verification.missing.push(Head { chain: *chain, link: Link { sequence, hash } });
        }
    }
    verification
}

/// Returns all chains with the place where what is left of them begins.
fn chains(connection: &Connection) -> Result<BTreeMap<i64, Reading>, StoreError> {
    let mut statement = connection.prepare("SELECT id, name, sequence, hash, pruned, pruned_hash FROM chains")?;
    let mut rows = statement.query([])?;
    let mut chains = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let chain = ChainId::from_bytes(row.get(1)?);
        let start = if row.get::<_, Option<i64>>(4)?.is_some() { link(row, 4)? } else { Link::start(chain) };
        let report =
            ChainReport { chain, records: 0, pruned: start.sequence, head: start, troubles: 0, told: Vec::new() };
        chains.insert(row.get(0)?, Reading { report, link: start, head: link(row, 2)? });
    }
    Ok(chains)
}

/// Returns the heads that chains tell of each other.
fn told_heads(connection: &Connection) -> Result<Vec<Head>, StoreError> {
    let mut statement = connection.prepare("SELECT body FROM records WHERE kind = ?1")?;
    let mut rows = statement.query([Kind::Heads.number()])?;
    let mut heads = Vec::new();
    while let Some(row) = rows.next()? {
        // One that cannot be read was changed, which its own chain tells.
        let Ok(value) = parse_str(row.get_ref(0)?.as_str().unwrap_or_default()) else {
            continue;
        };
        let told = value.get("heads").and_then(Value::as_array).unwrap_or_default();
        heads.extend(told.iter().filter_map(decode::head));
    }
    Ok(heads)
}
