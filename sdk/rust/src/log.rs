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
