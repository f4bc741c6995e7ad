//! Messages as lines over standard streams (MCP transport `stdio`).

mod lines;
mod process;
mod stderr;
mod writer;

pub use lines::{LINE_LIMIT, Line, LineReader};
pub(crate) use process::Streams;
pub use process::{Ending, Process, ProcessState, SpawnError};
pub use stderr::{Stderr, StderrSink, Tail};
pub use writer::LineWriter;

#[cfg(test)]
mod tests;
