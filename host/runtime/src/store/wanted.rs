//! Which policies there should be, and who may say so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use portcullis_gates::PolicySource;
use portcullis_model::json::{Object, Value};
use portcullis_model::{CapabilityGrants, Exemption, Pack, PolicyName};

use super::bundles::{self, BrokenBundles, Parts, Source};
use super::config::{BundledPolicy, Options, PolicyConfig, StoreConfig};
use super::folder::{self, Dropped, FileError, Folder, Group};
use super::packs::{DroppedPack, Seen};
use super::refused::{BundleRefused, RefusedError};
use super::vouch::{self, Signer};
use crate::inspect::LARGEST_MODULE;
use crate::pack::PackFile;
use crate::step::Step;

/// The bytes of a module: embedded ones are not copied.
#[derive(Clone, Debug)]
pub(crate) enum Module {
    Embedded(&'static [u8]),
    Read(Arc<[u8]>),
}

impl std::ops::Deref for Module {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Embedded(bytes) => bytes,
            Self::Read(bytes) => bytes,
        }
    }
}

impl PartialEq for Module {
    fn eq(&self, other: &Self) -> bool {
        let (left, right): (&[u8], &[u8]) = (self, other);
        std::ptr::eq(left, right) || left == right
    }
}

/// A policy that should be there.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: PolicyName,
    pub(crate) source: PolicySource,
    pub(crate) wasm: Module,
    pub(crate) settings: Value,
    /// Packs that the folder may add to, at most.
    pub(crate) own_packs: Vec<PackFile>,
    /// What it is configured with.
    pub(crate) packs: Vec<Pack>,
    pub(crate) options: Options,
    pub(crate) grants: CapabilityGrants,
    pub(crate) exemptions: Vec<Exemption>,
    pub(crate) signer: Signer,
    /// The bundle of the folder that it is part of.
    pub(crate) bundle: Option<Source>,
    /// How long it took to read it and to find out who vouches for it.
    pub(crate) verifying: Duration,
}

impl Wanted {
    /// Returns the step in which somebody vouched for it.
    pub(super) fn verified(&self) -> Step {
        match (&self.signer.key, &self.source) {
            (Some(key), _) => Step::noted("verify", self.verifying, format!("signed by {key}")),
            (None, PolicySource::Bundle) => Step::noted("verify", self.verifying, "embedded"),
            (None, PolicySource::Config(_)) => Step::noted("verify", self.verifying, "placed by the config"),
            (None, PolicySource::Folder(_)) => Step::noted("verify", self.verifying, "unsigned"),
        }
    }

    /// Returns true where nothing that matters differs.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.wasm == other.wasm
            && self.settings == other.settings
            && self.packs == other.packs
            && self.options == other.options
            && self.grants == other.grants
            && self.exemptions == other.exemptions
            && self.source == other.source
            && self.signer == other.signer
    }
}

/// Everything that should be there, and what was refused on the way.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) wanted: BTreeMap<PolicyName, Wanted>,
    pub(crate) packs: Vec<DroppedPack>,
    pub(crate) bundles: Vec<Source>,
    pub(crate) refused: Vec<(String, RefusedError)>,
    /// What has expired since it counts.
    pub(crate) alarms: Vec<(String, String)>,
    /// Policies whose files could not be read or are refused: they do not count as removed.
    pub(crate) unread: BTreeSet<PolicyName>,
    /// Files of bundles that are refused: what of them counts does not count as removed.
    pub(crate) unread_bundles: BTreeSet<String>,
    /// False where the folder itself could not be read: nothing that it added counts as removed then.
    pub(crate) folder_read: bool,
}

