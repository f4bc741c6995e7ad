//! Which policies there should be, and who may say so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use portcullis_gates::PolicySource;
use portcullis_model::json::{Object, Value};
use portcullis_model::{Pack, PolicyName};

use super::config::{BundledPolicy, Options, PolicyConfig, StoreConfig};
use super::folder::{self, FileError, Folder};
use crate::inspect::LARGEST_MODULE;
use crate::pack::PackFile;

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
    pub(crate) packs: Vec<Pack>,
    pub(crate) options: Options,
}

/// Something in the folder or the config that changes nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedError {
    /// A file of the folder has the name of a policy of the bundle.
    #[error(
        "the folder may add policies, not replace or configure `{0}` of the bundle; hint: use `policies:` in the config"
    )]
    Loosens(PolicyName),
    /// A file of the folder has the name of a policy that the config places elsewhere.
    #[error("the config says where `{0}` is; the folder may not replace it")]
    ConfigPlaces(PolicyName),
    /// Settings without a module.
    #[error("there is no module of that name in the folder")]
    NoModule,
    /// A module that no key vouches for.
    #[error(
        "it has no signature that this version can verify; hint: set `policies.allow_unsigned: true` in the config to take unsigned modules"
    )]
    Unsigned,
    /// A pack for a policy that is not there.
    #[error("there is no policy `{0}` that the pack could be for")]
    NoSuchPolicy(PolicyName),
    /// A pack of an older version than was seen.
    #[error("version {version} of the pack is older than {seen}, which was seen before")]
    OlderPack {
        /// Its version.
        version: String,
        /// The version seen.
        seen: String,
    },
    /// A pack of the same version with other data.
    #[error("the pack differs from what was seen as version {version}; hint: raise its version")]
    SameVersion {
        /// Its version.
        version: String,
    },
    /// A file was not read.
    #[error("it was not read")]
    File(#[from] FileError),
}

/// Everything that should be there, and what was refused on the way.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) wanted: BTreeMap<PolicyName, Wanted>,
    pub(crate) packs: Vec<(String, PackFile)>,
    pub(crate) refused: Vec<(String, RefusedError)>,
    /// Policies whose files could not be read: they do not count as removed.
    pub(crate) unread: BTreeSet<PolicyName>,
    /// False where the folder itself could not be read: nothing that it added counts as removed then.
    pub(crate) folder_read: bool,
}

impl Plan {
    pub(crate) fn new(bundle: &[BundledPolicy], config: &StoreConfig) -> Self {
        let mut plan = Self { folder_read: true, ..Self::default() };
        for bundled in bundle {
            plan.add_bundled(bundled, config.policy(&bundled.name));
        }
        for policy in &config.policies {
            plan.add_configured(policy);
        }
        if let Some(path) = &config.folder {
            match Folder::read(path) {
                Ok(folder) => plan.add_folder(folder, bundle, config),
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
            packs: bundled.packs.clone(),
            options: Options::of(config),
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
                    packs: bundled.map(|wanted| wanted.packs.clone()).unwrap_or_default(),
                    options: Options::of(Some(config)),
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
            let placed = config.policy(&name).is_some_and(|config| config.path.is_some());
            let refused = if bundle.iter().any(|bundled| bundled.name == name) {
                Some(RefusedError::Loosens(name.clone()))
            } else if placed {
                Some(RefusedError::ConfigPlaces(name.clone()))
            } else if group.wasm.is_none() {
                Some(RefusedError::NoModule)
            } else if !config.allow_unsigned {
                Some(RefusedError::Unsigned)
            } else {
                None
            };
            if let Some(refused) = refused {
                self.refused.push((name.to_string(), refused));
                continue;
            }
            let own = config.policy(&name);
            let wanted = Wanted {
                name: name.clone(),
                source: PolicySource::Folder(format!("{name}.wasm")),
                wasm: Module::Read(group.wasm.unwrap_or_default().into()),
                settings: laid_over(&group.settings.unwrap_or(Value::Null), own.map(|config| &config.settings)),
                packs: Vec::new(),
                options: Options::of(own),
            };
            self.wanted.insert(name, wanted);
        }
        self.packs = folder.packs;
    }
}

/// Lays members over settings. Nothing over nothing stays nothing: the policy's own defaults.
fn laid_over(settings: &Value, over: Option<&Object>) -> Value {
    let Some(over) = over.filter(|over| !over.is_empty()) else {
        return settings.clone();
    };
    let mut object = settings.as_object().cloned().unwrap_or_default();
    for (key, value) in over.iter() {
        object.insert(key, value.clone());
    }
    Value::Object(object)
}
