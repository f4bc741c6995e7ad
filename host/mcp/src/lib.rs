//! portcullis-mcp

pub mod jsonrpc;
pub mod transport;
pub mod upstream;

mod approver;
mod downstream;
mod gateway;
pub mod method;
pub mod status;

#[cfg(unix)]
pub use downstream::{Input, Output, standard_streams};
pub use downstream::{ServeError, own_code, serve_stdio};
pub use gateway::{Gateway, GatewayOptions, StderrLog, safe_mode};
