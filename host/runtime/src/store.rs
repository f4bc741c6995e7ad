//! The policies of a gateway: what there should be, what there is, and the set that judges.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use portcullis_gates::{ActivePolicy, Gates, PolicySet};
use portcullis_model::{GateName, PolicyName};
use tokio::sync::broadcast;

use crate::evaluator::Evaluator;
use crate::inspect::Inspection;
use crate::loader::{LoadError, Loaded, Loader};

mod config;
mod event;
mod folder;
mod packs;
mod status;
mod wanted;

pub use config::{BundledPolicy, PolicyConfig, StoreConfig};
pub use event::PolicyEvent;
pub use folder::FileError;
pub use status::PolicyStatus;
pub use wanted::RefusedError;

use config::Options;
pub(crate) use event::chain;
use packs::SeenPacks;
use wanted::{Plan, Wanted};

/// Events that a slow reader may miss before it is told how many it missed.
const EVENTS: usize = 256;

/// A policy did not come to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Its module, settings or packs are no good.
    #[error("it could not be loaded")]
    Load(#[from] LoadError),
    /// It calls itself otherwise.
    #[error("it calls itself `{0}`; hint: name the file after it")]
    Name(PolicyName),
    /// It failed its self-test.
    #[error("it failed its self-test")]
    SelfTest(#[source] SelfTestError),
}

/// What a self-test found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelfTestError(pub String);

/// Tries a policy before it is published: with its fixtures, for instance.
pub type SelfTest = Arc<dyn Fn(&Loaded, &Evaluator) -> Result<(), SelfTestError> + Send + Sync>;

/// The policies of a gateway.
///
/// [`PolicyStore::load`] builds the first set; [`PolicyStore::refresh`] builds the next one from what changed since and
/// publishes it. Both block for as long as compiling takes, so they are not for a thread of an async runtime.
pub struct PolicyStore {
    loader: Loader,
    bundle: Vec<BundledPolicy>,
    self_test: Option<SelfTest>,
    inner: Mutex<Inner>,
    events: broadcast::Sender<PolicyEvent>,
}

struct Inner {
    config: StoreConfig,
    seen: SeenPacks,
    current: BTreeMap<PolicyName, Current>,
    /// What was refused last time, so that a file that stays broken is reported once and not at every look.
    refused: Vec<(String, String)>,
    missing: Vec<(PolicyName, Vec<GateName>)>,
}

/// A policy that is in the set.
#[derive(Clone)]
struct Current {
    wanted: Wanted,
    loaded: Loaded,
    active: Arc<ActivePolicy>,
}

impl std::fmt::Debug for PolicyStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PolicyStore").field("loader", &self.loader).finish_non_exhaustive()
    }
}

impl PolicyStore {
    /// Makes a store of the bundle and what the operator says. Nothing is read or compiled yet.
    pub fn new(loader: Loader, bundle: Vec<BundledPolicy>, config: StoreConfig) -> Self {
        let inner = Inner {
            config,
            seen: SeenPacks::default(),
            current: BTreeMap::new(),
            refused: Vec::new(),
            missing: Vec::new(),
        };
        Self { loader, bundle, self_test: None, inner: Mutex::new(inner), events: broadcast::Sender::new(EVENTS) }
    }

    /// Tries each policy with this before it is published.
    #[must_use]
    pub fn with_self_test(mut self, self_test: SelfTest) -> Self {
        self.self_test = Some(self_test);
        self
    }

    /// Tells which pack versions were seen by an earlier process, as policy, pack and version: older ones are refused.
    #[must_use]
    pub fn with_seen_versions(self, versions: impl IntoIterator<Item = (PolicyName, String, String)>) -> Self {
        let mut inner = self.lock();
        for (policy, pack, version) in versions {
            inner.seen.remember_version(policy, pack, version);
        }
        drop(inner);
        self
    }

    /// Returns the newest pack versions seen, to be kept for the next process.
    pub fn seen_versions(&self) -> Vec<(PolicyName, String, String)> {
        self.lock().seen.versions()
    }

