//! The pack: words of names, and tools of servers that are widely used.

use std::collections::BTreeSet;

use portcullis_sdk::{ConfigureError, Pack};
use serde::Deserialize;

/// The words by which names are judged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    pub(crate) reading: BTreeSet<String>,
    pub(crate) outward: BTreeSet<String>,
    pub(crate) making: BTreeSet<String>,
    pub(crate) local: BTreeSet<String>,
    pub(crate) shared: BTreeSet<String>,
    pub(crate) public: BTreeSet<String>,
    pub(crate) targets: BTreeSet<String>,
    pub(crate) labels: BTreeSet<String>,
}

/// The tools of one server, by globs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    /// A glob over the name of the server.
    pub(crate) server: String,
    #[serde(default)]
    pub(crate) untrusted: Vec<String>,
    #[serde(default)]
    pub(crate) private: Vec<String>,
    #[serde(default)]
    pub(crate) outward: Vec<String>,
    #[serde(default)]
    pub(crate) local: Vec<String>,
}

/// All that the pack holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables {
    pub(crate) words: Words,
    pub(crate) servers: Vec<Known>,
}

impl Tables {
    pub(crate) fn read(pack: &Pack) -> Result<Self, ConfigureError> {
        pack.parse()
    }
}
