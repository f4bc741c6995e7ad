//! Bundles of the folder: all of one, or nothing of it.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use portcullis_gates::PolicySource;
use portcullis_model::json::Value;
use portcullis_model::{Digest, PolicyName};
use portcullis_signatures::{Bundle, BundleFile, Manifest, TrustedKey};

use super::config::{BundledPolicy, Options, StoreConfig};
use super::folder::{Dropped, Kind, kind, parse_pack};
use super::packs::{DroppedPack, Seen};
use super::refused::{BundleRefused, RefusedError};
use super::vouch;
use super::wanted::{Module, Plan, Wanted, laid_over};
use crate::inspect::{Capability, Inspection};
use crate::pack::{compare_versions, parse_date};
use crate::yaml::parse_yaml;

/// Capabilities that a bundle may need.
const CAPABILITIES: [Capability; 2] = [Capability::InertWasi, Capability::OutgoingHttp];

/// A bundle that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Its file in the folder.
    pub(crate) file: String,
    /// Its name.
    pub(crate) name: PolicyName,
    /// Its version.
    pub(crate) version: String,
    /// Digest of its manifest, which stands for all of it.
    pub(crate) digest: Digest,
}

/// A bundle with a policy that could not be loaded.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    /// Digest of its manifest: another bundle in the same file may be sound.
    pub(crate) digest: Digest,
    pub(crate) policy: PolicyName,
    pub(crate) reason: String,
    /// False where the same may go well another time.
    pub(crate) stays: bool,
}

/// Bundles that do not stand, by file.
pub(crate) type BrokenBundles = BTreeMap<String, Broken>;

/// What a bundle adds to a plan.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) source: Source,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) packs: Vec<DroppedPack>,
    /// That it has expired, where it has.
    pub(crate) alarm: Option<String>,
}

/// Reads a bundle, beside what the plan has already.
pub(crate) fn read(
    dropped: &Dropped,
    plan: &Plan,
    bundle: &[BundledPolicy],
    config: &StoreConfig,
    seen: &Seen,
    broken: &BrokenBundles,
    now: SystemTime,
) -> Result<Parts, BundleRefused> {
    let began = Instant::now();
    let vouch = |manifest: &[u8], signature: Option<&[u8]>| {
        let key = vouch::manifest(config, manifest, signature)?;
        Ok((key, Digest::of(manifest)))
    };
    let (Bundle { manifest, files }, (key, digest)) = Bundle::open(&dropped.bytes, vouch)?;
    if let Some(broken) = broken.get(&dropped.file).filter(|broken| broken.digest == digest) {
        return Err(BundleRefused::Policy { policy: broken.policy.clone(), reason: broken.reason.clone() });
    }
    check_host(&manifest)?;
    seen.check_bundle(&manifest.name, &manifest.version, digest)?;
    let alarm = check_expiry(&manifest, seen, now)?;
    let source =
        Source { file: dropped.file.clone(), name: manifest.name.clone(), version: manifest.version.clone(), digest };
    let mut reading = Reading { manifest: &manifest, files: &files, key, plan, bundle, config, source: &source, began };
    let wanted = reading.policies()?;
    let packs = reading.packs(&wanted, seen, now)?;
    Ok(Parts { source, wanted, packs, alarm })
}

/// Refuses a bundle that needs what this host does not have.
fn check_host(manifest: &Manifest) -> Result<(), BundleRefused> {
    if let Some(needed) = &manifest.minimum_host
        && compare_versions(env!("CARGO_PKG_VERSION"), needed).is_lt()
    {
        return Err(BundleRefused::LaterHost { needed: needed.clone() });
    }
    let known = |name: &String| CAPABILITIES.iter().any(|capability| capability.to_string() == *name);
    match manifest.capabilities.iter().find(|name| !known(name)) {
        Some(unknown) => Err(BundleRefused::UnknownCapability(unknown.clone())),
        None => Ok(()),
    }
}

/// Refuses a bundle that has expired when it comes; one that was live before raises an alarm.
fn check_expiry(manifest: &Manifest, seen: &Seen, now: SystemTime) -> Result<Option<String>, BundleRefused> {
    let Some(expires) = &manifest.expires else { return Ok(None) };
    if parse_date(expires).ok_or(BundleRefused::NoDate)? > now {
        return Ok(None);
    }
    let (name, version) = (&manifest.name, &manifest.version);
    if seen.has_bundle(name, version) {
        Ok(Some(format!("bundle `{name}` {version} has expired on {expires}")))
    } else {
        Err(BundleRefused::Expired { version: version.clone() })
    }
}

struct Reading<'a> {
    manifest: &'a Manifest,
    files: &'a [BundleFile],
    key: Option<&'a TrustedKey>,
    plan: &'a Plan,
    bundle: &'a [BundledPolicy],
    config: &'a StoreConfig,
    source: &'a Source,
    began: Instant,
}