    /// Returns a receiver of what happens from now on.
    pub fn events(&self) -> broadcast::Receiver<PolicyEvent> {
        self.events.subscribe()
    }

    /// Returns the loader, for tools.
    pub fn loader(&self) -> &Loader {
        &self.loader
    }

    /// Builds the first set. A required policy that could not be loaded keeps its gates shut.
    pub fn load(&self) -> PolicySet {
        let mut inner = self.lock();
        self.update(&mut inner);
        self.loader.give_way();
        inner.set()
    }

    /// Looks at folder and config again; publishes a new set where something changed, and returns its generation.
    pub fn refresh(&self, gates: &Gates) -> Option<u64> {
        let mut inner = self.lock();
        if !self.update(&mut inner) {
            return None;
        }
        // Published under the lock, so that an older set never follows a newer one.
        let generation = gates.publish(inner.set());
        drop(inner);
        self.tell(PolicyEvent::Published { generation });
        Some(generation)
    }

    /// Takes another config; it counts from the next [`PolicyStore::refresh`] on.
    pub fn configure(&self, config: StoreConfig) {
        self.lock().config = config;
    }

    /// Returns what each policy is and how it is applied, by name.
    pub fn status(&self) -> Vec<PolicyStatus> {
        let inner = self.lock();
        inner
            .current
            .values()
            .map(|current| current.status(inner.is_required(&self.bundle, &current.wanted.name)))
            .collect()
    }

    /// Returns required policies that are not there, with the gates that they keep shut.
    pub fn missing(&self) -> Vec<(PolicyName, Vec<GateName>)> {
        self.lock().missing.clone()
    }

    /// Returns what was refused at the last look, as policy or file and reason.
    pub fn refused(&self) -> Vec<(String, String)> {
        self.lock().refused.clone()
    }

    /// Returns how often a file of the cache was not trusted.
    pub fn alarms(&self) -> u64 {
        self.loader.alarms()
    }

    pub(crate) fn folder(&self) -> Option<std::path::PathBuf> {
        self.lock().config.folder.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: PolicyEvent) {
        event.log();
        // Nobody may be listening.
        drop(self.events.send(event));
    }

    /// Brings what there is in line with what there should be. Returns true where the set changed.
    fn update(&self, inner: &mut Inner) -> bool {
        let mut plan = Plan::new(&self.bundle, &inner.config);
        let alarms = inner.seen.settle(&mut plan, SystemTime::now());
        let mut refused: Vec<_> = plan.refused.iter().map(|(what, error)| (what.clone(), chain(error))).collect();
        let mut changed = false;
        for wanted in plan.wanted.values() {
            match self.bring(inner, wanted) {
                Ok(new) => changed |= new,
                Err(error) => refused.push((wanted.name.to_string(), chain(&error))),
            }
        }
        changed |= self.remove_unwanted(inner, &plan, &mut refused);
        changed |= inner.note_missing(&self.bundle, &plan);
        for (what, reason) in alarms.into_iter().filter(|_| changed) {
            self.tell(PolicyEvent::Alarm { what, reason });
        }
        for (what, reason) in refused.iter().filter(|refusal| !inner.refused.contains(refusal)) {
            self.tell(PolicyEvent::Refused { what: what.clone(), reason: reason.clone() });
        }
        inner.refused = refused;
        changed
    }

    /// Makes a wanted policy current. Returns false where it was already; on an error the old one stays.
    fn bring(&self, inner: &mut Inner, wanted: &Wanted) -> Result<bool, PolicyError> {
        if inner.current.get(&wanted.name).is_some_and(|current| current.wanted.is_same(wanted)) {
            return Ok(false);
        }
        let loaded = self.loader.load(&wanted.wasm, &wanted.settings, &wanted.packs, &wanted.options.budget)?;
        if loaded.description.name != wanted.name {
            return Err(PolicyError::Name(loaded.description.name.clone()));
        }
        let evaluator = loaded.evaluator(wanted.options.budget, wanted.options.isolation);
        if let Some(test) = &self.self_test {
            test(&loaded, &evaluator).map_err(PolicyError::SelfTest)?;
        }
        let active = ActivePolicy {
            description: Arc::clone(&loaded.description),
            digest: loaded.digest,
            source: wanted.source.clone(),
            gates: loaded.gates().to_vec(),
            rights: wanted.options.rights.intersection(loaded.description.wants),
            mode: wanted.options.mode,
            on_fault: wanted.options.on_fault,
            evaluator: Arc::new(evaluator),
        };
        self.tell(PolicyEvent::Loaded {
            policy: wanted.name.clone(),
            version: loaded.description.version.clone(),
            start: loaded.start.to_string(),
            cached: loaded.cached,
        });
        let current = Current { wanted: wanted.clone(), loaded, active: Arc::new(active) };
        inner.current.insert(wanted.name.clone(), current);
        Ok(true)
    }

