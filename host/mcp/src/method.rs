//! Which methods exist, and what becomes of each.
//!
//! Every request and notification of either side is one variant; what is not named here is refused (requests) or
//! dropped (notifications). A new revision is a new variant, and the compiler then asks for its gate.

mod client;
mod server;

pub use client::{ClientMethod, ClientNotification, Listable, TaskMethod, Treatment, Verb};
pub(crate) use server::TASK_TOLD;
pub use server::{ServerMethod, ServerNotification};

#[cfg(test)]
mod tests;
