//! The WebAssembly host: how a policy lives, from the bytes of a module to the set that judges.
//!
//! `bytes → digest → signature → compile → configure → snapshot → self-test → publish`. An [`Engine`] says how guests are held, a
//! [`Loader`] makes policies of modules and remembers native code, a [`PolicyStore`] knows which policies there should be
//! and builds the [`PolicySet`](portcullis_gates::PolicySet) that the gates judge by, and [`Watching`] keeps it in line
//! with the policies folder. It knows nothing about MCP, transports, or what a policy looks for.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use portcullis_gates::{Gates, NoJournal};
//! use portcullis_runtime::{Engine, EngineOptions, Loader, PolicyStore, StoreConfig, Watching};
//!
//! # fn example(bundle: Vec<portcullis_runtime::BundledPolicy>) -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::new(EngineOptions::default())?;
//! let loader = Loader::with_cache(engine, "/home/me/.portcullis/cache".as_ref())?;
//! let config = StoreConfig { folder: Some("/home/me/.portcullis/policies.d".into()), ..StoreConfig::default() };
//! let store = Arc::new(PolicyStore::new(loader, bundle, config));
//!
//! // Blocks while compiling: on a thread of its own in a gateway that has to answer `initialize` at once.
//! let gates = Arc::new(Gates::new(store.load(), Arc::new(NoJournal)));
//! let watching = Watching::start(Arc::clone(&store), Arc::clone(&gates))?;
//!
//! // Whoever judges again what is live already waits for `gates.changes()`.
//! let mut events = store.events();
//! for policy in store.status() {
//!     println!("{} {}: {:?}", policy.name, policy.version, policy.mode);
//! }
//! # drop((watching, events.try_recv()));
//! # Ok(())
//! # }
//! ```
//!
//! A single module, for tools:
//!
//! ```no_run
//! use portcullis_gates::Isolation;
//! use portcullis_model::json::Value;
//! use portcullis_runtime::{Budget, Engine, EngineOptions, Inspection, Loader};
//!
//! # fn example(wasm: &[u8], facts: &portcullis_model::Facts, subject: &portcullis_model::Subject)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let inspection = Inspection::of(wasm)?;
//! println!("{} bytes, imports {:?}, judges at {:?}", inspection.size, inspection.imports, inspection.gates);
//!
//! let loader = Loader::without_cache(Engine::new(EngineOptions::default())?)?;
//! let loaded = loader.load(wasm, &Value::Null, &[], &Budget::DEFAULT)?;
//! let evaluator = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
//! let evaluation = evaluator.evaluate_here(facts, subject);
//! println!("{:?} in {:?}", evaluation.outcome, evaluation.cost);
//! # Ok(())
//! # }
//! ```

mod access;
mod budget;
mod cache;
mod compile;
mod engine;
mod evaluator;
mod fault;
mod http;
mod inspect;
mod latency;
mod loader;
mod pack;
mod snapshot;
mod state;
mod step;
mod store;
mod template;
mod wasi;
mod watch;
mod workers;
mod yaml;

pub use budget::Budget;
pub use cache::CacheError;
pub use compile::CompileThreadGone;
pub use engine::{Engine, EngineError, EngineOptions};
pub use evaluator::Evaluator;
pub use inspect::{Capability, InspectError, Inspection, InvalidModule, LARGEST_MODULE, supported};
pub use loader::{LoadError, Loaded, Loader, LoaderError, StartKind};
pub use pack::{PackError, PackFile, compare_versions};
pub use snapshot::SnapshotError;
pub use step::{Step, StepOutcome};
pub use store::{
    BundleRefused, BundledPolicy, FileError, MoveError, Moved, OfferError, Pipeline, PolicyConfig, PolicyError,
    PolicyEvent, PolicyStatus, PolicyStore, RefusedError, SelfTest, SelfTestError, StoreConfig, TriedPolicy, Unsigned,
};
pub use template::{LinkError, StartError};
pub use watch::{WatchError, Watching};
pub use yaml::{LARGEST_YAML, YamlError, parse_yaml};
