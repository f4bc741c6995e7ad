//! Brings the policies that there are in line with those that there should be.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use portcullis_gates::{ActivePolicy, Mode, PolicySet};
use portcullis_model::{GateName, PolicyName};

use super::bundles::{Broken, BrokenBundles};
use super::config::StoreConfig;
use super::error::PolicyError;
use super::event::chain;
use super::exempt;
use super::packs::Seen;
use super::pipeline::{Pipeline, Pipelines};
use super::trial::Untried;
use super::wanted::{Plan, Wanted};
use super::{PolicyEvent, PolicyStore, lock};
use crate::inspect::Inspection;
use crate::loader::Loaded;
use crate::step::Step;

#[derive(Clone, Default)]
pub(super) struct Inner {
    pub(super) seen: Seen,
    pub(super) required: Vec<PolicyName>,
    pub(super) current: BTreeMap<PolicyName, Current>,
    /// Policies that the operator switched off: nothing of them is compiled or run.
    pub(super) off: BTreeMap<PolicyName, Wanted>,
    /// Policies that could not be loaded: trying the same again takes as long and ends the same.
    pub(super) failed: BTreeMap<PolicyName, Failed>,
    /// What was refused last time, so that a file that stays broken is reported once and not at every look.
    pub(super) refused: Vec<(String, String)>,
    /// What an operator should look at, as of the last look.
    pub(super) concerns: Vec<(String, String)>,
    pub(super) missing: Vec<(PolicyName, Vec<GateName>)>,
    pub(super) pipelines: Pipelines,
    /// Bundles with a policy that could not be loaded.
    broken: BrokenBundles,
    /// What judged in the place of each policy before: resident, so that going back takes no time.
    pub(super) former: BTreeMap<PolicyName, Current>,
    /// What is tried in shadow beside what counts, by name.
    pub(super) tried: BTreeMap<PolicyName, Current>,
    /// What could not be tried, and why: trying the same again ends the same.
    pub(super) untried: Option<Untried>,
    /// What an operator went back from: not taken again as it is.
    pub(super) held: BTreeMap<PolicyName, Wanted>,
    /// Counts what operators decided: an update that began before has to begin anew.
    pub(super) interventions: u64,
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

/// What is said of a policy that an operator went back from.
const ROLLED_BACK: &str = "it was rolled back; hint: `portcullis policy promote` puts it in its place again";

/// A policy that is in the set.
#[derive(Clone)]
pub(super) struct Current {
    pub(super) wanted: Wanted,
    pub(super) loaded: Loaded,
    pub(super) active: Arc<ActivePolicy>,
}

/// What an attempt to bring policies in line came to.
pub(super) struct Attempt {
    pub(super) draft: Inner,
    changed: bool,
    pub(super) refused: Vec<(String, String)>,
    /// What is told once the attempt stands.
    pub(super) events: Vec<PolicyEvent>,
}

/// What was found out of what would be there, and what was there before.
pub(super) struct Tried {
    attempt: Attempt,
    before: Inner,
    /// Files of the cache that were not trusted until then.
    distrusted: u64,
}

impl Tried {
    /// Returns what would be refused.
    pub(super) fn refused(&self) -> &[(String, String)] {
        &self.attempt.refused
    }

    /// Returns true where that was refused before, for the same reason.
    pub(super) fn was_refused(&self, refusal: &(String, String)) -> bool {
        self.before.refused.contains(refusal)
    }
}

impl PolicyStore {
    /// Brings what there is in line with what there should be. Returns true where the set changed. The caller holds
    /// `updating`.
    pub(super) fn update(&self) -> bool {
        let tried = self.try_out(None);
        self.commit(tried)
    }

