//! Grants, shared by the gateways of a home.

use std::time::SystemTime;

use portcullis_gates::{Bound, Constraint, Grant, GrantError, Grants, MOST_ALIKE, MOST_GRANTS};
use portcullis_model::json::parse_str;
use portcullis_model::{Digest, GateName, PolicyName, Principal, RuleId};
use rusqlite::{Connection, Row, params};

use crate::{SqliteStore, StoreError, decode, encode};

/// Lists grants. Takes about a microsecond a grant.
pub trait GrantList: Send + Sync {
    /// Returns all grants that have not expired, the newest first.
    fn all_grants(&self) -> Result<Vec<Grant>, StoreError>;
}

const SELECT: &str =
    "SELECT id, gate, policy, code, server, identity, kind, name, definition, principal, limits, allows,
        class, surface, given_at, expires_at, session
    FROM grants";

impl GrantList for SqliteStore {
    fn all_grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached(&format!("{SELECT} WHERE expires_at > ?1 ORDER BY given_at DESC, id"))?;
            let mut rows = statement.query(params![encode::microseconds(SystemTime::now())])?;
            let mut grants = Vec::new();
            while let Some(row) = rows.next()? {
                grants.push(grant(row)?);
            }
            Ok(grants)
        })
    }
}

impl Grants for SqliteStore {
    fn find(&self, key: &Digest) -> Result<Vec<Grant>, GrantError> {
        let found = self.read(|connection| {
            let mut statement =
                connection.prepare_cached(&format!("{SELECT} WHERE question = ?1 ORDER BY given_at DESC LIMIT ?2"))?;
            let mut rows = statement.query(params![key.as_bytes(), i64::try_from(MOST_ALIKE).unwrap_or(i64::MAX)])?;
            let mut grants = Vec::new();
            while let Some(row) = rows.next()? {
                grants.push(grant(row)?);
            }
            Ok(grants)
        });
        found.map_err(failed)
    }

    fn add(&self, grants: &[Grant]) -> Result<(), GrantError> {
        let added = self.transact(|connection| {
            let now = encode::microseconds(SystemTime::now());
            connection.prepare_cached("DELETE FROM grants WHERE expires_at <= ?1")?.execute(params![now])?;
            let count: i64 =
                connection.prepare_cached("SELECT count(*) FROM grants")?.query_row([], |row| row.get(0))?;
            if usize::try_from(count).unwrap_or(usize::MAX).saturating_add(grants.len()) > MOST_GRANTS {
                return Ok(false);
            }
            grants.iter().try_for_each(|grant| insert(connection, grant))?;
            Ok(true)
        });
        match added {
            Ok(true) => Ok(()),
            Ok(false) => Err(GrantError::Full),
            Err(error) => Err(failed(error)),
        }
    }

    fn remove(&self, ids: &[String]) -> Result<Vec<Grant>, GrantError> {
        let removed = self.transact(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "DELETE FROM grants WHERE id = ?1 RETURNING {}",
                SELECT.trim_start_matches("SELECT ").trim_end_matches("FROM grants")
            ))?;
            let mut removed = Vec::new();
            for id in ids {
                let mut rows = statement.query(params![id])?;
                while let Some(row) = rows.next()? {
                    // One that cannot be read is removed all the same: that is what was asked for.
                    removed.extend(grant(row).ok());
                }
            }
            Ok(removed)
        });
        removed.map_err(failed)
    }

    fn end_session(&self, session: &str) -> Result<(), GrantError> {
        let ended = self.transact(|connection| {
            connection.prepare_cached("DELETE FROM grants WHERE session = ?1")?.execute(params![session])
        });
        ended.map(drop).map_err(failed)
    }
}

fn failed(error: StoreError) -> GrantError {
    GrantError::Store(Box::new(error))
}

fn insert(connection: &Connection, grant: &Grant) -> rusqlite::Result<()> {
    let Bound { gate, policy, code, server, identity, kind, name, definition, principal } = &grant.bound;
    connection
        .prepare_cached(
            "INSERT INTO grants (id, question, gate, policy, code, server, identity, kind, name, definition, principal,
                limits, allows, class, surface, given_at, expires_at, session)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            grant.id,
            grant.bound.key().as_bytes(),
            gate.as_str(),
            policy.as_str(),
            code.as_str(),
            server,
            identity.as_bytes(),
            kind,
            name,
            definition.as_ref().map(Digest::as_bytes),
            principal.as_str(),
            grant.constraint.to_value().to_json(),
            grant.allows,
            encode::class(grant.class),
            grant.surface,
            encode::microseconds(grant.given_at),
            encode::microseconds(grant.expires_at),
            grant.session,
        ])?;
    Ok(())
}

fn grant(row: &Row<'_>) -> Result<Grant, StoreError> {
    let id: String = row.get(0)?;
    let damaged = || StoreError::Row { table: "grants", row: id.clone() };
    let text = |index: usize| row.get::<_, String>(index);
    let bound = Bound {
        gate: GateName::parse(&text(1)?).ok_or_else(damaged)?,
        policy: PolicyName::parse(&text(2)?).map_err(|_| damaged())?,
        code: RuleId::parse(&text(3)?).map_err(|_| damaged())?,
        server: text(4)?,
        identity: Digest::from_bytes(row.get(5)?),
        kind: text(6)?,
        name: text(7)?,
        definition: row.get::<_, Option<[u8; 32]>>(8)?.map(Digest::from_bytes),
        principal: Principal::parse(&text(9)?).map_err(|_| damaged())?,
    };
    let constraint = parse_str(&text(10)?).ok().as_ref().and_then(Constraint::from_value).ok_or_else(damaged)?;
    Ok(Grant {
        bound,
        constraint,
        allows: row.get(11)?,
        class: decode::class(row.get(12)?).ok_or_else(damaged)?,
        surface: text(13)?,
        given_at: decode::time(row.get(14)?),
        expires_at: decode::time(row.get(15)?),
        session: row.get(16)?,
        id,
    })
}
