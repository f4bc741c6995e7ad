//! Which version of each pack, signed policy and bundle is used: never an older one than was seen.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::SystemTime;

use portcullis_model::{Digest, Pack, PolicyName};

use super::refused::{BundleRefused, RefusedError};
use super::wanted::{Plan, Wanted};
use crate::pack::{PackFile, compare_versions};

impl Wanted {
    fn own_pack(&self, name: &str) -> Option<&PackFile> {
        self.own_packs.iter().find(|file| file.pack.name == name)
    }

    /// Refuses a pack that takes away or changes what the policy's own of that name has.
    pub(super) fn check_adds(&self, pack: &Pack) -> Result<(), RefusedError> {
        let grown = self.own_pack(&pack.name).map(|own| own.grown_by(&pack.data));
        match grown {
            Some(Err(place)) => Err(RefusedError::Narrows { pack: pack.name.clone(), place }),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// Returns a pack together with what the policy's own of that name has.
    fn with_own(&self, newest: &Newest) -> Pack {
        let pack = &newest.pack;
        if newest.replaces {
            return pack.clone();
        }
        match self.own_pack(&pack.name) {
            // One that does not fit was refused.
            Some(own) => match own.grown_by(&pack.data) {
                Ok(data) => Pack { name: pack.name.clone(), version: pack.version.clone(), data },
                Err(_) => own.pack.clone(),
            },
            None => pack.clone(),
        }
    }
}

/// The newest of the packs of one name.
#[derive(Clone, Debug)]
struct Newest {
    pack: Pack,
    /// True where it stands in the place of the one of the bundle, false where it adds to it.
    replaces: bool,
}

/// A pack of the folder.
#[derive(Clone, Debug)]
pub(crate) struct DroppedPack {
    pub(crate) file: String,
    pub(crate) policy: PolicyName,
    pub(crate) pack: PackFile,
    /// True where the key that signed it may put it in the place of one of the default bundle.
    pub(crate) replaces: bool,
}

/// The newest of everything that has versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Packs that are used, by policy and name.
    newest: BTreeMap<(PolicyName, String), Newest>,
    /// Versions known from an earlier process, whose data is not.
    floors: BTreeMap<(PolicyName, String), String>,
    /// Versions of policies that a key signed.
    policies: BTreeMap<PolicyName, String>,
    /// Versions of bundles, with the digest of the manifest where it is known.
    bundles: BTreeMap<PolicyName, (String, Option<Digest>)>,
}

impl Seen {
    /// Remembers what an earlier process saw: of a pack, or of a policy where the pack is empty.
    pub(crate) fn remember_version(&mut self, policy: PolicyName, pack: String, version: String) {
        if pack.is_empty() {
            self.policies.insert(policy, version);
        } else {
            self.floors.insert((policy, pack), version);
        }
    }

    /// Remembers a bundle that an earlier process saw.
    pub(crate) fn remember_bundle(&mut self, bundle: PolicyName, version: String) {
        self.bundles.insert(bundle, (version, None));
    }

    /// Returns the newest version seen of each pack, and of each signed policy with an empty pack.
    pub(crate) fn versions(&self) -> Vec<(PolicyName, String, String)> {
        let mut versions = self.floors.clone();
        for (key, newest) in &self.newest {
            let version = versions.entry(key.clone()).or_default();
            if compare_versions(&newest.pack.version, version) == Ordering::Greater {
                version.clone_from(&newest.pack.version);
            }
        }
        let policies = self.policies.iter().map(|(name, version)| (name.clone(), String::new(), version.clone()));
        versions.into_iter().map(|((policy, name), version)| (policy, name, version)).chain(policies).collect()
    }

    /// Returns the newest version seen of each bundle.
    pub(crate) fn bundle_versions(&self) -> Vec<(PolicyName, String)> {
        self.bundles.iter().map(|(name, (version, _))| (name.clone(), version.clone())).collect()
    }

    /// Refuses an older bundle, and another one of the same version.
    pub(crate) fn check_bundle(&self, name: &PolicyName, version: &str, digest: Digest) -> Result<(), BundleRefused> {
        let Some((seen, known)) = self.bundles.get(name) else { return Ok(()) };
        match compare_versions(version, seen) {
            Ordering::Less => Err(BundleRefused::Older { version: version.to_owned(), seen: seen.clone() }),
            Ordering::Equal if known.is_some_and(|known| known != digest) => {
                Err(BundleRefused::SameVersion { version: version.to_owned() })
            }
            Ordering::Equal | Ordering::Greater => Ok(()),
        }
    }

    /// Returns true where a bundle of that version counted before.
    pub(crate) fn has_bundle(&self, name: &PolicyName, version: &str) -> bool {
        self.bundles.get(name).is_some_and(|(seen, _)| compare_versions(version, seen) == Ordering::Equal)
    }

    /// Takes a bundle as the newest of its name.
    pub(crate) fn admit_bundle(&mut self, name: PolicyName, version: String, digest: Digest) {
        self.bundles.insert(name, (version, Some(digest)));
    }

