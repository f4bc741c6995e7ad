//! The newest version seen of each policy and pack, so that an older one is noticed.

use std::cmp::Ordering;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::{SqliteStore, StoreError, decode, encode};

/// What has versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Artifact {
    /// A policy.
    Policy,
    /// A data pack.
    Pack,
    /// A bundle of policies and packs.
    Bundle,
}

impl Artifact {
    fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Pack => "pack",
            Self::Bundle => "bundle",
        }
    }
}

/// The newest version seen of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenVersion {
    /// The policy or bundle, or the policy that the pack is for.
    pub policy: String,
    /// The pack; empty for a policy or a bundle.
    pub pack: String,
    /// The version.
    pub version: String,
    /// When it was seen first, to the microsecond.
    pub seen_at: SystemTime,
}

/// How a version compares to the newest seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// None was seen before. It is remembered.
    First,
    /// It is newer, and remembered.
    Newer,
    /// It is the one seen.
    Same,
    /// It is older. Nothing is changed.
    Older(SeenVersion),
}

/// How versions are ordered: the same way as by whoever refuses older ones.
pub type Compare = fn(&str, &str) -> Ordering;

/// Remembers versions. `pack` is empty for the version of a policy or a bundle itself.
pub trait Versions: Send + Sync {
    /// Returns the newest version of everything of a kind.
    fn seen(&self, artifact: Artifact) -> Result<Vec<SeenVersion>, StoreError>;

    /// Compares a version to the newest seen and remembers it where it is newer, in one step.
    fn observe(
        &self,
        artifact: Artifact,
        policy: &str,
        pack: &str,
        version: &str,
        compare: Compare,
    ) -> Result<Observation, StoreError>;

    /// Makes a version the newest seen, whatever was: the operator's explicit exception.
    fn roll_back(&self, artifact: Artifact, policy: &str, pack: &str, version: &str) -> Result<(), StoreError>;
}

const SELECT: &str = "SELECT policy, pack, version, seen_at FROM versions_seen WHERE artifact = ?1";

impl Versions for SqliteStore {
    fn seen(&self, artifact: Artifact) -> Result<Vec<SeenVersion>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{SELECT} ORDER BY policy, pack"))?;
            let rows = statement.query_map([artifact.as_str()], seen_version)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn observe(
        &self,
        artifact: Artifact,
        policy: &str,
        pack: &str,
        version: &str,
        compare: Compare,
    ) -> Result<Observation, StoreError> {
        self.transact(|connection| {
            // Two gateways may meet two versions at once, so the comparison is made under the write lock.
            let seen = connection
                .prepare_cached(&format!("{SELECT} AND policy = ?2 AND pack = ?3"))?
                .query_row(params![artifact.as_str(), policy, pack], seen_version)
                .optional()?;
            let observation = match seen {
                None => Observation::First,
                Some(seen) => match compare(version, &seen.version) {
                    Ordering::Greater => Observation::Newer,
                    Ordering::Equal => Observation::Same,
                    Ordering::Less => Observation::Older(seen),
                },
            };
            if matches!(observation, Observation::First | Observation::Newer) {
                replace(connection, artifact, policy, pack, version)?;
            }
            Ok(observation)
        })
    }

    fn roll_back(&self, artifact: Artifact, policy: &str, pack: &str, version: &str) -> Result<(), StoreError> {
        self.transact(|connection| replace(connection, artifact, policy, pack, version))
    }
}

fn seen_version(row: &Row<'_>) -> rusqlite::Result<SeenVersion> {
    Ok(SeenVersion { policy: row.get(0)?, pack: row.get(1)?, version: row.get(2)?, seen_at: decode::time(row.get(3)?) })
}

fn replace(
    connection: &Connection,
    artifact: Artifact,
    policy: &str,
    pack: &str,
    version: &str,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO versions_seen (artifact, policy, pack, version, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![artifact.as_str(), policy, pack, version, encode::microseconds(SystemTime::now())])?;
    Ok(())
}
