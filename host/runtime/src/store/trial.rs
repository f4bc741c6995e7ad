//! What is tried in shadow: files laid over the policies folder, judged by beside what counts until they are promoted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use portcullis_gates::{ActivePolicy, Gates, Mode};
use portcullis_model::{Digest, PolicyName};

use super::bundles::BrokenBundles;
use super::config::StoreConfig;
use super::event::chain;
use super::offer::move_files;
use super::update::{Attempt, Current, Inner};
use super::wanted::{Plan, Wanted};
use super::{MoveError, OfferError, PolicyEvent, PolicyStore, folder, lock};

/// A trial that cannot be: which files, and why.
#[derive(Clone)]
pub(super) struct Untried {
    wanted: Vec<Wanted>,
    refused: (String, String),
}

/// A policy that is tried in shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedPolicy {
    /// Its name.
    pub name: PolicyName,
    /// Its version.
    pub version: String,
    /// Digest over module, settings and packs.
    pub digest: Digest,
    /// The version that counts meanwhile; nothing where none of its name does.
    pub counts: Option<String>,
}

impl PolicyStore {
    /// Returns what is tried in shadow, by name.
    pub fn tried(&self) -> Vec<TriedPolicy> {
        let inner = self.lock();
        let policy = |(name, tried): (&PolicyName, &Current)| TriedPolicy {
            name: name.clone(),
            version: tried.loaded.description.version.clone(),
            digest: tried.loaded.digest,
            counts: inner.current.get(name).map(|current| current.loaded.description.version.clone()),
        };
        inner.tried.iter().map(policy).collect()
    }

    /// Tries the files of a folder in shadow, in the place of what is tried so far, provided that all of them would count.
    /// Returns the generation of the set, or nothing where they make no difference. Blocks as [`PolicyStore::offer`] does.
    pub fn offer_for_trial(&self, gates: &Gates, offered: &Path) -> Result<Option<u64>, OfferError> {
        let updating = lock(&self.updating);
        let into = lock(&self.config).trial.clone().ok_or(OfferError::NoFolder)?;
        let files = folder::files(offered).map_err(OfferError::Read)?;
        self.would_count(offered, &files)?;
        let former = folder::files(&into).map_err(OfferError::Read)?;
        let cleared = former.iter().try_for_each(|file| std::fs::remove_file(into.join(file)));
        cleared.and_then(|()| move_files(offered, &into, &files)).map_err(OfferError::Move)?;
        if !self.update() {
            return Ok(None);
        }
        let publishing = Instant::now();
        let generation = gates.publish(self.lock().set());
        self.lock().pipelines.published(publishing.elapsed(), generation);
        drop(updating);
        self.tell(PolicyEvent::Published { generation });
        Ok(Some(generation))
    }

    /// Brings what is tried in line with the folder of trials: all of it, or nothing. Returns true where that changed.
    pub(super) fn try_in_shadow(
        &self,
        config: &StoreConfig,
        attempt: &mut Attempt,
        counts: &Plan,
        now: SystemTime,
    ) -> bool {
        let files = config.trial.as_deref().map(folder::files);
        let Some(trial) = config.trial.as_deref().filter(|_| matches!(files, Some(Ok(files)) if !files.is_empty()))
        else {
            attempt.draft.untried = None;
            return !std::mem::take(&mut attempt.draft.tried).is_empty();
        };
        // What is tried raises no floor: what counts may go on for long.
        let mut seen = attempt.draft.seen.clone();
        let mut plan = Plan::new(&self.bundle, config, Some(trial), &seen, &BrokenBundles::new(), now);
        seen.settle(&mut plan, now);
        let differs = |wanted: &&Wanted| {
            wanted.options.mode != Mode::Off
                && counts.wanted.get(&wanted.name).is_none_or(|counting| !counting.is_same(wanted))
        };
        let wanted: Vec<Wanted> = plan.wanted.values().filter(differs).cloned().collect();
        let refusals = plan.refused.iter().map(|(what, error)| (what.clone(), chain(error)));
        let new = |refusal: &(String, String)| !attempt.refused.contains(refusal);
        let mut refused = refusals.into_iter().find(new);
        let mut tried = BTreeMap::new();
        let before = attempt.draft.untried.take().filter(|before| {
            before.wanted.len() == wanted.len()
                && before.wanted.iter().zip(&wanted).all(|(one, other)| one.is_same(other))
        });
        if refused.is_none() {
            refused = before.map(|before| before.refused);
        }
        if refused.is_none() {
            for wanted in &wanted {
                match self.try_one(attempt, wanted) {
                    Ok(current) => drop(tried.insert(wanted.name.clone(), current)),
                    Err(reason) => {
                        refused = Some((wanted.name.to_string(), reason));
                        break;
                    }
                }
            }
        }
        if let Some((what, reason)) = refused {
            attempt.refused.push((format!("{what}, in shadow"), reason.clone()));
            attempt.draft.untried = Some(Untried { wanted, refused: (what, reason) });
            tried.clear();
        }
        let digests = |policies: &BTreeMap<PolicyName, Current>| -> Vec<(PolicyName, Digest)> {
            policies.iter().map(|(name, tried)| (name.clone(), tried.loaded.digest)).collect()
        };
        let changed = digests(&attempt.draft.tried) != digests(&tried);
        attempt.draft.tried = tried;
        changed
    }

    fn try_one(&self, attempt: &mut Attempt, wanted: &Wanted) -> Result<Current, String> {
        let inner = &mut attempt.draft;
        if let Some(tried) = inner.tried.get(&wanted.name).filter(|tried| tried.wanted.is_same(wanted)) {
            return Ok(tried.clone());
        }
        let (current, pipeline) = self.make(&inner.seen, wanted, Mode::Shadow).map_err(|error| chain(&error))?;
        inner.pipelines.add(pipeline);
        attempt.events.push(PolicyEvent::Loaded {
            policy: wanted.name.clone(),
            version: current.loaded.description.version.clone(),
            start: current.loaded.start.to_string(),
            cached: current.loaded.cached,
        });
        Ok(current)
    }
}

impl Inner {
    /// Lets everything that is tried count, and moves its files into the policies folder, so that it does after a restart too.
    pub(super) fn promote_tried(&mut self, config: &StoreConfig) -> Result<(), MoveError> {
        let (Some(trial), Some(into)) = (&config.trial, &config.folder) else { return Ok(()) };
        let files = folder::files(trial).map_err(|error| MoveError::Files(chain(&error)))?;
        move_files(trial, into, &files).map_err(|error| MoveError::Files(chain(&error)))?;
        for (name, tried) in std::mem::take(&mut self.tried) {
            let mode = tried.wanted.options.mode;
            if tried.wanted.signer.key.is_some() {
                self.seen.admit_policy(name.clone(), tried.loaded.description.version.clone());
            }
            let active = Arc::new(ActivePolicy { mode, ..(*tried.active).clone() });
            self.held.remove(&name);
            if let Some(former) = self.current.insert(name.clone(), Current { active, ..tried }) {
                self.former.insert(name, former);
            }
        }
        Ok(())
    }
}