    /// Finds out what would be there, with the files of a folder laid over those of the policies folder. Nothing counts yet.
    /// The caller holds `updating`.
    pub(super) fn try_out(&self, over: Option<&Path>) -> Tried {
        let config = lock(&self.config).clone();
        let distrusted = self.loader.alarms();
        let mut before = self.lock().clone();
        let mut broken = before.broken.clone();
        // What was compiled for an attempt is found again by the next while it is held here.
        let mut compiled = Vec::new();
        let mut attempt = loop {
            let attempt = self.attempt(&config, over, before.clone(), &broken);
            let failed = attempt.broken();
            if failed.is_empty() {
                // An operator went back or forth meanwhile: that counts, and what was to be done is done on top of it.
                let inner = self.lock();
                if inner.interventions == before.interventions {
                    break attempt;
                }
                before = inner.clone();
            }
            // Of a bundle with a policy that failed, nothing may stand: once more without it. Each turn takes one out.
            broken.extend(failed);
            compiled.push(attempt);
        };
        // What may go well another time is tried at the next look.
        broken.retain(|_, broken| broken.stays);
        attempt.draft.broken = broken;
        Tried { attempt, before, distrusted }
    }

    /// Makes an attempt count.
    pub(super) fn commit(&self, tried: Tried) -> bool {
        let Tried { attempt, before, distrusted } = tried;
        let Attempt { mut draft, changed, refused, events } = attempt;
        for event in events {
            self.tell(event);
        }
        let distrusted = self.loader.alarms() - distrusted;
        if distrusted > 0 {
            let reason = format!("{distrusted} files were not trusted; what they held was compiled anew");
            self.tell(PolicyEvent::Alarm { what: "cache".to_owned(), reason });
        }
        for (what, reason) in draft.concerns.iter().filter(|concern| !before.concerns.contains(concern)) {
            self.tell(PolicyEvent::Alarm { what: what.clone(), reason: reason.clone() });
        }
        for (what, reason) in refused.iter().filter(|refusal| !before.refused.contains(refusal)) {
            draft.note_refused(what, reason);
            self.tell(PolicyEvent::Refused { what: what.clone(), reason: reason.clone() });
        }
        draft.refused = refused;
        let mut inner = self.lock();
        if inner.interventions == before.interventions {
            *inner = draft;
        }
        drop(inner);
        // From now on there is something to give way to.
        self.loader.give_way();
        changed
    }

    /// Tries to bring what there is in line, without the bundles that are known to be broken.
    fn attempt(&self, config: &StoreConfig, over: Option<&Path>, mut draft: Inner, broken: &BrokenBundles) -> Attempt {
        let usual =
            || self.bundle.iter().filter(|bundled| !bundled.optional).map(|bundled| bundled.name.clone()).collect();
        draft.required = config.required.clone().unwrap_or_else(usual);
        let now = SystemTime::now();
        let mut plan = Plan::new(&self.bundle, config, over, &draft.seen, broken, now);
        draft.concerns = std::mem::take(&mut plan.alarms);
        let expired = draft.seen.settle(&mut plan, now);
        draft.concerns.extend(expired);
        let refused = plan.refused.iter().map(|(what, error)| (what.clone(), chain(error))).collect();
        draft.failed.retain(|name, _| plan.wanted.contains_key(name));
        let mut attempt = Attempt { draft, changed: false, refused, events: Vec::new() };
        attempt.changed |= attempt.draft.switch_off(&plan);
        for wanted in plan.wanted.values().filter(|wanted| wanted.options.mode != Mode::Off) {
            match self.bring_once(&mut attempt, wanted) {
                Ok(new) => attempt.changed |= new,
                Err(reason) => attempt.refused.push((wanted.name.to_string(), reason)),
            }
        }
        attempt.changed |= attempt.remove_unwanted(&plan);
        let idle = attempt.draft.idle_exemptions(now);
        attempt.draft.concerns.extend(idle);
        attempt.changed |= attempt.draft.note_missing(&plan);
        attempt.changed |= self.try_in_shadow(config, &mut attempt, &plan, now);
        for source in plan.bundles {
            attempt.draft.seen.admit_bundle(source.name, source.version, source.digest);
        }
        attempt
    }

