//! Freezing the memory of a configured policy into a new component, so that every evaluation starts configured.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use wasmtime::component::{Component, Lift, WasmList};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

use crate::budget::{Budget, MIB};
use crate::engine::Engine;
use crate::inspect::Inspection;
use crate::state::Purpose;
use crate::step::Timings;
use crate::template::{Configuration, LinkError, Live, StartError, Template};

/// Why a policy is not snapshotted. It runs all the same, from freshly configured instances.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The module does something whose effect cannot be frozen.
    #[error("the module cannot be snapshotted")]
    Refused(#[source] wasmtime::Error),
    /// The instrumented module did not compile.
    #[error("the instrumented module could not be compiled")]
    Compile(#[source] wasmtime::Error),
    /// The instrumented module could not be linked.
    #[error("the instrumented module could not be linked")]
    Link(#[source] LinkError),
    /// The instrumented module could not be started or configured.
    #[error("the instrumented module could not be started")]
    Start(#[source] StartError),
    /// It holds handles of the WASI, which would point at nothing later.
    #[error("the policy holds handles that a snapshot cannot keep")]
    OpenHandles,
    /// Its memory could not be read.
    #[error("the state of the policy could not be read")]
    Read(#[source] wasmtime::Error),
    /// The tool that snapshots panicked.
    #[error("snapshotting failed unexpectedly")]
    Panicked,
}

/// Runs `configure` on a draft of the component and returns a component that starts with the memory it left behind.
/// `compile` makes the draft of the instrumented module, for the drafting engine.
pub(crate) fn snapshot(
    engine: &Engine,
    module: &[u8],
    inspection: &Inspection,
    budget: &Budget,
    configuration: &Configuration,
    timings: &mut Timings,
    compile: impl FnOnce(&[u8]) -> wasmtime::Result<Component>,
) -> Result<Vec<u8>, SnapshotError> {
    let started = Instant::now();
    // The tool was not written for hostile input: what it trips over must not take more with it.
    let frozen =
        catch_unwind(AssertUnwindSafe(|| frozen(engine, module, inspection, budget, configuration, timings, compile)))
            .unwrap_or(Err(SnapshotError::Panicked));
    timings.snapshot = started.elapsed().saturating_sub(timings.compile + timings.configure);
    frozen
}

fn frozen(
    engine: &Engine,
    module: &[u8],
    inspection: &Inspection,
    budget: &Budget,
    configuration: &Configuration,
    timings: &mut Timings,
    compile: impl FnOnce(&[u8]) -> wasmtime::Result<Component>,
) -> Result<Vec<u8>, SnapshotError> {
    let wizer = Wizer::new();
    let (context, instrumented) = wizer.instrument_component(module).map_err(SnapshotError::Refused)?;
    let compiling = Instant::now();
    let component = compile(&instrumented).map_err(SnapshotError::Compile)?;
    timings.compile = compiling.elapsed();
    drop(instrumented);
    let template = Arc::new(Template::link(engine, &component, inspection, true).map_err(SnapshotError::Link)?);
    // Reading a memory grows it by a page, and what is linked into it grows with it.
    let budget = Budget { memory: budget.memory.saturating_add(MIB), output: usize::MAX, ..*budget };
    let configuring = Instant::now();
    let live = template.configured(None, &budget, configuration);
    timings.configure = configuring.elapsed();
    let mut live = live.map_err(SnapshotError::Start)?;
    if live.store.data().inert.as_ref().is_some_and(|inert| inert.has_handles()) {
        return Err(SnapshotError::OpenHandles);
    }
    live.store.data_mut().begin(Purpose::configure(None, budget));
    let mut reader = Reader { live: &mut live, failure: None };
    let frozen = at_once(wizer.snapshot_component(&context, &mut reader));
    if let Some(error) = reader.failure {
        return Err(SnapshotError::Read(error));
    }
    frozen.ok_or(SnapshotError::Panicked)?.map_err(SnapshotError::Refused)
}

/// Runs a future that never waits: all it awaits are calls of a synchronous guest.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Reads globals and memories through the functions that the instrumentation added. The trait has no way to fail, so
/// the first failure is kept here and what follows is thrown away.
struct Reader<'a> {
    live: &'a mut Live,
    failure: Option<wasmtime::Error>,
}

impl Reader<'_> {
    fn read<R: Lift + 'static>(&mut self, instance: &str, function: &str) -> Option<R> {
        if self.failure.is_some() {
            return None;
        }
        match self.try_read(instance, function) {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    fn try_read<R: Lift + 'static>(&mut self, instance: &str, function: &str) -> wasmtime::Result<R> {
        let missing = || wasmtime::Error::msg("the instrumentation lacks a function");
        let Live { store, instance: guest, .. } = &mut *self.live;
        let (_, holder) = guest.get_export(&mut *store, None, instance).ok_or_else(missing)?;
        let (_, index) = guest.get_export(&mut *store, Some(&holder), function).ok_or_else(missing)?;
        let function = guest.get_typed_func::<(), (R,)>(&mut *store, index)?;
        Ok(function.call(&mut *store, ())?.0)
    }
}

impl ComponentInstanceState for Reader<'_> {
    async fn call_func_ret_list_u8(&mut self, instance: &str, func: &str, contents: impl FnOnce(&[u8]) + Send) {
        match self.read::<WasmList<u8>>(instance, func) {
            Some(list) => contents(list.as_le_slice(&self.live.store)),
            None => contents(&[]),
        }
    }

    async fn call_func_ret_s32(&mut self, instance: &str, func: &str) -> i32 {
        self.read(instance, func).unwrap_or_default()
    }

    async fn call_func_ret_s64(&mut self, instance: &str, func: &str) -> i64 {
        self.read(instance, func).unwrap_or_default()
    }

    async fn call_func_ret_f32(&mut self, instance: &str, func: &str) -> u32 {
        self.read::<f32>(instance, func).unwrap_or_default().to_bits()
    }

    async fn call_func_ret_f64(&mut self, instance: &str, func: &str) -> u64 {
        self.read::<f64>(instance, func).unwrap_or_default().to_bits()
    }
}