impl Plan {
    /// Plans from what is there now, with the files of another folder laid over those of the policies folder. Bundles in
    /// `broken` are left out.
    pub(crate) fn new(
        bundle: &[BundledPolicy],
        config: &StoreConfig,
        over: Option<&Path>,
        seen: &Seen,
        broken: &BrokenBundles,
        now: SystemTime,
    ) -> Self {
        let mut plan = Self { folder_read: true, ..Self::default() };
        for bundled in bundle {
            let own = config.policy(&bundled.name);
            if own.is_some() || !bundled.optional {
                plan.add_bundled(bundled, own);
            }
        }
        for policy in &config.policies {
            plan.add_configured(policy);
        }
        if let Some(path) = &config.folder {
            match Folder::read(path, over) {
                Ok(mut folder) => {
                    let bundles = std::mem::take(&mut folder.bundles);
                    let packs = std::mem::take(&mut folder.packs);
                    plan.add_folder(folder, bundle, config);
                    for dropped in bundles {
                        let parts = bundles::read(&dropped, &plan, bundle, config, seen, broken, now);
                        plan.add_bundle(dropped.file, parts);
                    }
                    plan.add_packs(packs, config);
                }
                Err(error) => {
                    plan.folder_read = false;
                    plan.refused.push((path.display().to_string(), error.into()));
                }
            }
        }
        plan
    }

    fn add_bundled(&mut self, bundled: &BundledPolicy, config: Option<&PolicyConfig>) {
        let wanted = Wanted {
            name: bundled.name.clone(),
            source: PolicySource::Bundle,
            wasm: Module::Embedded(bundled.wasm),
            settings: laid_over(&bundled.settings, config.map(|config| &config.settings)),
            own_packs: bundled.packs.clone(),
            packs: Vec::new(),
            options: Options::of(config),
            grants: config.map(|config| config.grants.clone()).unwrap_or_default(),
            exemptions: config.map(|config| config.exemptions.clone()).unwrap_or_default(),
            signer: Signer::default(),
            bundle: None,
            verifying: Duration::ZERO,
        };
        self.wanted.insert(bundled.name.clone(), wanted);
    }

    /// A policy that the config places: a new one, or one in the place of the bundle's.
    fn add_configured(&mut self, config: &PolicyConfig) {
        let Some(path) = &config.path else { return };
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(".".as_ref());
        let read = path.file_name().and_then(|name| name.to_str()).ok_or(FileError::Unknown).and_then(|name| {
            let directory = Dir::open_ambient_dir(directory, ambient_authority()).map_err(FileError::Io)?;
            folder::read(&directory, name, LARGEST_MODULE)
        });
        let bundled = self.wanted.get(&config.name);
        match read {
            Ok(wasm) => {
                let wanted = Wanted {
                    name: config.name.clone(),
                    source: PolicySource::Config(path.display().to_string()),
                    wasm: Module::Read(wasm.into()),
                    settings: laid_over(
                        bundled.map_or(&Value::Null, |wanted| &wanted.settings),
                        Some(&config.settings),
                    ),
                    own_packs: bundled.map(|wanted| wanted.own_packs.clone()).unwrap_or_default(),
                    packs: Vec::new(),
                    options: Options::of(Some(config)),
                    grants: config.grants.clone(),
                    exemptions: config.exemptions.clone(),
                    signer: Signer::default(),
                    bundle: None,
                    verifying: Duration::ZERO,
                };
                self.wanted.insert(config.name.clone(), wanted);
            }
            Err(error) => {
                // What the operator meant to replace must not judge in its place.
                self.wanted.remove(&config.name);
                self.unread.insert(config.name.clone());
                self.refused.push((config.name.to_string(), error.into()));
            }
        }
    }

    fn add_folder(&mut self, folder: Folder, bundle: &[BundledPolicy], config: &StoreConfig) {
        for (name, error) in folder.refused {
            self.unread.extend(folder::policy_of(&name));
            self.refused.push((name, error.into()));
        }
        for (name, group) in folder.groups {
            match group_of(&name, group, bundle, config) {
                Ok(wanted) => {
                    self.wanted.insert(name, wanted);
                }
                Err(refused) => {
                    // What is refused changes nothing: a policy of that name that judges goes on. Without its module it
                    // was taken away.
                    if !matches!(refused, RefusedError::NoModule) {
                        self.unread.insert(name.clone());
                    }
                    self.refused.push((name.to_string(), refused));
                }
            }
        }
    }

