//! A WASI with nothing in it, for policies of tool chains that import one.
//!
//! No environment, arguments, files or sockets; streams that are closed or swallow; clocks that stand still; random
//! bytes that are always the same. So such a policy stays a pure function. It cannot wait either: everything that can
//! be waited for is ready at once, and a loop that waits for the clock ends at its deadline.

use wasmtime::component::{Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView};

use crate::state::State;

/// Handles of one guest; more serve nobody who has nothing to open.
const MOST_HANDLES: usize = 1024;

/// Bytes of one request for random bytes.
const MOST_RANDOM: u64 = 64 * 1024;

/// 2020-01-01T00:00:00Z: a time at which nothing is expired that a policy may have built in.
const NOW: std::time::Duration = std::time::Duration::from_hours(438_288);

/// The state of the inert WASI for one guest.
pub(crate) struct Inert {
    context: WasiCtx,
    table: ResourceTable,
}

struct Still;

impl HostWallClock for Still {
    fn resolution(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(1)
    }

    fn now(&self) -> std::time::Duration {
        NOW
    }
}

impl HostMonotonicClock for Still {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

impl Inert {
    pub(crate) fn new() -> Self {
        let seed = portcullis_model::Digest::of(b"portcullis inert wasi").as_bytes().to_vec();
        let context = WasiCtx::builder()
            .wall_clock(Still)
            .monotonic_clock(Still)
            .secure_random(Deterministic::new(seed.clone()))
            .insecure_random(Deterministic::new(seed))
            .insecure_random_seed(0)
            .max_random_size(MOST_RANDOM)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .socket_addr_check(|_, _| Box::pin(std::future::ready(false)))
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(MOST_HANDLES);
        Self { context, table }
    }

    pub(crate) fn view(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.context, table: &mut self.table }
    }

    /// Returns true where the guest holds handles, which a snapshot could not keep.
    pub(crate) fn has_handles(&self) -> bool {
        !self.table.is_empty()
    }
}

impl Default for Inert {
    fn default() -> Self {
        Self::new()
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.inert.get_or_insert_with(Box::default).view()
    }
}

/// Links the inert WASI.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    let mut poll = linker.instance(POLL)?;
    poll.func_wrap("[method]pollable.block", |_, (_pollable,): (Resource<DynPollable>,)| Ok(()))?;
    poll.func_wrap("[method]pollable.ready", |_, (_pollable,): (Resource<DynPollable>,)| Ok((true,)))?;
    poll.func_wrap("poll", |_, (pollables,): (Vec<Resource<DynPollable>>,)| {
        let ready: Vec<u32> = (0..).take(pollables.len()).collect();
        Ok((ready,))
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The version that the linked WASI has; its imports are looked up within 0.2, so that any 0.2 finds it.
const POLL: &str = "wasi:io/poll@0.2.12";
