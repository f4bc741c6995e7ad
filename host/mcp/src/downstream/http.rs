//! Clients that come over Streamable HTTP (MCP 2025-03-26 to 2025-11-25): an endpoint for all servers and one for each. Requests
//! of the stateless era (2026-07-28) go the same way as far as their body, and then their own ([`stateless`]).
//!
//! A request passes, in this order: [`guard`] (who may talk to this address at all), its route, the front door (who it acts
//! for), its method and headers, its body, its session. What the front door answers itself goes through the [`lobby`]. A call is answered with plain JSON unless something has to precede the answer
//! ([`stream`]); a session owns the streams that can be resumed ([`streams`]).

mod answer;
mod body;
mod connections;
mod endpoint;
mod events;
mod figures;
mod guard;
mod headers;
mod lobby;
mod options;
mod pace;
mod post;
mod session;
mod sessions;
mod shares;
mod stall;
mod stateless;
mod stream;
mod streams;

pub use connections::{ServeHttpError, serve_http};
pub use figures::serve_figures;
pub use options::HttpOptions;

pub(crate) use stream::Stream;
pub(crate) use streams::Streams;
