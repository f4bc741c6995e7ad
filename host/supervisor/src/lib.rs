//! The small process that stands between the gateway and a stdio server, so that nothing of the server outlives it.
//!
//! The gateway starts itself as `supervise -- COMMAND ARGUMENTS…` ([`Command`] builds that start, [`run()`] is what the
//! hidden subcommand calls). The supervisor starts the server with the three standard streams that it was given, closes
//! its own copies and is never in the byte path. It holds a [`control`] socket to the gateway: end of file there means
//! that the gateway is gone, however it died. Then, or when told so, or when the server ends by itself, every
//! descendant is ended (TERM, 3 s, KILL) and reaped.
//!
//! What it can do differs by system. On Linux the supervisor is a child subreaper: descendants that left the server's
//! process group or lost their parent still come to it, and the server is killed by the kernel where the supervisor
//! itself is. Elsewhere only the process group of the server is ended. It knows nothing about MCP or policies.
//!
//! Between fork and exec it confines the server, where the operator wants that and the kernel can: see [`sandbox`].

#![cfg(unix)]

pub mod control;
pub mod sandbox;

mod command;
mod lookup;
mod memory;
mod run;

pub use command::{Command, Launcher, PrepareError, Prepared};
pub use lookup::{LookupError, find};
pub use memory::return_large_blocks;
pub use run::run;
