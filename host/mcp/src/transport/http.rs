//! Messages as requests and streams (MCP transport Streamable HTTP).

mod client;
mod deliver;
mod error;
mod events;
mod tls;

pub use client::HttpClient;
pub use deliver::deliver;
pub use error::{DeliverError, HttpFailure, HttpSetupError};
pub use events::{Event, EventReader, Parsed};
pub use tls::{Trusted, certificates};

pub(crate) use client::{Events, PostError, Reply};