    /// Makes a wanted policy current, unless the same failed before.
    fn bring_once(&self, attempt: &mut Attempt, wanted: &Wanted) -> Result<bool, String> {
        let inner = &mut attempt.draft;
        match inner.held.get(&wanted.name) {
            Some(held) if held.is_same(wanted) => return Err(ROLLED_BACK.to_owned()),
            Some(_) => drop(inner.held.remove(&wanted.name)),
            None => {}
        }
        let before = inner.failed.remove(&wanted.name).filter(|failed| failed.wanted.is_same(wanted));
        if let Some(failed) = before.as_ref().filter(|failed| failed.tries == 0) {
            inner.failed.insert(wanted.name.clone(), failed.clone());
            return Err(failed.reason.clone());
        }
        let began = (SystemTime::now(), Instant::now());
        self.bring(attempt, wanted).map_err(|error| {
            let reason = chain(&error);
            let left = before.map_or(MORE_TRIES, |failed| failed.tries - 1);
            let tries = if error.is_of_the_moment() { left } else { 0 };
            let failed = Failed { wanted: wanted.clone(), reason: reason.clone(), tries };
            attempt.draft.failed.insert(wanted.name.clone(), failed);
            attempt.draft.pipelines.add(Pipeline {
                what: wanted.name.to_string(),
                version: None,
                began: began.0,
                steps: vec![Step::failed(error.step(), began.1.elapsed(), reason.clone())],
                generation: None,
            });
            reason
        })
    }

    /// Makes a wanted policy current. Returns false where it was already; on an error the old one stays.
    fn bring(&self, attempt: &mut Attempt, wanted: &Wanted) -> Result<bool, PolicyError> {
        let inner = &mut attempt.draft;
        if inner.current.get(&wanted.name).is_some_and(|current| current.wanted.is_same(wanted)) {
            return Ok(false);
        }
        let (current, pipeline) = self.make(&inner.seen, wanted, wanted.options.mode)?;
        attempt.events.push(PolicyEvent::Loaded {
            policy: wanted.name.clone(),
            version: current.loaded.description.version.clone(),
            start: current.loaded.start.to_string(),
            cached: current.loaded.cached,
        });
        inner.pipelines.add(pipeline);
        if wanted.signer.key.is_some() {
            inner.seen.admit_policy(wanted.name.clone(), current.loaded.description.version.clone());
        }
        if let Some(former) = inner.current.insert(wanted.name.clone(), current) {
            inner.former.insert(wanted.name.clone(), former);
        }
        Ok(true)
    }

    /// Makes a policy of what is wanted, in a mode. Nothing counts yet.
    pub(super) fn make(&self, seen: &Seen, wanted: &Wanted, mode: Mode) -> Result<(Current, Pipeline), PolicyError> {
        let began = SystemTime::now();
        let Wanted { wasm, settings, packs, options, grants, .. } = wanted;
        let loaded = self.loader.load_granted(wasm, settings, packs, &options.budget, grants)?;
        if loaded.description.name != wanted.name {
            return Err(PolicyError::Name(loaded.description.name.clone()));
        }
        let version = loaded.description.version.clone();
        if wanted.signer.key.is_some()
            && let Some(seen) = seen.newer_policy(&wanted.name, &version)
        {
            return Err(PolicyError::Older { version, seen });
        }
        let mut steps = vec![wanted.verified()];
        steps.extend(loaded.steps.iter().cloned());
        let evaluator = loaded.evaluator(wanted.options.budget, wanted.options.isolation);
        if let Some(test) = &self.self_test {
            let testing = Instant::now();
            test(&loaded, &evaluator).map_err(PolicyError::SelfTest)?;
            steps.push(Step::done("self-test", testing.elapsed()));
        }
        steps.push(Step::done(mode_step(mode), Duration::ZERO));
        let active = ActivePolicy {
            description: Arc::clone(&loaded.description),
            digest: exempt::digest(loaded.digest, &wanted.exemptions),
            source: wanted.source.clone(),
            gates: loaded.gates().to_vec(),
            rights: wanted.options.rights.intersection(loaded.description.wants),
            mode,
            on_fault: wanted.options.on_fault,
            evaluator: exempt::around(Arc::new(evaluator), &loaded.description, &wanted.exemptions),
        };
        let what = wanted.name.to_string();
        let pipeline = Pipeline { what, version: Some(version), began, steps, generation: None };
        Ok((Current { wanted: wanted.clone(), loaded, active: Arc::new(active) }, pipeline))
    }
}

fn mode_step(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "enforce",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    }
}

