//! From the bytes of a module to a policy that is ready to judge.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use portcullis_gates::Isolation;
use portcullis_model::json::Value;
use portcullis_model::{CapabilityGrants, Description, Digest, GateName, HttpOrigin, Pack};

use crate::access::Access;
use crate::budget::Budget;
use crate::cache::{Cache, CacheError, Entry, Kind};
use crate::compile::{CompileThread, CompileThreadGone};
use crate::engine::Engine;
use crate::evaluator::Evaluator;
use crate::inspect::{InspectError, Inspection};
use crate::state::Purpose;
use crate::step::{Step, Timings};
use crate::template::{Configuration, LinkError, StartError, Template};

mod job;
mod unfrozen;

use job::{Job, Key, Prepared, digest};

/// A module did not become a policy. Nothing else changes by that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The module is none that a policy can be made of.
    #[error("the module is refused")]
    Inspect(#[from] InspectError),
    /// It imports something that the operator did not grant.
    #[error(
        "the module imports `{import}`, which is not granted; hint: `grants: {{http: {{hosts: [NAME]}}}}` of the policy in \
             the config grants it"
    )]
    NotGranted {
        /// The import.
        import: String,
    },
    /// It does not compile.
    #[error("the module could not be compiled")]
    Compile(#[source] wasmtime::Error),
    /// It does not fit the host.
    #[error("the module could not be linked")]
    Link(#[from] LinkError),
    /// It could not be started or configured.
    #[error("the policy could not be started")]
    Start(#[from] StartError),
    /// Compiling failed in a way that nothing should.
    #[error("the module could not be compiled at all")]
    Thread(#[from] CompileThreadGone),
}

/// How evaluations of a policy start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// From a snapshot of its configured memory.
    Snapshot,
    /// Each from an instance that is configured anew; prepared ahead where possible.
    Configured {
        /// Why there is no snapshot.
        reason: String,
        /// What configuring one instance costs.
        cost: Duration,
    },
}

impl fmt::Display for StartKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot => formatter.write_str("snapshot"),
            Self::Configured { reason, cost } => {
                write!(formatter, "configured ({} µs an instance; no snapshot: {reason})", cost.as_micros())
            }
        }
    }
}

/// A policy that is compiled, configured and described.
#[derive(Clone, Debug)]
pub struct Loaded {
    engine: Engine,
    prepared: Arc<Prepared>,
    configuration: Option<Arc<Configuration>>,
    access: Access,
    /// What it says of itself.
    pub description: Arc<Description>,
    /// What its module shows.
    pub inspection: Arc<Inspection>,
    /// Digest over module, settings and packs.
    pub digest: Digest,
    /// How its evaluations start.
    pub start: StartKind,
    /// True where its code came from the cache.
    pub cached: bool,
    /// How long loading took.
    pub took: Duration,
    /// What loading consisted of.
    pub steps: Vec<Step>,
}

impl Loaded {
    /// Returns the gates that the policy exports.
    pub fn gates(&self) -> &[GateName] {
        &self.inspection.gates
    }

    /// Returns the origins that the policy may reach.
    pub fn reaches(&self) -> Vec<HttpOrigin> {
        self.access.client().map(|client| client.grant().hosts.clone()).unwrap_or_default()
    }

    /// Makes what judges.
    pub fn evaluator(&self, budget: Budget, isolation: Isolation) -> Evaluator {
        Evaluator::new(
            self.engine.clone(),
            self.description.name.clone(),
            Arc::clone(&self.prepared.template),
            self.configuration.clone(),
            self.description.needs_payload,
            self.access.clone(),
            budget,
            isolation,
        )
    }
}

/// Loads policies: compiles off the caller's thread, freezes, and remembers native code.
#[derive(Clone, Debug)]
pub struct Loader {
    engine: Engine,
    thread: CompileThread,
    cache: Option<Arc<Cache>>,
    /// What is loaded now. Held weakly: a policy that is gone frees its code.
    live: Arc<Mutex<HashMap<Key, Weak<Prepared>>>>,
}

