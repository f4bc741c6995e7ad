//! Exchanges over HTTP+SSE (MCP 2024-11-05): one stream on which everything of the server comes, and a place to send to.

use std::sync::Arc;

use tokio::sync::Notify;

use super::super::shared::Shared;
use super::super::{CallError, CloseReason};
use super::http::{oversize, receive, refused, take};
use crate::transport::http::{Events, HttpClient, HttpFailure, Parsed, Reply};
use crate::transport::read_text;

/// Where a server wants messages may be named by so many bytes: URLs that are longer are refused by most servers.
const LONGEST_ENDPOINT: usize = 8 * 1024;

/// A connection over HTTP+SSE.
#[derive(Debug)]
pub(in super::super) struct Sse {
    client: HttpClient,
    closed: Notify,
}

impl Sse {
    pub(in super::super) fn new(client: HttpClient) -> Self {
        Self { client, closed: Notify::new() }
    }

    /// Opens the stream and waits until the server has said where messages go.
    pub(in super::super) async fn open(&self) -> Result<Events, HttpFailure> {
        let mut events = self.client.listen("").await?;
        loop {
            match events.next().await?.ok_or(HttpFailure::NoAnswer)? {
                Parsed::Event(event) if event.kind == "endpoint" => {
                    let text = Some(event.data).filter(|data| data.len() <= LONGEST_ENDPOINT);
                    let text = text.and_then(|data| String::from_utf8(data).ok()).ok_or(HttpFailure::Endpoint)?;
                    self.client.set_endpoint(text.trim())?;
                    return Ok(events);
                }
                // Nobody has asked for anything yet.
                Parsed::Event(_) | Parsed::Oversize(_) => {}
            }
        }
    }

    /// Reads the stream until it ends; with it ends the connection, since a new stream is another session.
    pub(in super::super) async fn read(shared: Arc<Shared>, mut events: Events) {
        let super::Wire::Sse(sse) = shared.wire() else {
            return;
        };
        let reason = loop {
            tokio::select! {
                next = events.next() => match next {
                    Ok(Some(parsed)) => take(&shared, parsed, None),
                    Ok(None) => break CloseReason::OutputClosed,
                    Err(failure) => break CloseReason::Unreadable(failure.to_string()),
                },
                () = sse.closed.notified() => return,
            }
        };
        shared.close(reason);
    }

    /// Sends a message. Its answer comes on the stream; what a server says here already is taken as well.
    pub(super) async fn send(
        &self,
        shared: &Arc<Shared>,
        text: Vec<u8>,
        request: Option<u64>,
    ) -> Result<(), CallError> {
        match self.client.post(text, None).await {
            Ok(Reply::Accepted | Reply::Events(_)) => {}
            Ok(Reply::Json(text)) => receive(shared, read_text(&text), request),
            Ok(Reply::Oversize) => receive(shared, oversize(), request),
            // Many say so in words.
            Err(error) if error.failure == HttpFailure::ContentType => {}
            Err(error) => return refused(error.failure, &error.body, shared, request),
        }
        Ok(())
    }

    /// Ends the stream.
    pub(super) fn close(&self) {
        self.closed.notify_one();
    }
}
