//! The host's side of the WIT package `portcullis:policy`, one module for each compatibility line.
//!
//! The only `bindgen!` of the host. Generated types stay inside: what goes in and comes out is
//! [`portcullis_model`]'s vocabulary. [`Interfaces`] finds out by probing which line a component is of and which gates it
//! exports, so that no manifest can lie. It knows nothing about engines, budgets, files or caches.
//!
//! Another line of the contract is another module of this kind, and one more case in `line`; none of them converts into
//! "the newest". The feature `draft-0-2` has one for the draft of the next line, so that this stays true.

#![forbid(unsafe_code)]

mod error;
mod line;
mod v0_1;
#[cfg(feature = "draft-0-2")]
mod v0_2;

pub use error::{CallError, ConfigureError, Malformed, ProbeError};
pub use line::{Gate, Interfaces, LINES, Line, add_to_linker};
pub use v0_1::{Level, LogSink};

/// The name of the WIT package whose interfaces policies export.
pub const PACKAGE: &str = "portcullis:policy";
