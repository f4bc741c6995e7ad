//! Lists of policies that a chain has named.

use portcullis_gates::PolicyRecord;
use portcullis_model::{Digest, PolicyName};

use crate::encode;

/// Each set of policies makes a list a gate, and one more a round and question; sets change when an operator changes them.
/// More are only seen where policies change all the time; then all are named anew.
const MOST: usize = 64;

/// Lists of policies that the chain has named, the one used last first.
#[derive(Debug, Default)]
pub(crate) struct Lineups(Vec<Lineup>);

#[derive(Debug)]
struct Lineup {
    policies: Vec<(PolicyName, Digest)>,
    digest: Digest,
}

impl Lineup {
    fn is_of(&self, records: &[PolicyRecord]) -> bool {
        let same = |((policy, digest), record): (&(PolicyName, Digest), &PolicyRecord)| {
            *digest == record.digest && *policy == record.policy
        };
        self.policies.len() == records.len() && self.policies.iter().zip(records).all(same)
    }
}

impl Lineups {
    /// Returns the digest that names the policies of these records, and the text that the chain must have before it is
    /// used, where it is new.
    pub(crate) fn name(&mut self, records: &[PolicyRecord]) -> (Digest, Option<Vec<u8>>) {
        if let Some(index) = self.0.iter().position(|lineup| lineup.is_of(records)) {
            // The gates of a message take turns: a few are compared, whatever the number known.
            if let Some(known) = self.0.get_mut(..=index) {
                known.rotate_right(1);
            }
            if let Some(lineup) = self.0.first() {
                return (lineup.digest, None);
            }
        }
        let policies: Vec<_> = records.iter().map(|record| (record.policy.clone(), record.digest)).collect();
        let text = encode::lineup(&policies);
        let digest = Digest::of(&text);
        self.0.truncate(MOST - 1);
        self.0.insert(0, Lineup { policies, digest });
        (digest, Some(text))
    }

    /// Forgets all: what was named last may not be in the chain.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
