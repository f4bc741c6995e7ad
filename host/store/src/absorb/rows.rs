//! Records as rows.

use std::time::SystemTime;

use portcullis_model::Digest;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::start_of;
use crate::chain::{ChainId, Head, Link};
use crate::encode::{AT, microseconds};
use crate::segment::Header;

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A passage of a gate.
    Passage,
    /// The policies that passages name.
    Lineup,
    /// How far other chains were known.
    Heads,
}

impl Kind {
    /// Returns the number that it is stored as.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Passage => 0,
            Self::Lineup => 1,
            Self::Heads => 2,
        }
    }

    /// Returns the kind and the time of a record. They stand first in its text, so that it need not be read whole.
    pub(crate) fn of(body: &str) -> (Self, i64) {
        let (at, rest) = body.strip_prefix(AT).and_then(|rest| rest.split_once(',')).unwrap_or_default();
        let kind = if rest.starts_with("\"lineup\"") {
            Self::Lineup
        } else if rest.starts_with("\"heads\"") {
            Self::Heads
        } else {
            Self::Passage
        };
        (kind, at.parse().unwrap_or_default())
    }
}

/// How far a chain is absorbed.
#[derive(Debug)]
pub(crate) struct Position {
    /// Its row.
    id: i64,
    pub(crate) link: Link,
    pub(crate) segment: u64,
    pub(crate) offset: u64,
}

impl Position {
    /// Returns how far the chain of a segment is absorbed, or the start of the segment where it goes on there.
    pub(crate) fn of(connection: &Connection, header: &Header) -> rusqlite::Result<Self> {
        let known = connection
            .prepare_cached("SELECT id, sequence, hash, segment, place FROM chains WHERE name = ?1")?
            .query_row([header.chain.as_bytes()], |row| {
                Ok(Self {
                    id: row.get(0)?,
                    link: link(row, 1)?,
                    segment: unsigned(row.get(3)?),
                    offset: unsigned(row.get(4)?),
                })
            })
            .optional()?;
        let (link, offset) = start_of(header);
        match known {
            Some(known) if known.segment >= header.number => Ok(known),
            // Records between the two would be missing; reading on loses nothing, and verification tells.
            Some(known) => Ok(Self { link, segment: header.number, offset, ..known }),
            None => {
                connection
                    .prepare_cached(
                        "INSERT INTO chains (name, sequence, hash, segment, place) VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute(params![
                        header.chain.as_bytes(),
                        signed(link.sequence),
                        link.hash.as_bytes(),
                        signed(header.number),
                        signed(offset)
                    ])?;
                let id = connection.last_insert_rowid();
                Ok(Self { id, link, segment: header.number, offset })
            }
        }
    }

    /// Adds the next record of the chain.
    pub(crate) fn insert(&mut self, connection: &Connection, body: &str, link: Link) -> rusqlite::Result<()> {
        let (kind, at) = Kind::of(body);
        connection
            .prepare_cached(
                "INSERT INTO records (chain, sequence, hash, at, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![self.id, signed(link.sequence), link.hash.as_bytes(), at, kind.number(), body])?;
        if kind == Kind::Lineup
            && let Some(lineup) = lineup_of(body)
        {
            connection
                .prepare_cached("INSERT OR IGNORE INTO lineups (digest, policies) VALUES (?1, ?2)")?
                .execute(params![Digest::of(lineup.as_bytes()).to_string(), lineup])?;
        }
        self.link = link;
        Ok(())
    }

    /// Remembers how far the chain is absorbed now.
    pub(crate) fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached("UPDATE chains SET sequence = ?2, hash = ?3, segment = ?4, place = ?5 WHERE id = ?1")?
            .execute(params![
                self.id,
                signed(self.link.sequence),
                self.link.hash.as_bytes(),
                signed(self.segment),
                signed(self.offset)
            ])?;
        Ok(())
    }
}

/// Adds a payload. It counts as old as it was absorbed: that is when its time to be kept begins.
pub(crate) fn insert_payload(connection: &Connection, digest: &Digest, sealed: &[u8]) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO payloads (digest, at, sealed) VALUES (?1, ?2, ?3)")?
        .execute(params![digest.as_bytes(), microseconds(SystemTime::now()), sealed])?;
    Ok(())
}

/// Returns the list of policies in the text of a lineup's record.
pub(crate) fn lineup_of(body: &str) -> Option<&str> {
    let (_, rest) = body.split_once(",\"lineup\":")?;
    rest.strip_suffix('}')
}

/// Returns the latest heads of chains, at most so many.
pub(crate) fn heads(connection: &Connection, most: u32) -> rusqlite::Result<Vec<Head>> {
    let mut statement =
        connection.prepare_cached("SELECT name, sequence, hash FROM chains ORDER BY id DESC LIMIT ?1")?;
    let rows =
        statement.query_map([most], |row| Ok(Head { chain: ChainId::from_bytes(row.get(0)?), link: link(row, 1)? }))?;
    rows.collect()
}

/// Reads a sequence number and a hash.
pub(crate) fn link(row: &Row<'_>, column: usize) -> rusqlite::Result<Link> {
    Ok(Link { sequence: unsigned(row.get(column)?), hash: Digest::from_bytes(row.get(column + 1)?) })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
