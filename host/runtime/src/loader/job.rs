//! What the compile thread does for one policy.

use std::sync::Arc;
use std::time::Instant;

use portcullis_model::Digest;
use wasmtime::component::Component;

use super::LoadError;
use crate::budget::Budget;
use crate::cache::{Cache, Kind};
use crate::engine::Engine;
use crate::inspect::Inspection;
use crate::snapshot::{SnapshotError, snapshot};
use crate::step::Timings;
use crate::store::chain;
use crate::template::{Configuration, StartError, Template};

/// Digests what compiled code depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(pub(super) Digest);

impl Key {
    /// Of code that holds a configured memory: module, settings and packs.
    pub(super) fn of_policy(engine: &Engine, policy: Digest) -> Self {
        Self::new(b"portcullis configured policy 1", engine.compatibility(), policy)
    }

    /// Of code that is the same whatever it is configured with.
    pub(super) fn of_module(engine: &Engine, module: Digest) -> Self {
        Self::new(b"portcullis module 1", engine.compatibility(), module)
    }

    /// Of code that starts unconfigured because that was asked for. Not that of [`Key::of_module`]: a gateway that finds code
    /// there takes it that the module has no snapshot.
    pub(super) fn of_unfrozen(engine: &Engine, module: Digest) -> Self {
        Self::new(b"portcullis unfrozen 1", engine.compatibility(), module)
    }

    /// Of the instrumented module, which is the same for all settings and packs.
    fn of_draft(engine: &Engine, module: Digest) -> Self {
        Self::new(b"portcullis draft 1", engine.drafting_compatibility(), module)
    }

    fn new(what: &[u8], engine: Digest, digest: Digest) -> Self {
        Self(Digest::of_parts([what, digest.as_bytes(), engine.as_bytes()]))
    }
}

/// Digests module, settings and packs, in forms that do not depend on how a file was written.
pub(super) fn digest(module: Digest, configuration: &Configuration) -> Digest {
    let settings = configuration.settings.to_canonical();
    let packs: Vec<_> = configuration
        .packs
        .iter()
        .flat_map(|pack| [pack.name.clone(), pack.version.clone(), pack.data.to_canonical()])
        .collect();
    let fixed = [module.as_bytes().as_slice(), settings.as_bytes()];
    Digest::of_parts(fixed.into_iter().chain(packs.iter().map(String::as_bytes)))
}

/// Code with the reason why it starts unconfigured, where it does.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) template: Arc<Template>,
    pub(super) without_snapshot: Option<String>,
}

/// One policy that is compiled.
pub(super) struct Job {
    pub(super) engine: Engine,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) wasm: Vec<u8>,
    pub(super) inspection: Arc<Inspection>,
    pub(super) configuration: Arc<Configuration>,
    pub(super) digest: Digest,
    pub(super) budget: Budget,
}

impl Job {
    pub(super) fn run(self) -> Result<(Key, Prepared, Timings), LoadError> {
        let mut timings = Timings::default();
        let (key, component, without_snapshot) = self.compile(&mut timings)?;
        let template = Template::link(&self.engine, &component, &self.inspection, false)?;
        self.keep(Kind::Policy, key, without_snapshot.as_deref(), &component);
        Ok((key, Prepared { template: Arc::new(template), without_snapshot }, timings))
    }

    /// Compiles the module as it is, for all settings and packs.
    pub(super) fn run_unfrozen(self) -> Result<(Key, Prepared), LoadError> {
        let reason = Some("none was asked for".to_owned());
        let key = Key::of_unfrozen(&self.engine, self.inspection.digest);
        let component = Component::new(self.engine.main(), &self.wasm).map_err(LoadError::Compile)?;
        let template = Template::link(&self.engine, &component, &self.inspection, false)?;
        self.keep(Kind::Policy, key, reason.as_deref(), &component);
        Ok((key, Prepared { template: Arc::new(template), without_snapshot: reason }))
    }

    fn keep(&self, kind: Kind, key: Key, without_snapshot: Option<&str>, component: &Component) {
        let Some(cache) = &self.cache else { return };
        match component.serialize() {
            Ok(code) => cache.put(kind, key.0, without_snapshot, &code),
            Err(error) => tracing::warn!(%error, "compiled code could not be kept"),
        }
    }

    /// Compiles the instrumented module, unless that was done for other settings or packs before: with a new pack, half of
    /// the work is done already.
    fn draft(&self, instrumented: &[u8]) -> wasmtime::Result<Component> {
        let key = Key::of_draft(&self.engine, self.inspection.digest);
        let kept = self.cache.as_ref().and_then(|cache| cache.get(Kind::Draft, key.0));
        if let Some(component) = kept.and_then(|entry| entry.code.component(self.engine.drafting())) {
            return Ok(component);
        }
        let component = Component::new(self.engine.drafting(), instrumented)?;
        self.keep(Kind::Draft, key, None, &component);
        Ok(component)
    }

    fn compile(&self, timings: &mut Timings) -> Result<(Key, Component, Option<String>), LoadError> {
        let policy = Key::of_policy(&self.engine, self.digest);
        if self.inspection.needs_grant() {
            let started = Instant::now();
            let component = Component::new(self.engine.main(), &self.wasm).map_err(LoadError::Compile)?;
            timings.compile += started.elapsed();
            let reason = Some("it has a capability".to_owned());
            return Ok((Key::of_module(&self.engine, self.inspection.digest), component, reason));
        }
        let draft = |instrumented: &[u8]| self.draft(instrumented);
        let frozen =
            snapshot(&self.engine, &self.wasm, &self.inspection, &self.budget, &self.configuration, timings, draft);
        let compile = |wasm: &[u8], timings: &mut Timings| {
            let started = Instant::now();
            let component = Component::new(self.engine.main(), wasm).map_err(LoadError::Compile);
            timings.compile += started.elapsed();
            component
        };
        match frozen {
            Ok(frozen) => Ok((policy, compile(&frozen, timings)?, None)),
            // Its own refusal of settings or packs, which compiling it again would not change.
            Err(SnapshotError::Start(StartError::Configure(refused))) => Err(StartError::Configure(refused).into()),
            Err(error) => {
                // What is in the module itself stays so with other settings, and the code serves them too.
                let inherent = matches!(error, SnapshotError::Refused(_));
                let key = if inherent { Key::of_module(&self.engine, self.inspection.digest) } else { policy };
                Ok((key, compile(&self.wasm, timings)?, Some(chain(&error))))
            }
        }
    }
}
