//! How long a module takes until it can judge: compiled anew, and from the cache.

use std::time::Duration;

use portcullis_model::CapabilityGrants;
use portcullis_runtime::{Budget, Engine, EngineOptions, Loader};

use crate::arguments::Subject;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Loads from the cache; the middle one counts.
const TIMES: usize = 5;

/// Times of loading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loads {
    /// Compiled, configured and frozen.
    pub(super) cold: Duration,
    /// Read, verified and linked.
    pub(super) cached: Duration,
}

impl Loads {
    /// Loads a module in a folder of its own, so that nothing is known of it.
    pub(super) fn of(subject: &Subject) -> Result<Self, Failure> {
        let mut module = super::super::module(&subject.policy)?;
        if let Some(path) = &subject.settings {
            module.settings = super::super::read_settings(path)?;
        }
        let folder = tempfile::tempdir().or_exit(Exit::State, "making a folder for compiled code")?;
        let load = || {
            let engine = Engine::new(EngineOptions::default()).or_exit(Exit::Policies, "starting the engine")?;
            let loader = Loader::with_cache(engine, &folder.path().join("cache"));
            let loader = loader.or_exit(Exit::Policies, "starting the loader of policies")?;
            let grants = CapabilityGrants::in_name_only();
            loader
                .load_granted(&module.wasm, &module.settings, &module.packs, &Budget::DEFAULT, &grants)
                .map(|loaded| loaded.took)
                .or_exit(Exit::Policies, "loading the policy")
        };
        let cold = load()?;
        let mut cached = (0..TIMES).map(|_| load()).collect::<Result<Vec<_>, _>>()?;
        cached.sort_unstable();
        Ok(Self { cold, cached: cached.get(TIMES / 2).copied().unwrap_or_default() })
    }
}
