//! The policies of a gateway: what there should be, what there is, and the set that judges.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use portcullis_gates::{Gates, PolicySet};
use portcullis_model::{GateName, PolicyName};
use tokio::sync::broadcast;

use crate::evaluator::Evaluator;
use crate::loader::{Loaded, Loader};

mod bundles;
mod config;
mod error;
mod event;
mod exempt;
mod folder;
mod offer;
mod packs;
mod pipeline;
mod refused;
mod standing;
mod status;
mod trial;
mod update;
mod vouch;
mod wanted;

pub use config::{BundledPolicy, PolicyConfig, StoreConfig, Unsigned};
pub use error::{PolicyError, SelfTestError};
pub use event::PolicyEvent;
pub(crate) use event::chain;
pub use folder::FileError;
pub use offer::OfferError;
pub use pipeline::Pipeline;
pub use refused::{BundleRefused, RefusedError};
pub use standing::{MoveError, Moved};
pub use status::PolicyStatus;
pub use trial::TriedPolicy;

use update::Inner;

/// Events that a slow reader may miss before it is told how many it missed.
const EVENTS: usize = 256;

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
    config: Mutex<StoreConfig>,
    /// Held while policies are brought in line, which takes as long as compiling does.
    updating: Mutex<()>,
    /// Held for a moment only: whoever asks for the status must not wait for a compiler.
    inner: Mutex<Inner>,
    events: broadcast::Sender<PolicyEvent>,
    /// What others found that an operator should look at, by what it is about.
    raised: Mutex<BTreeMap<String, String>>,
}

impl std::fmt::Debug for PolicyStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PolicyStore").field("loader", &self.loader).finish_non_exhaustive()
    }
}

impl PolicyStore {
    /// Makes a store of the bundle and what the operator says. Nothing is read or compiled yet.
    pub fn new(loader: Loader, bundle: Vec<BundledPolicy>, config: StoreConfig) -> Self {
        Self {
            loader,
            bundle,
            self_test: None,
            config: Mutex::new(config),
            updating: Mutex::default(),
            inner: Mutex::default(),
            events: broadcast::Sender::new(EVENTS),
            raised: Mutex::default(),
        }
    }

    /// Tries each policy with this before it is published.
    #[must_use]
    pub fn with_self_test(mut self, self_test: SelfTest) -> Self {
        self.self_test = Some(self_test);
        self
    }

    /// Tells which versions were seen by an earlier process, as policy, pack and version: older ones are refused. An empty
    /// pack stands for the version of a policy that a key signed.
    #[must_use]
    pub fn with_seen_versions(self, versions: impl IntoIterator<Item = (PolicyName, String, String)>) -> Self {
        let mut inner = self.lock();
        for (policy, pack, version) in versions {
            inner.seen.remember_version(policy, pack, version);
        }
        drop(inner);
        self
    }

    /// Tells which versions of bundles were seen by an earlier process: older ones are refused.
    #[must_use]
    pub fn with_seen_bundles(self, versions: impl IntoIterator<Item = (PolicyName, String)>) -> Self {
        let mut inner = self.lock();
        for (bundle, version) in versions {
            inner.seen.remember_bundle(bundle, version);
        }
        drop(inner);
        self
    }

    /// Returns the newest versions of bundles seen, to be kept for the next process.
    pub fn seen_bundles(&self) -> Vec<(PolicyName, String)> {
        self.lock().seen.bundle_versions()
    }

    /// Returns the newest versions seen of packs, and of signed policies with an empty pack, to be kept for the next
    /// process.
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
        let _updating = lock(&self.updating);
        self.update();
        self.lock().set()
    }

    /// Looks at folder and config again; publishes a new set where something changed, and returns its generation.
    pub fn refresh(&self, gates: &Gates) -> Option<u64> {
        // Published under the lock, so that an older set never follows a newer one.
        let updating = lock(&self.updating);
        if !self.update() {
            return None;
        }
        let publishing = Instant::now();
        let generation = gates.publish(self.lock().set());
        self.lock().pipelines.published(publishing.elapsed(), generation);
        drop(updating);
        self.tell(PolicyEvent::Published { generation });
        Some(generation)
    }

    /// Takes another config; it counts from the next [`PolicyStore::refresh`] on.
    pub fn configure(&self, config: StoreConfig) {
        *lock(&self.config) = config;
    }

    /// Returns what each policy is and how it is applied, by name.
    pub fn status(&self) -> Vec<PolicyStatus> {
        let inner = self.lock();
        let on = inner.current.values().map(|current| current.status(&inner));
        let mut all: Vec<_> = on.chain(inner.off.values().map(|off| off.status_off(&inner))).collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// Returns required policies that are not there, with the gates that they keep shut.
    pub fn missing(&self) -> Vec<(PolicyName, Vec<GateName>)> {
        self.lock().missing.clone()
    }

    /// Returns what was refused at the last look, as policy or file and reason.
    pub fn refused(&self) -> Vec<(String, String)> {
        self.lock().refused.clone()
    }

    /// Returns what an operator should look at, as policy or file and reason: packs and bundles that have expired since
    /// they count, packs that went back with the binary, and what was raised.
    pub fn concerns(&self) -> Vec<(String, String)> {
        let inner = self.lock();
        let mut concerns = inner.concerns.clone();
        // An exemption may have ended since the last look.
        let ended = inner.idle_exemptions(SystemTime::now());
        concerns.extend(ended.into_iter().filter(|ended| !inner.concerns.contains(ended)));
        drop(inner);
        concerns.extend(lock(&self.raised).iter().map(|(what, reason)| (what.clone(), reason.clone())));
        concerns
    }

    /// Shows operators that something is not as it should be, until it is said to be well again.
    pub fn raise(&self, what: &str, reason: Option<String>) {
        let former = match reason.clone() {
            Some(reason) => lock(&self.raised).insert(what.to_owned(), reason),
            None => lock(&self.raised).remove(what),
        };
        if let Some(reason) = reason.filter(|reason| former.as_ref() != Some(reason)) {
            self.tell(PolicyEvent::Alarm { what: what.to_owned(), reason });
        }
    }

    /// Returns what policies went through lately, the last one last.
    pub fn pipelines(&self) -> Vec<Pipeline> {
        self.lock().pipelines.all()
    }

    /// Returns what is taken from the folder though no trusted key signed it.
    pub fn unsigned(&self) -> Unsigned {
        lock(&self.config).unsigned
    }

    /// Returns how often a file of the cache was not trusted.
    pub fn alarms(&self) -> u64 {
        self.loader.alarms()
    }

    pub(crate) fn folder(&self) -> Option<std::path::PathBuf> {
        lock(&self.config).folder.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    fn tell(&self, event: PolicyEvent) {
        event.log();
        // Nobody may be listening.
        drop(self.events.send(event));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
