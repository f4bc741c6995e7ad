//! The host's side of the WIT package `portcullis:policy`, line 0.1.
//!
//! The only `bindgen!` of the host. Generated types stay inside: what goes in and comes out is
//! [`portcullis_model`]'s vocabulary. [`Interfaces`] finds out by probing which gates a component exports, so that no
//! manifest can lie. It knows nothing about engines, budgets, files or caches.
//!
//! Another line of the contract is another module of this kind beside it; none of them converts into "the newest".

#![forbid(unsafe_code)]

mod gate;
mod generated;
mod interfaces;
mod lift;
mod log;
mod lower;

pub use gate::Gate;
pub use interfaces::{CallError, ConfigureError, Interfaces, ProbeError};
pub use lift::Malformed;
pub use log::{Level, LogSink, add_to_linker};

/// The name of the WIT package whose interfaces policies export.
pub const PACKAGE: &str = "portcullis:policy";

/// The version of the contract that this crate binds: major, minor, patch. The first two are the line.
pub const VERSION: (u64, u64, u64) = (0, 1, 0);

/// Interfaces of the package that a component may import.
pub const IMPORTS: [&str; 2] = ["types", "log"];

/// Interfaces of the package that a component may export.
pub const EXPORTS: [&str; 7] =
    ["lifecycle", "config-gate", "environment-gate", "listing-gate", "call-gate", "result-gate", "request-gate"];
