//! The immutable set of policies that a message is judged by.

use std::sync::Arc;

use portcullis_model::{Description, Digest, GateName, PolicyName, Rights};

use crate::Evaluate;

/// Whether verdicts count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// They are recorded and never applied.
    Shadow,
    /// The policy is not evaluated.
    Off,
}

/// What a fault becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFault {
    /// A refusal.
    #[default]
    Deny,
    /// No objection. Only the operator's config can set this.
    Allow,
}

/// How instances are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// A fresh instance for each evaluation.
    #[default]
    Fresh,
    /// An instance is used again. Only the operator's config can set this.
    Reuse,
}

/// Where a policy came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicySource {
    /// Embedded in the binary.
    Bundle,
    /// A file of the policies folder, by its name.
    Folder(String),
    /// Named by the operator's config, by path.
    Config(String),
}

/// A policy as the operator wants it applied.
#[derive(Clone, Debug)]
pub struct ActivePolicy {
    /// What it says of itself.
    pub description: Arc<Description>,
    /// Digest over module, settings and packs.
    pub digest: Digest,
    /// Where it came from.
    pub source: PolicySource,
    /// The gates that it exports.
    pub gates: Vec<GateName>,
    /// What it may do there.
    pub rights: Rights,
    /// Whether its verdicts count.
    pub mode: Mode,
    /// What a fault becomes.
    pub on_fault: OnFault,
    /// What judges.
    pub evaluator: Arc<dyn Evaluate>,
}

/// The policies that judge at one gate. Built once a set, so that no message pays for it.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) policies: Vec<Arc<ActivePolicy>>,
    /// Those in shadow that judge beside the passage. At the listing and environment gates they judge among the others.
    pub(crate) shadows: Vec<Arc<ActivePolicy>>,
    pub(crate) digests: Arc<[Digest]>,
    /// True where a policy of the call gate declares labels: what it marked at one gate it reads at the other. Without
    /// one, nobody pays for echoes.
    pub(crate) reads_echoes: bool,
}

impl Chain {
    fn new(policies: &[Arc<ActivePolicy>], gate: GateName) -> Self {
        let judges = |policy: &&Arc<ActivePolicy>| policy.mode != Mode::Off && policy.gates.contains(&gate);
        let beside = match gate {
            GateName::Config | GateName::Call | GateName::Result | GateName::Request => true,
            GateName::Environment | GateName::Listing => false,
        };
        let (shadows, policies): (Vec<_>, Vec<_>) =
            policies.iter().filter(judges).cloned().partition(|policy| beside && policy.mode == Mode::Shadow);
        let digests = policies.iter().map(|policy| policy.digest).collect();
        let mut all = policies.iter().chain(&shadows);
        let reads_echoes = gate == GateName::Call && all.any(|policy| !policy.description.labels.is_empty());
        Self { policies, shadows, digests, reads_echoes }
    }
}

/// An immutable set of policies. A message is judged by the set it started with.
#[derive(Debug, Default)]
pub struct PolicySet {
    /// Counts up with each set that is published.
    pub generation: u64,
    policies: Vec<Arc<ActivePolicy>>,
    /// The policies that judge at each gate, those that are off left out; in the order of [`GateName::ALL`].
    chains: [Chain; GateName::ALL.len()],
    /// Policies that must judge at a gate; where one is not in the set, its gate stays shut.
    missing: Vec<(PolicyName, Vec<GateName>)>,
}

impl PolicySet {
    /// Builds a set.
    pub fn new(policies: Vec<Arc<ActivePolicy>>) -> Self {
        let chains = GateName::ALL.map(|gate| Chain::new(&policies, gate));
        Self { generation: 0, policies, chains, missing: Vec::new() }
    }

    /// Names a required policy that could not be loaded: the given gates stay shut.
    #[must_use]
    pub fn with_missing(mut self, policy: PolicyName, gates: Vec<GateName>) -> Self {
        self.missing.push((policy, gates));
        self
    }

    /// Returns all policies.
    pub fn policies(&self) -> &[Arc<ActivePolicy>] {
        &self.policies
    }

    /// Returns the policies that judge at a gate, in shadow too, those that are off left out.
    pub fn chain(&self, gate: GateName) -> impl Iterator<Item = &Arc<ActivePolicy>> {
        let chain = self.judging(gate);
        chain.policies.iter().chain(&chain.shadows)
    }

    /// Returns the policies that judge at a gate, and their digests.
    pub(crate) fn judging(&self, gate: GateName) -> &Chain {
        let [config, environment, listing, call, result, request] = &self.chains;
        match gate {
            GateName::Config => config,
            GateName::Environment => environment,
            GateName::Listing => listing,
            GateName::Call => call,
            GateName::Result => result,
            GateName::Request => request,
        }
    }

    /// Returns true where a policy of the call gate reads what labelled content was seen before.
    pub(crate) fn reads_echoes(&self) -> bool {
        self.judging(GateName::Call).reads_echoes
    }

    /// Returns the required policy whose absence keeps a gate shut.
    pub fn missing(&self, gate: GateName) -> Option<&PolicyName> {
        self.missing.iter().find(|(_, gates)| gates.contains(&gate)).map(|(name, _)| name)
    }
}
