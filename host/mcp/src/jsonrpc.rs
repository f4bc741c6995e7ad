//! JSON-RPC 2.0 messages, read liberally and written once.
//!
//! Messages hold the lossless value of `portcullis_model`. What cannot be read but names a request still yields that
//! request's [`Id`], so that whoever waits for it is told at once instead of waiting for a timeout. It knows nothing
//! about transports or MCP methods.

mod error;
mod id;
mod message;
mod read;
mod recover;
mod write;

pub use error::{ErrorObject, code};
pub use id::Id;
pub use message::{Incoming, Malformed, MalformedReason, Message, Notification, Request, Response, Side};
pub use read::{classify, read};
pub use recover::{Recovered, Recovery};
pub use write::{Rewrite, write_error, write_notification, write_request, write_result, write_result_with};

#[cfg(test)]
mod tests;
