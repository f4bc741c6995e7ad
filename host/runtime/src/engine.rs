//! The engine: how guests are compiled, where their memory lies, and when they are interrupted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_model::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::component::Linker;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use crate::budget::MIB;
use crate::inspect::Links;
use crate::state::State;
use crate::workers::Workers;

mod slots;
mod ticker;

pub(crate) use slots::{Slot, Slots};
use ticker::Ticker;

/// How guests are held. The defaults suit a laptop and a container alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Guests that can live at once. Each takes address space, not memory: see [`EngineOptions::memory`].
    pub slots: u32,
    /// The largest linear memory of a guest in bytes. No budget goes beyond it.
    pub memory: u64,
    /// Bytes of each slot that stay resident between guests, so that the next one takes no page faults there.
    pub resident: usize,
    /// Threads for evaluations that are large or slow.
    pub workers: usize,
    /// Evaluations that wait for such a thread; further ones are faults.
    pub queue: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            // Every thread that evaluates holds one, and each policy without snapshot keeps two ready.
            slots: u32::try_from(cores).unwrap_or(2).saturating_mul(4).clamp(32, 128),
            memory: 64 * MIB,
            resident: 2 * 1024 * 1024,
            workers: cores.clamp(2, 8),
            queue: 256,
        }
    }
}

/// No engine could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The WebAssembly engine refused.
    #[error("the WebAssembly engine could not be started")]
    Engine(#[source] wasmtime::Error),
    /// A thread could not be started.
    #[error("the threads of the engine could not be started")]
    Thread(#[source] std::io::Error),
}

/// A running engine. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    main: wasmtime::Engine,
    drafting: wasmtime::Engine,
    pooled: bool,
    options: EngineOptions,
    ticker: Ticker,
    slots: Slots,
    workers: Workers,
    /// For policies that wait for somebody else; there where the first of them evaluates.
    waiting: OnceLock<Option<Workers>>,
    plain: Linker<State>,
    inert: OnceLock<Linker<State>>,
    http: OnceLock<Linker<State>>,
    drafting_plain: Linker<State>,
    drafting_inert: OnceLock<Linker<State>>,
    compatibility: Digest,
    drafting_compatibility: Digest,
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("options", &self.inner.options)
            .field("pooled", &self.inner.pooled)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts an engine with its ticker and its worker threads; they end with the last clone.
    pub fn new(options: EngineOptions) -> Result<Self, EngineError> {
        let (main, pooled) = main_engine(&options).map_err(EngineError::Engine)?;
        let drafting = drafting_engine().map_err(EngineError::Engine)?;
        let plain = plain_linker(&main).map_err(EngineError::Engine)?;
        let drafting_plain = plain_linker(&drafting).map_err(EngineError::Engine)?;
        Ok(Self {
            inner: Arc::new(Inner {
                ticker: Ticker::start(&[&main, &drafting]).map_err(EngineError::Thread)?,
                slots: Slots::new(options.slots as usize),
                workers: Workers::new(options.workers, options.queue).map_err(EngineError::Thread)?,
                waiting: OnceLock::new(),
                compatibility: compatibility(&main),
                drafting_compatibility: compatibility(&drafting),
                plain,
                inert: OnceLock::new(),
                http: OnceLock::new(),
                drafting_plain,
                drafting_inert: OnceLock::new(),
                main,
                drafting,
                pooled,
                options,
            }),
        })
    }

    /// Returns how guests are held.
    pub fn options(&self) -> &EngineOptions {
        &self.inner.options
    }

    /// Returns false where the address space did not allow the pool, so that each guest's memory is mapped anew.
    pub fn is_pooled(&self) -> bool {
        self.inner.pooled
    }

    /// Returns the digest of everything that compiled code depends on besides the module.
    pub(crate) fn compatibility(&self) -> Digest {
        self.inner.compatibility
    }

    /// Returns the same of code that runs once.
    pub(crate) fn drafting_compatibility(&self) -> Digest {
        self.inner.drafting_compatibility
    }

    pub(crate) fn main(&self) -> &wasmtime::Engine {
        &self.inner.main
    }

    /// Returns the engine for code that runs once: compiled fast, not well.
    pub(crate) fn drafting(&self) -> &wasmtime::Engine {
        &self.inner.drafting
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.inner.slots
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.inner.workers
    }

    /// Returns the threads for policies that wait for the network, so that they never hold those of others. Nothing where they
    /// could not be started.
    pub(crate) fn waiting_workers(&self) -> Option<&Workers> {
        let start = || {
            let workers = Workers::new(WAITING_WORKERS, WAITING_QUEUE);
            workers
                .inspect_err(|error| tracing::warn!(%error, "threads for waiting policies could not be started"))
                .ok()
        };
        self.inner.waiting.get_or_init(start).as_ref()
    }

    /// Guests that may run for longer have to see to it themselves that epochs pass: the ticker goes to sleep when no guest
    /// began for twice this time.
    pub(crate) const UNATTENDED: Duration = Duration::from_secs(1);

    /// Makes sure that epochs pass while a guest runs.
    pub(crate) fn awake(&self) {
        self.inner.ticker.awake();
    }

    /// Returns what guests are linked with; what only some want is made when the first of them comes.
    pub(crate) fn linker(&self, drafting: bool, links: Links) -> wasmtime::Result<&Linker<State>> {
        let (engine, plain, inert) = if drafting {
            (&self.inner.drafting, &self.inner.drafting_plain, &self.inner.drafting_inert)
        } else {
            (&self.inner.main, &self.inner.plain, &self.inner.inert)
        };
        let made = match links {
            Links::Plain => return Ok(plain),
            Links::InertWasi => inert,
            // Policies with a capability are never drafted.
            Links::Http => &self.inner.http,
        };
        if let Some(linker) = made.get() {
            return Ok(linker);
        }
        let mut linker = plain_linker(engine)?;
        crate::wasi::add_to_linker(&mut linker)?;
        if links == Links::Http {
            crate::http::add_to_linker(&mut linker)?;
        }
        Ok(made.get_or_init(|| linker))
    }
}

