//! The shape of a rule pack.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Rules as data: named word sets and the rules that use them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// Words of one meaning, separated by blanks; `word*` stands for every word that begins so.
    #[serde(default)]
    pub sets: BTreeMap<String, String>,
    /// The rules, in order of reporting.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Lowercase words joined by hyphens.
    pub id: String,
    /// The rule by which a policy reports it; its own id where this is empty.
    #[serde(default)]
    pub family: String,
    /// How bad a match is.
    #[serde(default)]
    pub severity: Severity,
    /// What a match leads to.
    #[serde(default)]
    pub level: Level,
    /// One sentence: what the rule looks for.
    #[serde(default)]
    pub summary: String,
    /// Why the level is what it is, for readers of the pack.
    #[serde(default)]
    pub why: String,
    /// Word patterns, see the module `pattern`.
    #[serde(default)]
    pub phrases: Vec<String>,
    /// Exact strings without regard to ASCII case; ends that are letters or digits need a word boundary, except an end
    /// that carries `*`.
    #[serde(default)]
    pub literals: Vec<String>,
    /// Names of tags, in angle or square brackets, that open or close.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Holds where every one of these rules matches in the same segment.
    #[serde(default)]
    pub all: Vec<String>,
    /// With `all`: at least one of these must match too.
    #[serde(default)]
    pub any: Vec<String>,
    /// Reported no higher than `flag` where one of these rules matches in the same segment.
    #[serde(default)]
    pub unless: Vec<String>,
}

/// How bad a match is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Odd.
    #[default]
    Low,
    /// Suspicious.
    Medium,
    /// Very likely an attack.
    High,
    /// An attack.
    Critical,
}

/// What a match leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not looked for.
    Off,
    /// A signal for other rules, not reported by itself.
    Note,
    /// A finding.
    #[default]
    Flag,
    /// A finding, and the operator decides.
    Ask,
    /// A finding, and the item is refused.
    Hide,
}
