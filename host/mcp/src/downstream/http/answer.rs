//! HTTP responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use portcullis_door::{Refusal, Reply};

use super::events::Events;
use super::headers::{EVENTS, JSON};
use crate::jsonrpc::{ErrorObject, Id, code, write_error};

/// Has proxies pass events on at once.
static BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A response.
pub(super) type Answer = Response<AnswerBody>;

/// The body of a response.
#[derive(Debug)]
pub(super) enum AnswerBody {
    /// All of it at once.
    Whole(Full<Bytes>),
    /// Events as they come.
    Events(Events),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Events(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Events(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Events(body) => body.size_hint(),
        }
    }
}

fn with(status: StatusCode, body: AnswerBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// Answers with nothing but a status.
pub(super) fn empty(status: StatusCode) -> Answer {
    with(status, AnswerBody::Whole(Full::default()))
}

/// Answers with JSON.
pub(super) fn json(status: StatusCode, body: Full<Bytes>) -> Answer {
    let mut answer = with(status, AnswerBody::Whole(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    answer
}

/// Answers with events.
pub(super) fn events(body: Events) -> Answer {
    let mut answer = with(StatusCode::OK, AnswerBody::Events(body));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(BUFFERING.clone(), HeaderValue::from_static("no"));
    answer
}

/// Answers with an error that says why. Where it is about no request that could be read, there is no id.
pub(super) fn error(status: StatusCode, id: Option<&Id>, error: &ErrorObject) -> Answer {
    let mut body = Vec::new();
    write_error(&mut body, id, error);
    json(status, Full::new(body.into()))
}

/// Refuses a request before its body counts.
pub(super) fn refusal(status: StatusCode, text: &str) -> Answer {
    error(status, None, &ErrorObject::new(code::INVALID_REQUEST, text))
}

/// Refuses a request that the front door does not let in.
pub(super) fn turned_away(refused: &Refusal) -> Answer {
    let mut answer = refusal(refused.status(), refused.describe());
    let headers = answer.headers_mut();
    if let Some(challenge) = refused.challenge() {
        headers.insert(WWW_AUTHENTICATE, challenge.clone());
    }
    if let Some(seconds) = refused.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    answer
}

/// Passes an answer of the front door on.
pub(super) fn of_front_door(reply: Reply) -> Answer {
    reply.map(|body| AnswerBody::Whole(Full::new(body.into())))
}

/// Refuses a method that a route does not have.
pub(super) fn wrong_method() -> Answer {
    let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, "this method is not offered here");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    answer
}

/// Refuses what there is no room for now.
pub(super) fn busy() -> Answer {
    let mut answer = refusal(StatusCode::SERVICE_UNAVAILABLE, "too many requests are running");
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}
