//! Line 0.1.

mod gate;
mod generated;
mod interfaces;
mod lift;
mod log;
mod lower;

pub(crate) use gate::Gate;
pub(crate) use interfaces::Interfaces;
pub(crate) use log::add_to_linker;
pub use log::{Level, LogSink};

use crate::line::Line;

/// What this line has.
pub(crate) const LINE: Line = Line {
    version: (0, 1, 0),
    imports: &["types", "log"],
    exports: &[
        "lifecycle",
        "config-gate",
        "environment-gate",
        "listing-gate",
        "call-gate",
        "result-gate",
        "request-gate",
    ],
};