/// A loader could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoaderError {
    /// Its thread could not be started.
    #[error("the compile thread could not be started")]
    Thread(#[source] std::io::Error),
    /// Its cache could not be opened.
    #[error("the cache of compiled policies could not be opened")]
    Cache(#[source] CacheError),
}

/// What is there of a policy once its code is.
struct Parts {
    prepared: Arc<Prepared>,
    cached: bool,
    inspection: Arc<Inspection>,
    configuration: Arc<Configuration>,
    access: Access,
    digest: Digest,
    started: Instant,
    timings: Timings,
}

impl Loader {
    /// Makes a loader that remembers nothing.
    pub fn without_cache(engine: Engine) -> Result<Self, LoaderError> {
        Self::new(engine, None)
    }

    /// Makes a loader that keeps native code in a folder, which is created where it does not exist.
    pub fn with_cache(engine: Engine, folder: &Path) -> Result<Self, LoaderError> {
        let cache = Cache::open(folder).map_err(LoaderError::Cache)?;
        Self::new(engine, Some(Arc::new(cache)))
    }

    fn new(engine: Engine, cache: Option<Arc<Cache>>) -> Result<Self, LoaderError> {
        let thread = CompileThread::start().map_err(LoaderError::Thread)?;
        Ok(Self { engine, thread, cache, live: Arc::default() })
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Lets compiling give way to everything else from now on.
    pub(crate) fn give_way(&self) {
        self.thread.give_way();
    }

    /// Returns how often a cache entry was refused since the start: each time is an alarm.
    pub fn alarms(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.alarms())
    }

    /// Loads a policy that is granted nothing. Blocks until it is ready, which takes seconds where nothing is cached: not for a
    /// thread of an async runtime.
    pub fn load(&self, wasm: &[u8], settings: &Value, packs: &[Pack], budget: &Budget) -> Result<Loaded, LoadError> {
        self.load_granted(wasm, settings, packs, budget, &CapabilityGrants::default())
    }

    /// Loads a policy with what the operator granted. Blocks like [`Loader::load`].
    pub fn load_granted(
        &self,
        wasm: &[u8],
        settings: &Value,
        packs: &[Pack],
        budget: &Budget,
        grants: &CapabilityGrants,
    ) -> Result<Loaded, LoadError> {
        let started = Instant::now();
        let inspection = Arc::new(Inspection::of(wasm)?);
        let access = Access::granted(&inspection, grants)?;
        let configuration = Arc::new(Configuration { settings: settings.clone(), packs: packs.to_vec() });
        let digest = digest(inspection.digest, &configuration);
        let finding = Instant::now();
        let (prepared, cached, timings) = if let Some(prepared) = self.known(digest, &inspection)? {
            (prepared, true, Timings { compile: finding.elapsed(), ..Timings::default() })
        } else {
            let (prepared, timings) = self.cold(wasm, &inspection, &configuration, digest, budget)?;
            (prepared, false, timings)
        };
        self.finish(Parts { prepared, cached, inspection, configuration, access, digest, started, timings }, budget)
    }

    /// Asks the policy what it is, and says how its evaluations start.
    fn finish(&self, parts: Parts, budget: &Budget) -> Result<Loaded, LoadError> {
        let Parts { prepared, cached, inspection, configuration, access, digest, started, timings } = parts;
        let template = &prepared.template;
        let (description, start) = match prepared.without_snapshot.clone() {
            None => {
                let description = template
                    .instantiate(budget, Purpose::configure(None, *budget), true)
                    .map_err(|fault| StartError::Fault { during: "instantiated", fault })?
                    .describe()?;
                (description, StartKind::Snapshot)
            }
            Some(reason) => {
                let before = Instant::now();
                let mut live = template.configured(None, budget, &configuration)?;
                let cost = before.elapsed();
                (live.describe()?, StartKind::Configured { reason, cost })
            }
        };
        let steps = steps(timings, cached, &start);
        Ok(Loaded {
            engine: self.engine.clone(),
            prepared,
            configuration: match start {
                StartKind::Snapshot => None,
                StartKind::Configured { .. } => Some(configuration),
            },
            access,
            description: Arc::new(description),
            inspection,
            digest,
            start,
            cached,
            took: started.elapsed(),
            steps,
        })
    }

    /// Returns code that is loaded already, or kept.
    fn known(&self, policy: Digest, inspection: &Inspection) -> Result<Option<Arc<Prepared>>, LoadError> {
        let keys = [Key::of_policy(&self.engine, policy), Key::of_module(&self.engine, inspection.digest)];
        for key in keys {
            if let Some(prepared) = self.live(key) {
                return Ok(Some(prepared));
            }
            if let Some(prepared) = self.kept(key, inspection)? {
                return Ok(Some(self.remember(key, prepared)));
            }
        }
        Ok(None)
    }

    fn live(&self, key: Key) -> Option<Arc<Prepared>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).get(&key).and_then(Weak::upgrade)
    }

    /// Remembers code, or returns what another load has remembered meanwhile.
    fn remember(&self, key: Key, prepared: Prepared) -> Arc<Prepared> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|_, prepared| prepared.strong_count() > 0);
        if let Some(other) = live.get(&key).and_then(Weak::upgrade) {
            return other;
        }
        let prepared = Arc::new(prepared);
        live.insert(key, Arc::downgrade(&prepared));
        prepared
    }

    fn kept(&self, key: Key, inspection: &Inspection) -> Result<Option<Prepared>, LoadError> {
        let Some(Entry { code, without_snapshot }) =
            self.cache.as_ref().and_then(|cache| cache.get(Kind::Policy, key.0))
        else {
            return Ok(None);
        };
        // Code of another engine carries another key; should the engine still refuse it, it is compiled anew.
        let Some(component) = code.component(self.engine.main()) else { return Ok(None) };
        let template = Template::link(&self.engine, &component, inspection, false)?;
        Ok(Some(Prepared { template: Arc::new(template), without_snapshot }))
    }

    fn cold(
        &self,
        wasm: &[u8],
        inspection: &Arc<Inspection>,
        configuration: &Arc<Configuration>,
        digest: Digest,
        budget: &Budget,
    ) -> Result<(Arc<Prepared>, Timings), LoadError> {
        let job = Job {
            engine: self.engine.clone(),
            cache: self.cache.clone(),
            wasm: wasm.to_vec(),
            inspection: Arc::clone(inspection),
            configuration: Arc::clone(configuration),
            digest,
            budget: *budget,
        };
        let (key, prepared, timings) = self.thread.run(move || job.run())??;
        Ok((self.remember(key, prepared), timings))
    }
}

fn steps(timings: Timings, cached: bool, start: &StartKind) -> Vec<Step> {
    if cached {
        return vec![Step::noted("compile", timings.compile, "from the cache, configured")];
    }
    let snapshot = match start {
        StartKind::Snapshot => Step::done("snapshot", timings.snapshot),
        StartKind::Configured { reason, .. } => Step::noted("snapshot", timings.snapshot, format!("without: {reason}")),
    };
    vec![Step::done("compile", timings.compile), Step::done("configure", timings.configure), snapshot]
}
