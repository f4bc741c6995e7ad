//! Exemptions of policies: which count, and what an operator should know of the others.

use std::sync::Arc;
use std::time::SystemTime;

use portcullis_gates::{Evaluate, Exempting};
use portcullis_model::{Description, Digest, Exemption};

use super::update::Inner;

/// Puts those around what judges that name a rule of the policy.
pub(super) fn around(
    evaluator: Arc<dyn Evaluate>,
    description: &Description,
    exemptions: &[Exemption],
) -> Arc<dyn Evaluate> {
    let declared: Vec<_> = exemptions.iter().filter(|exemption| names_rule(description, exemption)).cloned().collect();
    if declared.is_empty() { evaluator } else { Arc::new(Exempting::new(evaluator, declared)) }
}

/// Returns the digest of a policy with exemptions: another one than without, since it decides otherwise.
pub(super) fn digest(policy: Digest, exemptions: &[Exemption]) -> Digest {
    if exemptions.is_empty() {
        return policy;
    }
    let texts: Vec<_> = exemptions.iter().map(ToString::to_string).collect();
    Digest::of_parts(std::iter::once(policy.as_bytes().as_slice()).chain(texts.iter().map(String::as_bytes)))
}

fn names_rule(description: &Description, exemption: &Exemption) -> bool {
    description.rules.iter().any(|rule| rule.id == exemption.rule)
}

impl Inner {
    /// Returns what an operator should know: exemptions that are over, and some that never counted.
    pub(super) fn idle_exemptions(&self, now: SystemTime) -> Vec<(String, String)> {
        let mut idle = Vec::new();
        for current in self.current.values() {
            for exemption in &current.wanted.exemptions {
                let why = if !names_rule(&current.loaded.description, exemption) {
                    "names no rule of the policy and has no effect"
                } else if exemption.until.end() <= now {
                    "is over and no longer counts"
                } else {
                    continue;
                };
                idle.push((current.wanted.name.to_string(), format!("the exemption of {exemption}: it {why}")));
            }
        }
        idle
    }
}
