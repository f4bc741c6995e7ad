//! What the answers of all policies come to.

use std::collections::BTreeSet;

use portcullis_store::{OutcomeEntry, PolicyEntry};

use crate::failure::one_line;

/// Findings of one policy are compared up to this many: the journal keeps no more.
const MOST_FINDINGS: usize = 32;

/// What the answers of all policies that count come to, before approvals and limits of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ruling {
    /// Denials and faults, as policy and code.
    refused: BTreeSet<(String, String)>,
    /// Questions, as policy and code.
    asked: BTreeSet<(String, String)>,
    /// Edits of each round and policy that made some.
    edits: Vec<(u32, String, u32)>,
}

impl Ruling {
    /// Joins answers.
    pub(super) fn of<'e>(entries: impl IntoIterator<Item = &'e PolicyEntry>) -> Self {
        let mut ruling = Self::default();
        for entry in entries.into_iter().filter(|entry| !entry.shadow) {
            let policy = || entry.policy.clone();
            match &entry.outcome {
                OutcomeEntry::Allow => {}
                OutcomeEntry::Ask(codes) => ruling.asked.extend(codes.iter().map(|code| (policy(), code.clone()))),
                OutcomeEntry::Deny(code) => {
                    ruling.refused.insert((policy(), code.clone()));
                }
                OutcomeEntry::Fault { code, .. } => {
                    ruling.refused.insert((policy(), format!("fault {code}")));
                }
            }
            if entry.edits > 0 {
                ruling.edits.push((entry.round, policy(), entry.edits));
            }
        }
        ruling
    }

    /// Returns it in words. What is stronger hides what is weaker.
    pub(super) fn told(&self) -> String {
        let list = |pairs: &BTreeSet<(String, String)>| {
            let one = |(policy, code): &(String, String)| format!("{} by {}", one_line(code), one_line(policy));
            pairs.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        match (self.refused.is_empty(), self.asked.is_empty()) {
            (false, _) => format!("refused ({})", list(&self.refused)),
            (true, false) => format!("asked ({})", list(&self.asked)),
            (true, true) if self.edits.is_empty() => "cleared".to_owned(),
            (true, true) => {
                format!("edited {} times", self.edits.iter().map(|(_, _, edits)| u64::from(*edits)).sum::<u64>())
            }
        }
    }
}

/// Returns what was noticed: policy, rule and the number of times.
pub(super) fn noticed<'e>(entries: impl IntoIterator<Item = &'e PolicyEntry>) -> Vec<(String, u32, Vec<String>)> {
    let rules = |entry: &PolicyEntry| {
        entry.findings.iter().take(MOST_FINDINGS).map(|finding| finding.rule.clone()).collect::<Vec<_>>()
    };
    let mut noticed: Vec<_> = entries
        .into_iter()
        .filter(|entry| !entry.findings.is_empty())
        .map(|entry| (entry.policy.clone(), entry.round, rules(entry)))
        .collect();
    noticed.sort();
    noticed
}
