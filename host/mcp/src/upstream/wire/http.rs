//! Exchanges over Streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::json::Limits;
use reqwest::header::HeaderMap;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::super::shared::Shared;
use super::super::{CallError, CloseReason};
use crate::jsonrpc::{Incoming, Malformed, MalformedReason, Message, Side, read};
use crate::transport::http::{Events, HttpClient, HttpFailure, Parsed, Reply};
use crate::transport::read_text;

/// A stream that breaks off before its answer is opened again so often.
const MOST_RESUMPTIONS: u32 = 5;
/// The pause before a stream is opened again, where the server names none …
const PAUSE: Duration = Duration::from_secs(1);
/// … and the longest one, whatever it names.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// So long the end of a session may take.
const END_LIMIT: Duration = Duration::from_secs(3);

/// Sends a message and deals with all that comes back for it.
pub(super) async fn exchange(
    client: &HttpClient,
    shared: &Arc<Shared>,
    text: Vec<u8>,
    request: Option<u64>,
    headers: Option<Box<HeaderMap>>,
) -> Result<(), CallError> {
    // A stream of the stateless era that breaks off is lost.
    let resumable = headers.is_none();
    let reply = match client.post(text, headers).await {
        Ok(reply) => reply,
        Err(error) => {
            expire(shared, &error.failure);
            return refused(error.failure, &error.body, shared, request);
        }
    };
    match reply {
        Reply::Accepted => {}
        Reply::Json(text) => receive(shared, read_text(&text), request),
        Reply::Oversize => receive(shared, oversize(), request),
        Reply::Events(events) => follow(client, shared, *events, request, resumable).await?,
    }
    match request {
        Some(id) if shared.pending().waits(id) => Err(CallError::Http(HttpFailure::NoAnswer)),
        _ => Ok(()),
    }
}

pub(super) fn oversize() -> Incoming {
    let reason = MalformedReason::Oversize { limit: Limits::WIRE.bytes };
    Incoming::Malformed(Malformed { id: None, side: Side::Response, reason })
}

/// Deals with the body of a reply: what is malformed there and names nobody concerns the request all the same.
pub(super) fn receive(shared: &Arc<Shared>, mut incoming: Incoming, request: Option<u64>) {
    if let (Incoming::Malformed(malformed), Some(id)) = (&mut incoming, request) {
        malformed.id.get_or_insert_with(|| id.into());
    }
    shared.receive_for(request, incoming);
}

/// A refusal may hold a JSON-RPC error, which says more than the status.
pub(super) fn refused(
    failure: HttpFailure,
    body: &[u8],
    shared: &Arc<Shared>,
    request: Option<u64>,
) -> Result<(), CallError> {
    let error = match read(body) {
        Incoming::Message(Message::Response(response)) => response.outcome.err(),
        Incoming::Unattributed(error) => Some(error),
        Incoming::Message(Message::Request(_) | Message::Notification(_))
        | Incoming::Batch(_)
        | Incoming::Malformed(_)
        | Incoming::Noise => None,
    };
    // These are for the gateway to act on, whatever the server says besides.
    if failure == HttpFailure::SessionExpired || failure.is_of_credentials() {
        return Err(CallError::Http(failure));
    }
    match (error, request) {
        (None, _) | (_, None) => Err(CallError::Http(failure)),
        (Some(error), Some(id)) => {
            shared.pending().settle(id, Ok(Err(error)));
            Ok(())
        }
    }
}

fn expire(shared: &Shared, failure: &HttpFailure) {
    if *failure == HttpFailure::SessionExpired {
        shared.close(CloseReason::SessionExpired);
    }
}

/// Reads the stream of a reply until the answer is there.
async fn follow(
    client: &HttpClient,
    shared: &Arc<Shared>,
    mut events: Events,
    request: Option<u64>,
    resumable: bool,
) -> Result<(), CallError> {
    for _ in 0..=MOST_RESUMPTIONS {
        let end = loop {
            match events.next().await {
                Ok(Some(parsed)) => take(shared, parsed, request),
                Ok(None) => break HttpFailure::NoAnswer,
                Err(failure) => break failure,
            }
            if request.is_some_and(|id| !shared.pending().waits(id)) {
                return Ok(());
            }
        };
        // Without an id the server cannot tell where to go on; and only a request is worth it.
        if events.last_id().is_empty() || request.is_none() || !resumable {
            return if request.is_some() { Err(CallError::Http(end)) } else { Ok(()) };
        }
        sleep(events.retry().unwrap_or(PAUSE).min(LONGEST_PAUSE)).await;
        events = client.listen(events.last_id()).await.map_err(|failure| {
            expire(shared, &failure);
            // The request itself was taken, and may have been acted on: nobody may believe that it was not.
            let is_expired = failure == HttpFailure::SessionExpired;
            CallError::Http(if is_expired { HttpFailure::NoAnswer } else { failure })
        })?;
    }
    Err(CallError::Http(HttpFailure::NoAnswer))
}

/// Deals with an event, of the stream of the answer to a request where one is named.
pub(super) fn take(shared: &Arc<Shared>, parsed: Parsed, request: Option<u64>) {
    match parsed {
        // Other types of event are no messages; an empty one only carries an id.
        Parsed::Event(event) if event.kind == "message" && !event.data.is_empty() => {
            shared.receive_for(request, read_text(&event.data));
        }
        Parsed::Event(_) => {}
        Parsed::Oversize(recovered) => {
            shared
                .receive_for(request, recovered.into_incoming(MalformedReason::Oversize { limit: Limits::WIRE.bytes }));
        }
    }
}

/// Listens to what the server says by itself, for as long as it offers that. `begun` ends once it listens, or knows that
/// it cannot.
pub(in super::super) async fn listen(shared: Arc<Shared>, begun: oneshot::Sender<()>) {
    let super::Wire::Http(client) = shared.wire() else {
        return;
    };
    let mut begun = Some(begun);
    let mut last_id = String::new();
    let mut pause = PAUSE;
    while shared.closed().is_none() {
        match client.listen(&last_id).await {
            Ok(mut events) => {
                drop(begun.take());
                while let Ok(Some(parsed)) = events.next().await {
                    pause = PAUSE;
                    take(&shared, parsed, None);
                }
                events.last_id().clone_into(&mut last_id);
                pause = events.retry().map_or(pause, |wanted| wanted.clamp(PAUSE, LONGEST_PAUSE));
            }
            // It has no such stream (405 by the specification, but any refusal means so), or not for us.
            Err(
                HttpFailure::Status(_)
                | HttpFailure::ContentType
                | HttpFailure::Redirected(_)
                | HttpFailure::Unauthorized { .. }
                | HttpFailure::LoginTooNarrow(_),
            ) => return,
            Err(failure) => expire(&shared, &failure),
        }
        drop(begun.take());
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Ends the session.
pub(super) async fn end(client: &HttpClient) {
    let _ = timeout(END_LIMIT, client.end_session()).await;
}