    /// Returns the version seen of a signed policy, where this one is older.
    pub(crate) fn newer_policy(&self, name: &PolicyName, version: &str) -> Option<String> {
        self.policies.get(name).filter(|seen| compare_versions(version, seen) == Ordering::Less).cloned()
    }

    /// Takes a version as the newest of a signed policy, or, going back, as the one that counts.
    pub(crate) fn admit_policy(&mut self, name: PolicyName, version: String) {
        self.policies.insert(name, version);
    }

    /// Refuses an older pack, another one of the same version, and one that has expired when it comes.
    pub(crate) fn check_pack(&self, policy: &PolicyName, file: &PackFile, now: SystemTime) -> Result<(), RefusedError> {
        let pack = &file.pack;
        if let Some(seen) = self.floor_above(policy, pack) {
            return Err(RefusedError::OlderPack { version: pack.version.clone(), seen });
        }
        let newest = self.newest.get(&(policy.clone(), pack.name.clone()));
        if let Some(Newest { pack: seen, .. }) = newest {
            match compare_versions(&pack.version, &seen.version) {
                Ordering::Less => {
                    let (version, seen) = (pack.version.clone(), seen.version.clone());
                    return Err(RefusedError::OlderPack { version, seen });
                }
                Ordering::Equal if seen.data != pack.data => {
                    return Err(RefusedError::SameVersion { version: pack.version.clone() });
                }
                Ordering::Equal | Ordering::Greater => {}
            }
        }
        // Else whoever holds back what is newer could bring in any old one.
        if file.is_expired(now) && !self.has_pack(policy, pack) {
            return Err(RefusedError::ExpiredPack { version: pack.version.clone() });
        }
        Ok(())
    }

    /// Returns true where a pack of that version counted before, in this process or an earlier one.
    fn has_pack(&self, policy: &PolicyName, pack: &Pack) -> bool {
        let key = (policy.clone(), pack.name.clone());
        let newest = self.newest.get(&key).map(|newest| &newest.pack.version);
        // The floor may be above a pack of the binary, which counts meanwhile.
        let mut seen = newest.into_iter().chain(self.floors.get(&key));
        seen.any(|seen| compare_versions(&pack.version, seen) == Ordering::Equal)
    }

    /// Gives each wanted policy the newest packs, and refuses those that went back. Returns alarms of expired ones.
    pub(crate) fn settle(&mut self, plan: &mut Plan, now: SystemTime) -> Vec<(String, String)> {
        let mut alarms = Vec::new();
        let files = std::mem::take(&mut plan.packs);
        for wanted in plan.wanted.values() {
            for pack in wanted.own_packs.iter().map(|file| &file.pack) {
                // A pack of the bundle may be older than what was dropped since: that is no one's fault. Older than what
                // an earlier process used means that a pack is gone, or the binary went back.
                if let Some(seen) = self.floor_above(&wanted.name, pack)
                    && !self.newest.contains_key(&(wanted.name.clone(), pack.name.clone()))
                {
                    let reason = format!("pack `{}` {} is older than {seen}, used before", pack.name, pack.version);
                    alarms.push((wanted.name.to_string(), reason));
                }
                self.admit_embedded(&wanted.name, pack);
            }
        }
        for DroppedPack { file, policy, pack, replaces } in files {
            let Some(wanted) = plan.wanted.get(&policy) else {
                plan.refused.push((file, RefusedError::NoSuchPolicy(policy)));
                continue;
            };
            let adds = if replaces { Ok(()) } else { wanted.check_adds(&pack.pack) };
            if let Err(refused) = adds.and_then(|()| self.check_pack(&policy, &pack, now)) {
                plan.refused.push((file, refused));
                continue;
            }
            if pack.is_expired(now) {
                alarms.push((file, format!("pack `{}` {} has expired", pack.pack.name, pack.pack.version)));
            }
            let key = (policy, pack.pack.name.clone());
            self.newest.insert(key, Newest { pack: pack.pack, replaces });
        }
        for (name, wanted) in &mut plan.wanted {
            let own = self.newest.iter().filter(|((policy, _), _)| policy == name);
            wanted.packs = own.map(|(_, newest)| wanted.with_own(newest)).collect();
        }
        alarms
    }

    /// Returns the version that an earlier process saw, where the pack is older.
    fn floor_above(&self, policy: &PolicyName, pack: &Pack) -> Option<String> {
        let floor = self.floors.get(&(policy.clone(), pack.name.clone()))?;
        (compare_versions(&pack.version, floor) == Ordering::Less).then(|| floor.clone())
    }

    /// Takes a pack of the binary, unless a newer one counts.
    fn admit_embedded(&mut self, policy: &PolicyName, pack: &Pack) {
        let key = (policy.clone(), pack.name.clone());
        let is_newer = |seen: &Newest| compare_versions(&pack.version, &seen.pack.version) == Ordering::Greater;
        if self.newest.get(&key).is_none_or(is_newer) {
            self.newest.insert(key, Newest { pack: pack.clone(), replaces: false });
        }
    }
}
