//! Clients that come over Streamable HTTP (MCP 2025-03-26 to 2025-11-25): an endpoint for all servers and one for each. Requests
//! of the stateless era (2026-07-28) go the same way as far as their body, and then their own ([`stateless`]).
//!
//! A request passes, in this order: [`guard`] (who may talk to this address at all), [`token`], its route, its method and
//! headers, its body, its session. A call is answered with plain JSON unless something has to precede the answer
//! ([`stream`]); a session owns the streams that can be resumed ([`streams`]).

mod answer;
mod body;
mod connections;
mod endpoint;
mod events;
mod guard;
mod headers;
mod options;
mod pace;
mod post;
mod session;
mod sessions;
mod stall;
mod stateless;
mod stream;
mod streams;
mod token;

pub use connections::{ServeHttpError, serve_http};
pub use options::HttpOptions;
pub use token::BearerToken;

pub(crate) use stream::Stream;
pub(crate) use streams::Streams;
