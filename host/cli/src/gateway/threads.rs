//! The threads that carry messages.

use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Threads of a runtime at most, where the machine has so many cores to spare: more would wait for each other at the locks of
/// sessions and the journal.
const MOST_WORKERS: usize = 8;

/// Blocking work is opening files and compiling; more at once would only compete with the messages.
const BLOCKING: usize = 8;

/// Whom a runtime serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clients {
    /// Nobody: the work of one command, which may take the whole machine.
    Nobody,
    /// One agent.
    One,
    /// As many as come.
    Many,
}

/// Builds the runtime of a command that serves nobody.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    runtime_for(Clients::Nobody)
}

/// Builds the runtime that carries messages.
///
/// A message is tens of microseconds of work between waits. Handing it from thread to thread costs a wake-up each time: an
/// echo of 100 bytes takes a third less CPU time on one thread than on two, alone and 16 at once. So one client is served
/// by one thread, and many by half of the cores, as their servers want the others. Policies that are slow have threads of
/// their own, and compiling, files and the journal's database too.
pub(crate) fn runtime_for(clients: Clients) -> Result<tokio::runtime::Runtime, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = match clients {
        Clients::One => 1,
        Clients::Many => cores / 2,
        Clients::Nobody => cores,
    };
    let mut builder = if workers > 1 {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(workers.min(MOST_WORKERS));
        builder
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder
        .max_blocking_threads(BLOCKING)
        .thread_name("portcullis")
        .enable_all()
        .build()
        .or_exit(Exit::Gateway, "starting the threads of the gateway")
}
