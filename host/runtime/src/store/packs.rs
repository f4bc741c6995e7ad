//! Which version of each pack is used: never an older one than was seen.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::SystemTime;

use portcullis_model::{Pack, PolicyName};

use super::wanted::{Plan, RefusedError};
use crate::pack::{PackFile, compare_versions};

/// The newest pack seen, by policy and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenPacks {
    newest: BTreeMap<(PolicyName, String), Pack>,
    /// Versions known from an earlier process, whose data is not.
    floors: BTreeMap<(PolicyName, String), String>,
}

impl SeenPacks {
    pub(crate) fn remember_version(&mut self, policy: PolicyName, pack: String, version: String) {
        self.floors.insert((policy, pack), version);
    }

    /// Returns the newest version seen of each pack.
    pub(crate) fn versions(&self) -> Vec<(PolicyName, String, String)> {
        let mut versions = self.floors.clone();
        for (key, pack) in &self.newest {
            let version = versions.entry(key.clone()).or_default();
            if compare_versions(&pack.version, version) == Ordering::Greater {
                version.clone_from(&pack.version);
            }
        }
        versions.into_iter().map(|((policy, name), version)| (policy, name, version)).collect()
    }

    /// Gives each wanted policy the newest packs, and refuses those that went back. Returns alarms of expired ones.
    pub(crate) fn settle(&mut self, plan: &mut Plan, now: SystemTime) -> Vec<(String, String)> {
        let mut alarms = Vec::new();
        let files = std::mem::take(&mut plan.packs);
        for wanted in plan.wanted.values() {
            for pack in &wanted.packs {
                // A pack of the bundle may be older than what was dropped since: that is no one's fault. Older than what
                // an earlier process used means that a pack is gone, or the binary went back.
                if let Some(seen) = self.floor_above(&wanted.name, pack)
                    && !self.newest.contains_key(&(wanted.name.clone(), pack.name.clone()))
                {
                    let reason = format!("pack `{}` {} is older than {seen}, used before", pack.name, pack.version);
                    alarms.push((wanted.name.to_string(), reason));
                }
                drop(self.admit(&wanted.name, pack));
            }
        }
        for (file, pack) in files {
            let Some(policy) = pack.policy.clone() else { continue };
            if !plan.wanted.contains_key(&policy) {
                plan.refused.push((file, RefusedError::NoSuchPolicy(policy)));
                continue;
            }
            if pack.is_expired(now) {
                alarms.push((file.clone(), format!("pack `{}` {} has expired", pack.pack.name, pack.pack.version)));
            }
            let PackFile { pack, .. } = pack;
            let admitted = match self.floor_above(&policy, &pack) {
                Some(seen) => Err(RefusedError::OlderPack { version: pack.version.clone(), seen }),
                None => self.admit(&policy, &pack),
            };
            if let Err(refused) = admitted {
                plan.refused.push((file, refused));
            }
        }
        for (name, wanted) in &mut plan.wanted {
            let own = self.newest.iter().filter(|((policy, _), _)| policy == name);
            wanted.packs = own.map(|(_, pack)| pack.clone()).collect();
        }
        alarms
    }

    /// Returns the version that an earlier process saw, where the pack is older.
    fn floor_above(&self, policy: &PolicyName, pack: &Pack) -> Option<String> {
        let floor = self.floors.get(&(policy.clone(), pack.name.clone()))?;
        (compare_versions(&pack.version, floor) == Ordering::Less).then(|| floor.clone())
    }

    fn admit(&mut self, policy: &PolicyName, pack: &Pack) -> Result<(), RefusedError> {
        let key = (policy.clone(), pack.name.clone());
        if let Some(seen) = self.newest.get(&key) {
            match compare_versions(&pack.version, &seen.version) {
                Ordering::Less => {
                    let (version, seen) = (pack.version.clone(), seen.version.clone());
                    return Err(RefusedError::OlderPack { version, seen });
                }
                Ordering::Equal if seen.data != pack.data => {
                    return Err(RefusedError::SameVersion { version: pack.version.clone() });
                }
                Ordering::Equal => return Ok(()),
                Ordering::Greater => {}
            }
        }
        self.newest.insert(key, pack.clone());
        Ok(())
    }
}
