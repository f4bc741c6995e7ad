//! The transport of a connection.

mod http;
mod sse;

use std::sync::Arc;

use reqwest::header::HeaderMap;
use tokio::process::ChildStdin;

use super::shared::Shared;
use super::{CallError, CloseReason};
use crate::transport::http::HttpClient;
use crate::transport::stdio::LineWriter;

pub(super) use http::listen;
pub(super) use sse::Sse;

/// The transport of a connection.
#[derive(Debug)]
pub(super) enum Wire {
    /// Standard streams.
    Stdio(LineWriter<ChildStdin>),
    /// Streamable HTTP.
    Http(HttpClient),
    /// HTTP+SSE of 2024-11-05.
    Sse(Sse),
}

impl Wire {
    /// Sends a text. Over HTTP what comes back for it is dealt with here as well, so that no task stands between the
    /// caller and its answer; `request` is the id of the request that the text is, if it is one. `headers` are those that the
    /// stateless era wants; nothing in the other one.
    pub(super) async fn send(
        &self,
        shared: &Arc<Shared>,
        text: Vec<u8>,
        request: Option<u64>,
        headers: Option<Box<HeaderMap>>,
    ) -> Result<(), CallError> {
        match self {
            Self::Stdio(writer) => writer
                .send(text)
                .await
                .map_err(|error| CallError::Closed(CloseReason::Unwritable(error.kind().to_string()))),
            // In a box, or else every request over stdio would carry the room for it.
            Self::Http(client) => Box::pin(http::exchange(client, shared, text, request, headers)).await,
            Self::Sse(sse) => Box::pin(sse.send(shared, text, request)).await,
        }
    }

    /// Returns true where a request is withdrawn by `notifications/cancelled`. Over HTTP the stateless era does that by the
    /// end of the request's own stream.
    pub(super) fn takes_cancellations(&self, stateless: bool) -> bool {
        match self {
            Self::Stdio(_) | Self::Sse(_) => true,
            Self::Http(_) => !stateless,
        }
    }

    /// Returns true where requests of the stateless era have headers.
    pub(super) fn has_headers(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Ends the handshake.
    pub(super) fn set_version(&self, version: &str) {
        match self {
            // The header came with Streamable HTTP.
            Self::Stdio(_) | Self::Sse(_) => {}
            Self::Http(client) => client.set_version(version),
        }
    }

    /// Closes the gateway's side.
    pub(super) async fn close(&self) {
        match self {
            Self::Stdio(writer) => writer.close().await,
            Self::Http(client) => http::end(client).await,
            Self::Sse(sse) => sse.close(),
        }
    }
}
