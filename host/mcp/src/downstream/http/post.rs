//! A message that is posted, and what answers it.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use hyper::body::Incoming as Body;
use portcullis_model::json::parse;

use super::answer::{self, Answer};
use super::body::{self, NoBody};
use super::endpoint::Door;
use super::headers::{EVENTS, JSON, SESSION, accepts, is_json};
use super::session::Session;
use super::stateless;
use super::stream::{First, Hold, Reader, join};
use super::streams::Streams;
use crate::downstream::{Connection, Entrance, Outlet};
use crate::jsonrpc::{ErrorObject, Incoming, MalformedReason, Message, Side, code, read};
use crate::method::ClientMethod;

/// Answers a message that is posted.
pub(super) async fn answer(door: &Arc<Door>, entrance: Entrance, head: &Parts, body: Body) -> Answer {
    // Both, as it is up to us which one answers.
    if !accepts(&head.headers, JSON) || !accepts(&head.headers, EVENTS) {
        let text = "the client must accept application/json and text/event-stream";
        return answer::refusal(StatusCode::NOT_ACCEPTABLE, text);
    }
    if !is_json(&head.headers) {
        return answer::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json");
    }
    let Ok(place) = Arc::clone(&door.places).try_acquire_owned() else {
        return answer::busy();
    };
    // Without a front door there is one principal, for whom all of it is.
    let share = match &door.options.front_door {
        Some(_) => match door.shares.take(&entrance.principal) {
            Some(share) => Some(share),
            None => return answer::busy(),
        },
        None => None,
    };
    let (text, memory) = match body::read(body, door.options.body_limit, &door.memory).await {
        Ok(read) => read,
        Err(NoBody::TooLong) => {
            return answer::refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than a message may be");
        }
        Err(NoBody::TooSlow) => return answer::refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
        Err(NoBody::NoRoom) => return answer::busy(),
        Err(NoBody::Broken) => return answer::refusal(StatusCode::BAD_REQUEST, "the body broke off"),
    };
    let incoming = read(&text);
    if incoming == Incoming::Noise
        && let Err(error) = parse(&text)
    {
        let error = ErrorObject::new(code::PARSE_ERROR, error.to_string());
        return answer::error(StatusCode::BAD_REQUEST, None, &error);
    }
    drop(text);
    let hold = Hold { _place: place, _share: share, _memory: memory };
    if stateless::is_stateless(&head.headers, &incoming) {
        return stateless::answer(door, entrance, &head.headers, incoming, hold).await;
    }
    match door.session(&entrance, head) {
        Err(refusal) => *refusal,
        Ok(Some(session)) => within(door, &session, incoming, hold).await,
        Ok(None) => without(door, entrance, incoming, hold).await,
    }
}

/// Answers a message outside of any session: only one that opens a session can be.
async fn without(door: &Arc<Door>, entrance: Entrance, incoming: Incoming, hold: Hold) -> Answer {
    if let Some(refusal) = malformed(&incoming) {
        return refusal;
    }
    let request = if let Incoming::Message(Message::Request(request)) = &incoming { Some(request) } else { None };
    if request.is_some_and(|request| ClientMethod::parse(&request.method) == ClientMethod::Initialize) {
        return open(door, entrance, incoming, hold).await;
    }
    let id = request.map(|request| &request.id);
    let text = "the Mcp-Session-Id header is missing: initialize must come first";
    answer::error(StatusCode::BAD_REQUEST, id, &ErrorObject::new(code::INVALID_REQUEST, text))
}

/// Opens a session.
async fn open(door: &Arc<Door>, entrance: Entrance, incoming: Incoming, hold: Hold) -> Answer {
    let streams = Arc::new(Streams::new(door.options.listeners, Arc::clone(&door.kept)));
    let outlet = Outlet::Session(Arc::clone(&streams));
    let connection = Arc::new(Connection::new(Arc::clone(&door.gateway), entrance, outlet));
    let reader = streams.post(1, hold);
    connection.take(incoming, &Outlet::Stream(Arc::clone(reader.stream()))).await;
    let First::Answers(answers) = reader.first().await else {
        connection.close();
        return answer::busy();
    };
    let mut answer = answer::json(StatusCode::OK, join(answers, false));
    if connection.revision().is_none() {
        // Refused; the answer says why.
        return answer;
    }
    let session = Session::open(Arc::clone(&connection), streams).map(Arc::new);
    let added = session.as_ref().map(|session| door.sessions.add(Arc::clone(session)));
    let (Some(session), Some(Ok(()))) = (session, added) else {
        connection.close();
        tracing::warn!("a client was turned away: there are too many sessions");
        return answer::busy();
    };
    if let Ok(id) = HeaderValue::from_str(session.id()) {
        answer.headers_mut().insert(SESSION.clone(), id);
    }
    answer
}

/// Answers a message of a session.
async fn within(door: &Door, session: &Session, incoming: Incoming, hold: Hold) -> Answer {
    if let Some(refusal) = malformed(&incoming) {
        return refusal;
    }
    let is_batch = matches!(incoming, Incoming::Batch(_));
    if is_batch && !session.has_batches() {
        let text = "this revision of MCP has no batches";
        return answer::refusal(StatusCode::BAD_REQUEST, text);
    }
    let awaited = answers_to(&incoming);
    if awaited == 0 {
        session.connection.take(incoming, &Outlet::Session(Arc::clone(&session.streams))).await;
        return answer::empty(StatusCode::ACCEPTED);
    }
    let reader = session.streams.post(awaited, hold);
    session.connection.take(incoming, &Outlet::Stream(Arc::clone(reader.stream()))).await;
    let first = tokio::time::timeout(door.options.patience, reader.first()).await;
    match first {
        // Cancelled by the client: it waits for nothing.
        Ok(First::Answers(answers)) if answers.is_empty() => answer::empty(StatusCode::ACCEPTED),
        Ok(First::Answers(answers)) => answer::json(StatusCode::OK, join(answers, is_batch)),
        Ok(First::Events) | Err(_) => begin(door, session, reader),
    }
}

fn begin(door: &Door, session: &Session, reader: Reader) -> Answer {
    reader.begin(session.is_primed());
    session.streams.keep(&reader);
    door.stream(session, reader)
}

/// Refuses what is no message, under its id where it has one.
pub(super) fn malformed(incoming: &Incoming) -> Option<Answer> {
    match incoming {
        Incoming::Malformed(malformed) => {
            let number = match (&malformed.reason, malformed.side) {
                (MalformedReason::Text(_), _) => code::PARSE_ERROR,
                _ => code::INVALID_REQUEST,
            };
            let error = ErrorObject::new(number, malformed.reason.describe());
            Some(answer::error(StatusCode::BAD_REQUEST, malformed.id.as_ref(), &error))
        }
        Incoming::Noise => Some(answer::refusal(StatusCode::BAD_REQUEST, "the body is no message")),
        Incoming::Message(_) | Incoming::Batch(_) | Incoming::Unattributed(_) => None,
    }
}

/// Returns how many responses a message is answered with.
fn answers_to(incoming: &Incoming) -> usize {
    match incoming {
        Incoming::Message(Message::Request(_)) => 1,
        Incoming::Batch(elements) => elements.iter().map(answers_to).sum(),
        Incoming::Malformed(malformed) => usize::from(malformed.side != Side::Response),
        Incoming::Message(Message::Notification(_) | Message::Response(_))
        | Incoming::Unattributed(_)
        | Incoming::Noise => 0,
    }
}
