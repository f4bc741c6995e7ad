//! Lines for the operator. The host bounds their number and size; they are no part of a verdict, so a decision stays replayable.
//!
//! A policy that logs imports `log`. On other targets than `wasm32` nothing is written.

use crate::bindings::base::portcullis::policy::log as host;

/// How much a line matters.
pub use host::Level;

/// Writes a line.
pub fn write(level: Level, message: &str) {
    if cfg!(target_arch = "wasm32") {
        host::write(level, message);
    }
}

/// Writes the message of every panic from now on, for an author who looks for one: without it the host sees a trap and no more.
/// Call it in [`Policy::new`](crate::Policy::new).
pub fn panics() {
    if cfg!(target_arch = "wasm32") {
        std::panic::set_hook(Box::new(|panic| write(Level::Error, &panic.to_string())));
    }
}
