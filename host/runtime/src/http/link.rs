//! Links `wasi:http` and the streams it needs, so that no wait of a guest outlasts its evaluation.
//!
//! A guest that waits in the host is not interrupted by epochs. So every function that may wait does so for as long as the
//! evaluation may still take, and ends it then.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::bindings::sync::io::streams::StreamError as Failed;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, StreamError};
use wasmtime_wasi::runtime::in_tokio;
use wasmtime_wasi_io::bindings::wasi::io::poll::{Host as _, HostPollable as _};
use wasmtime_wasi_io::bindings::wasi::io::streams::{Host as _, HostInputStream as _, HostOutputStream as _};

use crate::state::{DeadlineExceeded, State};

/// The versions that the linked WASI has; imports are looked up within 0.2, so that any 0.2 finds them.
const POLL: &str = "wasi:io/poll@0.2.12";
const STREAMS: &str = "wasi:io/streams@0.2.12";

type Table = wasmtime::component::ResourceTable;

/// Waits for a future over the table of resources, for as long as the evaluation may take.
fn wait<T>(
    mut store: StoreContextMut<'_, State>,
    work: impl AsyncFnOnce(&mut Table) -> T,
) -> Result<T, wasmtime::Error> {
    let state = store.data_mut();
    let (left, limit) = (state.deadline.left(), state.deadline.limit());
    let table = state.ctx().table;
    let done = in_tokio(async { tokio::time::timeout(left, work(table)).await });
    // No epoch may have passed meanwhile; the guest goes on now.
    if let Some(engine) = &state.engine {
        engine.awake();
    }
    done.map_err(|_elapsed| wasmtime::Error::new(DeadlineExceeded { limit }))
}

/// The same for what a stream does, whose failures the guest is told.
fn wait_for_stream<T>(
    mut store: StoreContextMut<'_, State>,
    work: impl AsyncFnOnce(&mut Table) -> Result<T, StreamError>,
) -> Result<(Result<T, Failed>,), wasmtime::Error> {
    let done = wait(wasmtime::AsContextMut::as_context_mut(&mut store), work)?;
    let table = store.data_mut().ctx().table;
    Ok((match done {
        Ok(value) => Ok(value),
        Err(error) => Err(table.convert_stream_error(error)?.into()),
    },))
}

/// Links requests over HTTP, on top of the inert WASI.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    let mut poll = linker.instance(POLL)?;
    poll.func_wrap("[method]pollable.block", |store, (pollable,): (Resource<DynPollable>,)| {
        wait(store, async |table| table.block(pollable).await)?
    })?;
    poll.func_wrap("[method]pollable.ready", |store, (pollable,): (Resource<DynPollable>,)| {
        Ok((wait(store, async |table| table.ready(pollable).await)??,))
    })?;
    poll.func_wrap("poll", |store, (pollables,): (Vec<Resource<DynPollable>>,)| {
        Ok((wait(store, async |table| table.poll(pollables).await)??,))
    })?;
    let mut streams = linker.instance(STREAMS)?;
    streams.func_wrap(
        "[method]input-stream.blocking-read",
        |store, (stream, length): (Resource<DynInputStream>, u64)| {
            wait_for_stream(store, async |table| table.blocking_read(stream, length).await)
        },
    )?;
    streams.func_wrap(
        "[method]input-stream.blocking-skip",
        |store, (stream, length): (Resource<DynInputStream>, u64)| {
            wait_for_stream(store, async |table| table.blocking_skip(stream, length).await)
        },
    )?;
    streams.func_wrap(
        "[method]output-stream.blocking-write-and-flush",
        |store, (stream, bytes): (Resource<DynOutputStream>, Vec<u8>)| {
            wait_for_stream(store, async |table| table.blocking_write_and_flush(stream, bytes).await)
        },
    )?;
    streams.func_wrap("[method]output-stream.blocking-flush", |store, (stream,): (Resource<DynOutputStream>,)| {
        wait_for_stream(store, async |table| table.blocking_flush(stream).await)
    })?;
    streams.func_wrap(
        "[method]output-stream.blocking-write-zeroes-and-flush",
        |store, (stream, length): (Resource<DynOutputStream>, u64)| {
            wait_for_stream(store, async |table| table.blocking_write_zeroes_and_flush(stream, length).await)
        },
    )?;
    streams.func_wrap(
        "[method]output-stream.blocking-splice",
        |store, (to, from, length): (Resource<DynOutputStream>, Resource<DynInputStream>, u64)| {
            wait_for_stream(store, async |table| table.blocking_splice(to, from, length).await)
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
