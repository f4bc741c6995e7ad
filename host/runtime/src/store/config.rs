//! What policies there are, and what the operator says of them.

use std::path::PathBuf;

use portcullis_gates::{Isolation, Mode, OnFault};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CapabilityGrants, Exemption, PolicyName, Rights};
use portcullis_signatures::Trust;

use crate::budget::Budget;
use crate::pack::PackFile;

/// A policy that is embedded in the binary.
#[derive(Clone, Debug)]
pub struct BundledPolicy {
    /// Its name, which is what it calls itself.
    pub name: PolicyName,
    /// The component.
    pub wasm: &'static [u8],
    /// The settings that it starts with: an object, or null for the policy's own defaults.
    pub settings: Value,
    /// Its packs. What of them the folder may add to stands in them.
    pub packs: Vec<PackFile>,
    /// True where it judges only if the config says something of it.
    pub optional: bool,
}

/// What the operator's config says of one policy. Nothing else may loosen; what is not set is as the policy or its place
/// has it.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyConfig {
    /// The policy.
    pub name: PolicyName,
    /// A module outside of the policies folder, or in the place of the one of the bundle.
    pub path: Option<PathBuf>,
    /// Members that are laid over the settings of the bundle.
    pub settings: Object,
    /// Whether its verdicts count.
    pub mode: Option<Mode>,
    /// What a fault becomes.
    pub on_fault: Option<OnFault>,
    /// How instances are used.
    pub isolation: Option<Isolation>,
    /// What it may do; it never gets more than it wants.
    pub rights: Option<Rights>,
    /// What an evaluation may use.
    pub budget: Option<Budget>,
    /// What it may use besides what it is given.
    pub grants: CapabilityGrants,
    /// Rules of it that do not count for a server, for some time.
    pub exemptions: Vec<Exemption>,
}

impl PolicyConfig {
    /// Says nothing of a policy but its name.
    pub fn new(name: PolicyName) -> Self {
        Self {
            name,
            path: None,
            settings: Object::new(),
            mode: None,
            on_fault: None,
            isolation: None,
            rights: None,
            budget: None,
            grants: CapabilityGrants::default(),
            exemptions: Vec::new(),
        }
    }
}

/// What is taken from the policies folder though no trusted key signed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unsigned {
    /// Nothing.
    #[default]
    Nothing,
    /// Packs: data for policies that are there already.
    Packs,
    /// Packs, and modules with their settings.
    All,
}

/// What the operator says of all policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreConfig {
    /// Policies that the config says something of.
    pub policies: Vec<PolicyConfig>,
    /// Policies without which their gates stay shut; nothing means the whole bundle.
    pub required: Option<Vec<PolicyName>>,
    /// What is taken from the policies folder though no trusted key signed it.
    pub unsigned: Unsigned,
    /// Keys whose signatures count.
    pub trust: Trust,
    /// The policies folder.
    pub folder: Option<PathBuf>,
    /// The folder of what is tried: laid over the policies folder, and in shadow where it makes a difference.
    pub trial: Option<PathBuf>,
}

impl StoreConfig {
    pub(crate) fn policy(&self, name: &PolicyName) -> Option<&PolicyConfig> {
        self.policies.iter().find(|policy| policy.name == *name)
    }
}

/// How a policy is applied, once config and defaults are joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    pub(crate) on_fault: OnFault,
    pub(crate) isolation: Isolation,
    pub(crate) rights: Rights,
    pub(crate) budget: Budget,
}

impl Options {
    pub(crate) fn of(config: Option<&PolicyConfig>) -> Self {
        Self {
            mode: config.and_then(|config| config.mode).unwrap_or_default(),
            on_fault: config.and_then(|config| config.on_fault).unwrap_or_default(),
            isolation: config.and_then(|config| config.isolation).unwrap_or_default(),
            rights: config.and_then(|config| config.rights).unwrap_or(Rights::ALL),
            budget: config.and_then(|config| config.budget).unwrap_or_default(),
        }
    }

    /// Says what the operator loosened, for start, list and status.
    pub(crate) fn loosened(&self) -> Vec<&'static str> {
        let mut loosened = Vec::new();
        match self.mode {
            Mode::Enforce => {}
            Mode::Shadow => loosened.push("mode: shadow"),
            Mode::Off => loosened.push("mode: off"),
        }
        if self.on_fault == OnFault::Allow {
            loosened.push("on_fault: allow");
        }
        if self.isolation == Isolation::Reuse {
            loosened.push("isolation: reuse");
        }
        if !self.rights.deny {
            loosened.push("rights: no deny");
        }
        let default = Budget::DEFAULT;
        let Budget { cpu, cpu_per_mib, wall_factor, memory, output } = self.budget;
        if cpu > default.cpu
            || cpu_per_mib > default.cpu_per_mib
            || wall_factor > default.wall_factor
            || memory > default.memory
            || output > default.output
        {
            loosened.push("budget: widened");
        }
        loosened
    }
}
