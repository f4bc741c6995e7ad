//! What an operator is shown of the policies.

use std::time::Duration;

use portcullis_gates::{Isolation, Mode, OnFault, PolicySource};
use portcullis_model::{Digest, Exemption, GateName, HttpOrigin, PolicyName, Rights};

use super::config::Options;
use super::update::{Current, Inner};
use super::wanted::Wanted;
use crate::budget::Budget;
use crate::inspect::{Capability, Inspection};
use crate::loader::StartKind;

/// One policy that judges, or is switched off.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyStatus {
    /// Its name.
    pub name: PolicyName,
    /// Its version.
    pub version: String,
    /// What it is for.
    pub summary: String,
    /// Where it came from.
    pub source: PolicySource,
    /// What the operator calls the key that signed it; nothing for what is embedded, placed by the config, or unsigned.
    pub signed_by: Option<String>,
    /// The bundle of the folder that it came with, as name and version.
    pub bundle: Option<(PolicyName, String)>,
    /// Digest of its module.
    pub module: Digest,
    /// Digest over module, settings and packs.
    pub digest: Digest,
    /// Bytes of its module.
    pub size: usize,
    /// The gates where it judges.
    pub gates: Vec<GateName>,
    /// What it may use besides settings, packs, subject and facts.
    pub capabilities: Vec<Capability>,
    /// The origins that it may reach, where it has a capability for that.
    pub reaches: Vec<HttpOrigin>,
    /// Rules of it that do not count for a server, for some time.
    pub exemptions: Vec<Exemption>,
    /// What it may do.
    pub rights: Rights,
    /// Whether its verdicts count.
    pub mode: Mode,
    /// What a fault becomes.
    pub on_fault: OnFault,
    /// How instances are used.
    pub isolation: Isolation,
    /// What an evaluation may use.
    pub budget: Budget,
    /// How its evaluations start; nothing of one that is switched off, which is not compiled.
    pub start: Option<StartKind>,
    /// The version that `rollback` puts in its place, or, after a rollback, that `promote` does.
    pub former: Option<String>,
    /// True where an operator went back to it.
    pub rolled_back: bool,
    /// Its packs, as name and version.
    pub packs: Vec<(String, String)>,
    /// True where its gates stay shut without it.
    pub required: bool,
    /// What the operator loosened, in words.
    pub loosened: Vec<&'static str>,
    /// True where its code came from the cache.
    pub cached: bool,
    /// How long loading took.
    pub took: Duration,
}

impl Wanted {
    /// Returns the status of a policy that is switched off: what can be told without running it.
    pub(super) fn status_off(&self, inner: &Inner) -> PolicyStatus {
        let Options { mode, on_fault, isolation, rights, budget } = self.options;
        let inspection = Inspection::of(&self.wasm).ok();
        let module = Digest::of(&self.wasm);
        PolicyStatus {
            name: self.name.clone(),
            version: String::new(),
            summary: String::new(),
            source: self.source.clone(),
            signed_by: self.signer.key.clone(),
            bundle: self.bundle.as_ref().map(|source| (source.name.clone(), source.version.clone())),
            module,
            digest: module,
            size: self.wasm.len(),
            gates: inspection.as_ref().map(|inspection| inspection.gates.clone()).unwrap_or_default(),
            capabilities: inspection.map(|inspection| inspection.capabilities).unwrap_or_default(),
            reaches: Vec::new(),
            exemptions: self.exemptions.clone(),
            rights,
            mode,
            on_fault,
            isolation,
            budget,
            start: None,
            packs: self.packs.iter().map(|pack| (pack.name.clone(), pack.version.clone())).collect(),
            former: None,
            rolled_back: false,
            required: inner.required.contains(&self.name),
            loosened: self.options.loosened(),
            cached: false,
            took: Duration::ZERO,
        }
    }
}

impl Current {
    pub(super) fn status(&self, inner: &Inner) -> PolicyStatus {
        let Options { on_fault, isolation, budget, .. } = self.wanted.options;
        let name = &self.wanted.name;
        PolicyStatus {
            name: self.wanted.name.clone(),
            version: self.loaded.description.version.clone(),
            summary: self.loaded.description.summary.clone(),
            source: self.wanted.source.clone(),
            signed_by: self.wanted.signer.key.clone(),
            bundle: self.wanted.bundle.as_ref().map(|source| (source.name.clone(), source.version.clone())),
            module: self.loaded.inspection.digest,
            digest: self.loaded.digest,
            size: self.loaded.inspection.size,
            gates: self.loaded.gates().to_vec(),
            capabilities: self.loaded.inspection.capabilities.clone(),
            reaches: self.loaded.reaches(),
            exemptions: self.wanted.exemptions.clone(),
            rights: self.active.rights,
            mode: self.active.mode,
            on_fault,
            isolation,
            budget,
            start: Some(self.loaded.start.clone()),
            packs: self.wanted.packs.iter().map(|pack| (pack.name.clone(), pack.version.clone())).collect(),
            former: inner.former.get(name).map(|former| former.loaded.description.version.clone()),
            rolled_back: inner.held.contains_key(name),
            required: inner.required.contains(name),
            loosened: {
                let mut loosened = Options { mode: self.active.mode, ..self.wanted.options }.loosened();
                if !self.wanted.exemptions.is_empty() {
                    loosened.push("exemptions");
                }
                loosened
            },
            cached: self.loaded.cached,
            took: self.loaded.took,
        }
    }
}
