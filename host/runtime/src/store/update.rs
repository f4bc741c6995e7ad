//! Brings the policies that there are in line with those that there should be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use portcullis_gates::{ActivePolicy, Fault, PolicySet};
use portcullis_model::{GateName, PolicyName};

use super::event::chain;
use super::packs::SeenPacks;
use super::wanted::{Plan, Wanted};
use super::{PolicyEvent, PolicyStore, lock};
use crate::inspect::Inspection;
use crate::loader::{LoadError, Loaded};
use crate::template::StartError;

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

impl PolicyError {
    /// Returns true where the same may go well another time.
    fn is_of_the_moment(&self) -> bool {
        matches!(
            self,
            Self::Load(
                LoadError::Thread(_)
                    | LoadError::Start(StartError::Fault { fault: Fault::QueueFull | Fault::Deadline { .. }, .. })
            )
        )
    }
}

/// What a self-test found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelfTestError(pub String);

#[derive(Clone, Default)]
pub(super) struct Inner {
    pub(super) seen: SeenPacks,
    pub(super) required: Vec<PolicyName>,
    pub(super) current: BTreeMap<PolicyName, Current>,
    /// Policies that could not be loaded: trying the same again takes as long and ends the same.
    pub(super) failed: BTreeMap<PolicyName, Failed>,
    /// What was refused last time, so that a file that stays broken is reported once and not at every look.
    pub(super) refused: Vec<(String, String)>,
    pub(super) missing: Vec<(PolicyName, Vec<GateName>)>,
}

/// A policy that could not be loaded.
#[derive(Clone)]
pub(super) struct Failed {
    pub(super) wanted: Wanted,
    reason: String,
    /// How often it may be tried again as it is.
    tries: u32,
}

/// A policy that met a limit of time or of slots may do so because the machine was busy: it gets this many more tries.
const MORE_TRIES: u32 = 2;

/// A policy that is in the set.
#[derive(Clone)]
pub(super) struct Current {
    pub(super) wanted: Wanted,
    pub(super) loaded: Loaded,
    pub(super) active: Arc<ActivePolicy>,
}

impl PolicyStore {
    /// Brings what there is in line with what there should be. Returns true where the set changed. The caller holds
    /// `updating`.
    pub(super) fn update(&self) -> bool {
        let config = lock(&self.config).clone();
        let distrusted = self.loader.alarms();
        let mut draft = self.lock().clone();
        draft.required =
            config.required.clone().unwrap_or_else(|| self.bundle.iter().map(|bundled| bundled.name.clone()).collect());
        let mut plan = Plan::new(&self.bundle, &config);
        let alarms = draft.seen.settle(&mut plan, SystemTime::now());
        let mut refused: Vec<_> = plan.refused.iter().map(|(what, error)| (what.clone(), chain(error))).collect();
        let mut changed = false;
        for wanted in plan.wanted.values() {
            match self.bring_once(&mut draft, wanted) {
                Ok(new) => changed |= new,
                Err(reason) => refused.push((wanted.name.to_string(), reason)),
            }
        }
        changed |= self.remove_unwanted(&mut draft, &plan, &mut refused);
        changed |= draft.note_missing(&plan);
        let distrusted = self.loader.alarms() - distrusted;
        if distrusted > 0 {
            let reason = format!("{distrusted} files were not trusted; what they held was compiled anew");
            self.tell(PolicyEvent::Alarm { what: "cache".to_owned(), reason });
        }
        for (what, reason) in alarms.into_iter().filter(|_| changed) {
            self.tell(PolicyEvent::Alarm { what, reason });
        }
        for (what, reason) in refused.iter().filter(|refusal| !draft.refused.contains(refusal)) {
            self.tell(PolicyEvent::Refused { what: what.clone(), reason: reason.clone() });
        }
        draft.refused = refused;
        *self.lock() = draft;
        // From now on there is something to give way to.
        self.loader.give_way();
        changed
    }

    /// Makes a wanted policy current, unless the same failed before.
    fn bring_once(&self, inner: &mut Inner, wanted: &Wanted) -> Result<bool, String> {
        let before = inner.failed.remove(&wanted.name).filter(|failed| failed.wanted.is_same(wanted));
        if let Some(failed) = before.as_ref().filter(|failed| failed.tries == 0) {
            inner.failed.insert(wanted.name.clone(), failed.clone());
            return Err(failed.reason.clone());
        }
        self.bring(inner, wanted).map_err(|error| {
            let reason = chain(&error);
            let left = before.map_or(MORE_TRIES, |failed| failed.tries - 1);
            let tries = if error.is_of_the_moment() { left } else { 0 };
            let failed = Failed { wanted: wanted.clone(), reason: reason.clone(), tries };
            inner.failed.insert(wanted.name.clone(), failed);
            reason
        })
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
            if inner.required.contains(&name) {
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
    /// Notes which required policies are not there. Returns true where that changed.
    fn note_missing(&mut self, plan: &Plan) -> bool {
        let required = self.required.iter().cloned();
        let missing: Vec<_> = required
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

    pub(super) fn set(&self) -> PolicySet {
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
