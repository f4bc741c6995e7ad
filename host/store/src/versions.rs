//! The newest version seen of each policy and pack, so that an older one is noticed.

use std::cmp::Ordering;
use std::time::SystemTime;

use portcullis_model::Digest;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::commit::Patience;
use crate::{SqliteStore, StoreError, decode, encode};

/// What has versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Artifact {
    /// A policy.
    Policy,
    /// A data pack.
    Pack,
}

impl Artifact {
    fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Pack => "pack",
        }
    }
}

/// The newest version seen of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenVersion {
    /// The version.
    pub version: String,
    /// Digest of its bytes.
    pub digest: Digest,
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
    /// It has the version of the one seen and other bytes. Nothing is changed.
    Altered(SeenVersion),
    /// It is older. Nothing is changed.
    Older(SeenVersion),
}

/// Remembers versions.
pub trait Versions: Send + Sync {
    /// Returns the newest version seen.
    fn seen(&self, artifact: Artifact, name: &str) -> Result<Option<SeenVersion>, StoreError>;

    /// Compares a version to the newest seen and remembers it where it is newer, in one step.
    fn observe(&self, artifact: Artifact, name: &str, version: &str, digest: Digest)
    -> Result<Observation, StoreError>;

    /// Makes a version the newest seen, whatever was: the operator's explicit exception.
    fn roll_back(&self, artifact: Artifact, name: &str, version: &str, digest: Digest) -> Result<(), StoreError>;
}

impl Versions for SqliteStore {
    fn seen(&self, artifact: Artifact, name: &str) -> Result<Option<SeenVersion>, StoreError> {
        self.read(|connection| Ok(select(connection, artifact, name)?))
    }

    fn observe(
        &self,
        artifact: Artifact,
        name: &str,
        version: &str,
        digest: Digest,
    ) -> Result<Observation, StoreError> {
        self.group.with_writer(|writer| {
            // Two gateways may meet two versions at once, so the comparison is made under the write lock.
            let transaction = writer.begin(Patience::Full)?;
            let observation = match select(&transaction, artifact, name)? {
                None => Observation::First,
                Some(seen) => match compare(version, &seen.version) {
                    Ordering::Greater => Observation::Newer,
                    Ordering::Less => Observation::Older(seen),
                    Ordering::Equal if seen.digest == digest => Observation::Same,
                    Ordering::Equal => Observation::Altered(seen),
                },
            };
            if matches!(observation, Observation::First | Observation::Newer) {
                replace(&transaction, artifact, name, version, digest)?;
            }
            transaction.commit()?;
            Ok(observation)
        })
    }

    fn roll_back(&self, artifact: Artifact, name: &str, version: &str, digest: Digest) -> Result<(), StoreError> {
        self.group.with_writer(|writer| {
            let transaction = writer.begin(Patience::Full)?;
            replace(&transaction, artifact, name, version, digest)?;
            transaction.commit()?;
            Ok(())
        })
    }
}

fn select(connection: &Connection, artifact: Artifact, name: &str) -> rusqlite::Result<Option<SeenVersion>> {
    connection
        .prepare_cached("SELECT version, digest, seen_at FROM versions_seen WHERE artifact = ?1 AND name = ?2")?
        .query_row(params![artifact.as_str(), name], |row| {
            Ok(SeenVersion {
                version: row.get(0)?,
                digest: Digest::from_bytes(row.get(1)?),
                seen_at: decode::time(row.get(2)?),
            })
        })
        .optional()
}

fn replace(
    connection: &Connection,
    artifact: Artifact,
    name: &str,
    version: &str,
    digest: Digest,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO versions_seen (artifact, name, version, digest, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            artifact.as_str(),
            name,
            version,
            digest.as_bytes(),
            encode::microseconds(SystemTime::now())
        ])?;
    Ok(())
}

/// Compares versions as semantic versions do (semver.org 2.0.0 §11), and anything else part by part: numbers by their
/// value, a number before a word, fewer parts before more, except that a part after `-` makes a version older.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let (left, left_pre) = split(left);
    let (right, right_pre) = split(right);
    compare_parts(left, right).then_with(|| match (left_pre, right_pre) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(left), Some(right)) => compare_parts(left, right),
    })
}

/// Returns the version and its pre-release, without build metadata.
fn split(version: &str) -> (&str, Option<&str>) {
    let version = version.split_once('+').map_or(version, |(version, _build)| version);
    version.split_once('-').map_or((version, None), |(version, pre)| (version, Some(pre)))
}

fn compare_parts(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => compare_part(left, right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn compare_part(left: &str, right: &str) -> Ordering {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match (digits(left), digits(right)) {
        (true, true) => {
            // Any length of number: without leading zeros, the longer one is larger.
            let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
            left.len().cmp(&right.len()).then_with(|| left.cmp(right))
        }
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => left.cmp(right),
    }
}