    fn add_bundle(&mut self, file: String, parts: Result<Parts, BundleRefused>) {
        match parts {
            Ok(Parts { source, wanted, packs, alarm }) => {
                self.wanted.extend(wanted.into_iter().map(|wanted| (wanted.name.clone(), wanted)));
                self.packs.extend(packs);
                self.alarms.extend(alarm.map(|reason| (file, reason)));
                self.bundles.push(source);
            }
            Err(refused) => {
                self.unread_bundles.insert(file.clone());
                self.refused.push((file, refused.into()));
            }
        }
    }

    fn add_packs(&mut self, packs: Vec<(Dropped, PackFile)>, config: &StoreConfig) {
        for (dropped, pack) in packs {
            let Some(policy) = pack.policy.clone() else { continue };
            let module = self.wanted.get(&policy).map(|wanted| &*wanted.wasm);
            match vouch::pack(config, &policy, module, &dropped) {
                Ok(replaces) => self.packs.push(DroppedPack { file: dropped.file, policy, pack, replaces }),
                Err(refused) => self.refused.push((dropped.file, refused)),
            }
        }
    }
}

/// Returns the policy that a group of files is.
fn group_of(
    name: &PolicyName,
    group: Group,
    bundle: &[BundledPolicy],
    config: &StoreConfig,
) -> Result<Wanted, RefusedError> {
    let began = Instant::now();
    let own = config.policy(name);
    let bundled = bundle.iter().find(|bundled| bundled.name == *name);
    if own.is_some_and(|own| own.path.is_some()) {
        return Err(RefusedError::ConfigPlaces(name.clone()));
    }
    let Some(module) = group.module else {
        return Err(bundled.map_or(RefusedError::NoModule, |_| RefusedError::Loosens(name.clone())));
    };
    // Of a name that the folder may not have anyway, the signature is not what is wrong.
    let may_anybody = config.trust.keys().iter().any(|key| key.may_loosen);
    if bundled.is_some() && !may_anybody {
        return Err(RefusedError::Loosens(name.clone()));
    }
    let signer = vouch::module(config, name, &module)?;
    if bundled.is_some() && !signer.may_loosen {
        return Err(RefusedError::Loosens(name.clone()));
    }
    let settings = match group.settings {
        Some((dropped, settings)) => {
            vouch::settings(config, name, &dropped)?;
            settings
        }
        None => bundled.map_or(Value::Null, |bundled| bundled.settings.clone()),
    };
    Ok(Wanted {
        name: name.clone(),
        source: PolicySource::Folder(module.file),
        wasm: Module::Read(module.bytes.into()),
        settings: laid_over(&settings, own.map(|config| &config.settings)),
        own_packs: bundled.map(|bundled| bundled.packs.clone()).unwrap_or_default(),
        packs: Vec::new(),
        options: Options::of(own),
        grants: own.map(|config| config.grants.clone()).unwrap_or_default(),
        exemptions: own.map(|config| config.exemptions.clone()).unwrap_or_default(),
        signer,
        bundle: None,
        verifying: began.elapsed(),
    })
}

/// Lays members over settings. Nothing over nothing stays nothing: the policy's own defaults.
pub(crate) fn laid_over(settings: &Value, over: Option<&Object>) -> Value {
    let Some(over) = over.filter(|over| !over.is_empty()) else {
        return settings.clone();
    };
    let mut object = settings.as_object().cloned().unwrap_or_default();
    for (key, value) in over.iter() {
        object.insert(key, value.clone());
    }
    Value::Object(object)
}
