//! How bytes travel: over the standard streams of a process, or over HTTP.
//!
//! Transports know lines, bodies and headers, and what a JSON-RPC text is; they know nothing about MCP methods.

pub mod http;
pub mod stdio;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::jsonrpc::{Incoming, read};

/// A text longer than this takes a millisecond or more to read.
const LARGE: usize = 256 * 1024;

/// Reads a text. For a large one the other tasks of this thread are let go elsewhere first: they must not wait for it.
pub(crate) fn read_text(text: &[u8]) -> Incoming {
    let can_move = || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if text.len() > LARGE && can_move() { tokio::task::block_in_place(|| read(text)) } else { read(text) }
}