/// So many policies wait for the network at once: each holds a slot of the pool meanwhile.
const WAITING_WORKERS: usize = 4;

/// Evaluations that wait for one of those threads.
const WAITING_QUEUE: usize = 64;

fn plain_linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    portcullis_bindings::add_to_linker(&mut linker)?;
    Ok(linker)
}

/// What both engines share: a guest means the same everywhere, and what is left out cannot go wrong.
fn base() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // A replayed decision must be the same to the last bit.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        // No policy needs them, and the snapshot does not know them.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .epoch_interruption(true)
        // A fault says what happened; where in the code of the guest is of no use to anybody here, and the tables for it are
        // a seventh of what the cache keeps and verifies at each start.
        .generate_address_map(false)
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false)
        // A worker of the async runtime has 2 MiB of stack.
        .max_wasm_stack(512 * 1024)
        .memory_init_cow(true);
    config
}

/// Makes the engine that judges. Address space decides how: with 4 GiB for each slot, compiled code needs no bounds checks;
/// where a container limits address space, slots as large as their memory do; where even those do not fit, each guest's
/// memory is mapped anew.
fn main_engine(options: &EngineOptions) -> wasmtime::Result<(wasmtime::Engine, bool)> {
    let roomy = pooled(options, None);
    let tight = || pooled(options, Some(options.memory));
    let engine = roomy.or_else(|error| {
        tracing::info!(%error, "no address space for roomy guest memories: code is compiled with bounds checks");
        tight()
    });
    match engine {
        Ok(engine) => Ok((engine, true)),
        Err(error) => {
            tracing::warn!(%error, "no pool of guest memories: each evaluation maps its own");
            let mut config = base();
            reserve(&mut config, options.memory);
            Ok((wasmtime::Engine::new(&config)?, false))
        }
    }
}

/// Core instances of one component. A module and its adapters are 3; what componentize-py 0.25 makes of Python, with its libraries
/// linked as modules of their own, is 14.
const MOST_INSTANCES: u32 = 20;

/// Tables of one component: one for functions, one for imports that are filled in later, and as many for an adapter.
const MOST_TABLES: u32 = 4;

fn pooled(options: &EngineOptions, reservation: Option<u64>) -> wasmtime::Result<wasmtime::Engine> {
    let mut config = base();
    let memory = usize::try_from(options.memory).unwrap_or(usize::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(options.slots)
        .total_core_instances(options.slots.saturating_mul(MOST_INSTANCES))
        .total_memories(options.slots)
        .total_tables(options.slots.saturating_mul(MOST_TABLES))
        .max_memories_per_component(1)
        .max_tables_per_component(MOST_TABLES)
        .max_core_instances_per_component(MOST_INSTANCES)
        .max_memory_size(memory)
        .linear_memory_keep_resident(options.resident)
        .table_keep_resident(64 * 1024)
        .max_unused_warm_slots(options.slots)
        .pagemap_scan(Enabled::Auto);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    if let Some(bytes) = reservation {
        reserve(&mut config, bytes);
    }
    wasmtime::Engine::new(&config)
}

/// Reserves no more address space for a memory than it may have, and a page of guard behind it.
fn reserve(config: &mut Config, bytes: u64) {
    config.memory_reservation(bytes).memory_reservation_for_growth(0).memory_guard_size(64 * 1024);
}

fn drafting_engine() -> wasmtime::Result<wasmtime::Engine> {
    let mut config = base();
    // One guest at a time, whose memory may grow wherever it lies.
    reserve(&mut config, 64 * MIB);
    config.cranelift_opt_level(OptLevel::None).allocation_strategy(InstanceAllocationStrategy::OnDemand);
    wasmtime::Engine::new(&config)
}

/// Feeds what the engine hashes into SHA-256, whose output does not depend on the build of the standard library.
struct Stable(Sha256);

impl Hasher for Stable {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

fn compatibility(engine: &wasmtime::Engine) -> Digest {
    let mut hasher = Stable(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    Digest::from_bytes(hasher.0.finalize().into())
}