    /// Removes what is no longer wanted, but for what is required: that stays.
    fn remove_unwanted(&self, inner: &mut Inner, plan: &Plan, refused: &mut Vec<(String, String)>) -> bool {
        let gone: Vec<_> = inner.current.keys().filter(|name| !plan.wanted.contains_key(*name)).cloned().collect();
        let mut changed = false;
        for name in gone {
            if inner.is_required(&self.bundle, &name) {
                refused.push((name.to_string(), "it is required: removing it is refused and it stays".to_owned()));
            } else if plan.folder_read && !plan.unread.contains(&name) {
                inner.current.remove(&name);
                changed = true;
                self.tell(PolicyEvent::Removed { policy: name });
            }
        }
        changed
    }
}

impl Inner {
    fn is_required(&self, bundle: &[BundledPolicy], name: &PolicyName) -> bool {
        match &self.config.required {
            Some(required) => required.contains(name),
            None => bundle.iter().any(|bundled| bundled.name == *name),
        }
    }

    /// Notes which required policies are not there. Returns true where that changed.
    fn note_missing(&mut self, bundle: &[BundledPolicy], plan: &Plan) -> bool {
        let required: Vec<_> = match &self.config.required {
            Some(required) => required.clone(),
            None => bundle.iter().map(|bundled| bundled.name.clone()).collect(),
        };
        let missing: Vec<_> = required
            .into_iter()
            .filter(|name| !self.current.contains_key(name))
            .map(|name| {
                // Where nobody knows what it would judge, it might be anything.
                let module = plan.wanted.get(&name).map(|wanted| Inspection::of(&wanted.wasm));
                let gates = module.and_then(Result::ok).map_or(GateName::ALL.to_vec(), |module| module.gates);
                (name, gates)
            })
            .collect();
        let changed = missing != self.missing;
        self.missing = missing;
        changed
    }

    fn set(&self) -> PolicySet {
        let policies = self.current.values().map(|current| Arc::clone(&current.active)).collect();
        self.missing
            .iter()
            .fold(PolicySet::new(policies), |set, (name, gates)| set.with_missing(name.clone(), gates.clone()))
    }
}

impl Wanted {
    /// Returns true where nothing that matters differs.
    fn is_same(&self, other: &Self) -> bool {
        self.wasm == other.wasm
            && self.settings == other.settings
            && self.packs == other.packs
            && self.options == other.options
            && self.source == other.source
    }
}

impl Current {
    fn status(&self, required: bool) -> PolicyStatus {
        let Options { mode, on_fault, isolation, budget, .. } = self.wanted.options;
        PolicyStatus {
            name: self.wanted.name.clone(),
            version: self.loaded.description.version.clone(),
            summary: self.loaded.description.summary.clone(),
            source: self.wanted.source.clone(),
            module: self.loaded.inspection.digest,
            digest: self.loaded.digest,
            size: self.loaded.inspection.size,
            gates: self.loaded.gates().to_vec(),
            capabilities: self.loaded.inspection.capabilities.clone(),
            rights: self.active.rights,
            mode,
            on_fault,
            isolation,
            budget,
            start: self.loaded.start.clone(),
            packs: self.wanted.packs.iter().map(|pack| (pack.name.clone(), pack.version.clone())).collect(),
            required,
            loosened: self.wanted.options.loosened(),
            cached: self.loaded.cached,
            took: self.loaded.took,
        }
    }
}