impl Reading<'_> {
    fn policies(&mut self) -> Result<Vec<Wanted>, BundleRefused> {
        let mut policies = Vec::new();
        for file in self.files {
            match kind(&file.name) {
                Ok(Kind::Module(name)) => policies.push(self.policy(name, file)?),
                Ok(Kind::Settings(name)) => {
                    let is_module =
                        |other: &BundleFile| matches!(kind(&other.name), Ok(Kind::Module(module)) if module == name);
                    if !self.files.iter().any(is_module) {
                        return Err(member(file, RefusedError::NoModule));
                    }
                }
                Ok(Kind::Pack) => {}
                Ok(Kind::Signature(_) | Kind::Bundle) | Err(_) => return Err(BundleRefused::Kind(file.name.clone())),
            }
        }
        Ok(policies)
    }

    fn policy(&self, name: PolicyName, file: &BundleFile) -> Result<Wanted, BundleRefused> {
        let inspection =
            Inspection::of(&file.bytes).map_err(|source| BundleRefused::Module { file: file.name.clone(), source })?;
        for capability in inspection.capabilities {
            let capability = capability.to_string();
            if !self.manifest.capabilities.contains(&capability) {
                return Err(BundleRefused::Undeclared { file: file.name.clone(), capability });
            }
        }
        let signer = vouch::member(self.key, &name, Some(&file.bytes)).map_err(|error| member(file, error))?;
        let bundled = self.bundle.iter().find(|bundled| bundled.name == name);
        if bundled.is_some() && !signer.may_loosen {
            return Err(member(file, RefusedError::Loosens(name)));
        }
        let own = self.config.policy(&name);
        if own.is_some_and(|own| own.path.is_some()) {
            return Err(member(file, RefusedError::ConfigPlaces(name)));
        }
        let is_taken = |wanted: &Wanted| wanted.source != PolicySource::Bundle;
        if self.plan.wanted.get(&name).is_some_and(is_taken) {
            return Err(BundleRefused::Twice(name));
        }
        let settings = self.settings(&name)?.or_else(|| bundled.map(|bundled| bundled.settings.clone()));
        Ok(Wanted {
            source: PolicySource::Folder(format!("{}: {}", self.source.file, file.name)),
            wasm: Module::Read(file.bytes.clone().into()),
            settings: laid_over(&settings.unwrap_or(Value::Null), own.map(|own| &own.settings)),
            own_packs: bundled.map(|bundled| bundled.packs.clone()).unwrap_or_default(),
            packs: Vec::new(),
            options: Options::of(own),
            grants: own.map(|own| own.grants.clone()).unwrap_or_default(),
            exemptions: own.map(|own| own.exemptions.clone()).unwrap_or_default(),
            signer,
            bundle: Some(self.source.clone()),
            verifying: self.began.elapsed(),
            name,
        })
    }

    fn settings(&self, name: &PolicyName) -> Result<Option<Value>, BundleRefused> {
        let is_its = |file: &&BundleFile| matches!(kind(&file.name), Ok(Kind::Settings(settings)) if settings == *name);
        let Some(file) = self.files.iter().find(is_its) else { return Ok(None) };
        let settings = parse_yaml(&file.bytes)
            .map_err(|error| member(file, RefusedError::File(super::folder::FileError::Settings(error))))?;
        Ok(Some(settings))
    }

    fn packs(&self, wanted: &[Wanted], seen: &Seen, now: SystemTime) -> Result<Vec<DroppedPack>, BundleRefused> {
        let mut packs = Vec::new();
        for file in self.files.iter().filter(|file| matches!(kind(&file.name), Ok(Kind::Pack))) {
            let pack = self.pack(file, wanted, seen, now).map_err(|error| member(file, error))?;
            packs.push(pack);
        }
        Ok(packs)
    }

    fn pack(
        &self,
        file: &BundleFile,
        wanted: &[Wanted],
        seen: &Seen,
        now: SystemTime,
    ) -> Result<DroppedPack, RefusedError> {
        let pack = parse_pack(&file.bytes)?;
        let policy = pack.policy.clone().ok_or(super::folder::FileError::NoPolicy)?;
        let own = wanted.iter().find(|wanted| wanted.name == policy);
        let target = own.or_else(|| self.plan.wanted.get(&policy));
        let target = target.ok_or_else(|| RefusedError::NoSuchPolicy(policy.clone()))?;
        vouch::member(self.key, &policy, Some(&target.wasm))?;
        let replaces = self.key.is_some_and(|key| key.may_loosen);
        if !replaces {
            target.check_adds(&pack.pack)?;
        }
        seen.check_pack(&policy, &pack, now)?;
        Ok(DroppedPack { file: format!("{}: {}", self.source.file, file.name), policy, pack, replaces })
    }
}

fn member(file: &BundleFile, source: RefusedError) -> BundleRefused {
    BundleRefused::Member { file: file.name.clone(), source: Box::new(source) }
}
