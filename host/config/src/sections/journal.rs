//! `journal`: what is recorded, and how surely.

use std::path::PathBuf;
use std::time::Duration;

use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::Sink;
use crate::surroundings::Surroundings;
use crate::tree::Node;

/// How surely a record is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// It survives the end of the process.
    #[default]
    Process,
    /// It survives a loss of power.
    Power,
}

/// What is kept of payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Payloads {
    /// Their digest.
    #[default]
    Digest,
    /// All that policies were told, encrypted; never server entries.
    Full,
}

/// What is recorded, and how surely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalSection {
    /// How surely a record is kept.
    pub durability: Durability,
    /// What is kept of payloads.
    pub payloads: Payloads,
    /// How long records are kept; nothing means the default of the store.
    pub keep: Option<Duration>,
    /// How long full payloads are kept; nothing means the default of the store.
    pub keep_payloads: Option<Duration>,
    /// How many bytes the database may have; nothing means the default of the store.
    pub most_bytes: Option<u64>,
    /// The file, if not the one of the home folder.
    pub path: Option<PathBuf>,
}

/// Reads `journal`.
pub(crate) fn read(node: &Node, path: &KeyPath, surroundings: &Surroundings, sink: &mut Sink) -> JournalSection {
    const DAY: u64 = 86_400;
    const MOST_DAYS: u64 = 36_500;
    // Less would not hold what the database needs besides records.
    const LEAST_SIZE: u64 = 10;
    let days = |count: Option<u64>| count.map(|days| Duration::from_secs(days.min(MOST_DAYS) * DAY));
    let mut fields = Fields::new(node, path.clone(), sink);
    let durability = fields.choice("durability", &[("process", Durability::Process), ("power", Durability::Power)]);
    let payloads = fields.choice("payloads", &[("digest", Payloads::Digest), ("full", Payloads::Full)]);
    let section = JournalSection {
        durability: durability.unwrap_or_default(),
        payloads: payloads.unwrap_or_default(),
        keep_payloads: days(fields.count("payload_days", 1)),
        keep: days(fields.count("keep_days", 1)),
        most_bytes: fields.count("max_size_mb", LEAST_SIZE).map(|megabytes| megabytes.saturating_mul(1_000_000)),
        path: fields.text("path").map(|path| PathBuf::from(surroundings.expand(&path))),
    };
    fields.finish();
    section
}
