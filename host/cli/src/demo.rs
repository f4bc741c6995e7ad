//! The demo: a server that misbehaves in every way the bundle knows, and what is left of it behind the gates.
//!
//! Nothing of its output is fixed: a real client talks to a real `portcullis run` in a home folder of its own, and what
//! each gate did is read from the journal there.

pub(crate) mod client;
pub(crate) mod scenario;
pub(crate) mod server;