impl Attempt {
    /// Returns bundles with a policy that failed.
    fn broken(&self) -> BrokenBundles {
        let failed = self.draft.failed.values();
        let of_bundle = |failed: &Failed| {
            let source = failed.wanted.bundle.as_ref()?;
            let broken = Broken {
                digest: source.digest,
                policy: failed.wanted.name.clone(),
                reason: failed.reason.clone(),
                stays: failed.tries == 0,
            };
            Some((source.file.clone(), broken))
        };
        failed.filter_map(of_bundle).collect()
    }

    /// Removes what is no longer wanted, but for what is required: that stays.
    fn remove_unwanted(&mut self, plan: &Plan) -> bool {
        let unwanted = |(name, _): &(&PolicyName, &Current)| !plan.wanted.contains_key(*name);
        let gone: Vec<_> = self.draft.current.iter().filter(unwanted).map(|(name, _)| name.clone()).collect();
        let mut changed = false;
        for name in gone {
            let bundle = self.draft.current.get(&name).and_then(|current| current.wanted.bundle.as_ref());
            let unread =
                plan.unread.contains(&name) || bundle.is_some_and(|source| plan.unread_bundles.contains(&source.file));
            if self.draft.required.contains(&name) {
                self.refused.push((name.to_string(), "it is required: removing it is refused and it stays".to_owned()));
            } else if plan.folder_read && !unread {
                self.draft.current.remove(&name);
                self.draft.former.remove(&name);
                self.draft.held.remove(&name);
                changed = true;
                self.events.push(PolicyEvent::Removed { policy: name });
            }
        }
        changed
    }
}

impl Inner {
    /// Notes that a file was refused before anything of it was loaded, unless its policy has noted so itself.
    fn note_refused(&mut self, what: &str, reason: &str) {
        if self.failed.values().any(|failed| failed.wanted.name.as_str() == what) {
            return;
        }
        self.pipelines.add(Pipeline {
            what: what.to_owned(),
            version: None,
            began: SystemTime::now(),
            steps: vec![Step::failed("verify", Duration::ZERO, reason)],
            generation: None,
        });
    }

    /// Takes out what the operator switched off. Returns true where that changed.
    fn switch_off(&mut self, plan: &Plan) -> bool {
        let off = plan.wanted.values().filter(|wanted| wanted.options.mode == Mode::Off);
        let off: BTreeMap<_, _> = off.map(|wanted| (wanted.name.clone(), wanted.clone())).collect();
        for name in off.keys() {
            self.current.remove(name);
            self.former.remove(name);
            self.held.remove(name);
            self.failed.remove(name);
        }
        let changed = !off.keys().eq(self.off.keys());
        self.off = off;
        changed
    }

    /// Notes which required policies are not there. Returns true where that changed.
    fn note_missing(&mut self, plan: &Plan) -> bool {
        let required = self.required.iter().cloned();
        let missing: Vec<_> = required
            .filter(|name| !self.current.contains_key(name) && !self.off.contains_key(name))
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
        let policies = self.current.values().chain(self.tried.values());
        let policies = policies.map(|current| Arc::clone(&current.active)).collect();
        self.missing
            .iter()
            .fold(PolicySet::new(policies), |set, (name, gates)| set.with_missing(name.clone(), gates.clone()))
    }
}
