//! The side of the client: sessions, their messages, and how they travel.

mod client;
mod connection;
mod entrance;
mod http;
mod in_flight;
mod initialize;
mod lines;
mod outbox;
mod outlet;
mod reply;
mod session;
#[cfg(unix)]
mod standard;
mod stateless;
mod stdio;

pub use entrance::Schemas;
pub use http::{HttpOptions, ServeHttpError, serve_figures, serve_http};
pub use reply::own_code;
#[cfg(unix)]
pub use standard::{Input, Output, standard_streams};
pub use stdio::{ServeError, serve_stdio, serve_stdio_with};

pub(crate) use client::{AskError, ClientLink, Question, Way};
pub(crate) use connection::{COALESCE, Connection, changed_method};
pub(crate) use entrance::{Entrance, local};
pub(crate) use in_flight::{InFlight, StartError};
pub(crate) use initialize::{Introduction, capabilities, server_info};
pub(crate) use lines::Lines;
pub(crate) use outbox::Outbox;
pub(crate) use outlet::Outlet;
pub(crate) use reply::{Reply, tool_error};
pub(crate) use session::{ClientSession, ListGroup, LogLevel};
pub(crate) use stateless::{Dress, RequestMeta, check_answer};
