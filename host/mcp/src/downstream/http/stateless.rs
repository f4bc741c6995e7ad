//! A request of the stateless era over HTTP (MCP 2026-07-28): it belongs to no session, and closing its stream cancels it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use portcullis_gates::{Cleared, ServerMessage};
use portcullis_model::ResultKind;
use portcullis_model::json::{Object, Value};

use super::answer::{self, Answer};
use super::endpoint::Door;
use super::events::Events;
use super::post::malformed;
use super::stream::{First, Hold, Stream, StreamName, join};
use crate::downstream::stateless::{self, Ask, Begun, Caller, mirror};
use crate::downstream::{Entrance, Reply};
use crate::gateway::Boxed;
use crate::jsonrpc::{ErrorObject, Id, Incoming, Message, Request, code, write_notification};

/// So many requests listen at once at one door: each holds a connection for as long.
pub(super) const MOST_LISTENING: usize = 256;

/// Returns true where a message is of the stateless era: by its headers, or by what only such a request says.
pub(super) fn is_stateless(headers: &HeaderMap, incoming: &Incoming) -> bool {
    let says_so = |request: &Request| stateless::is_stateless(&request.method, request.params.as_ref());
    mirror::is_named(headers) || matches!(incoming, Incoming::Message(Message::Request(request)) if says_so(request))
}

/// Answers a message.
pub(super) async fn answer(
    door: &Arc<Door>,
    entrance: Entrance,
    headers: &HeaderMap,
    incoming: Incoming,
    hold: Hold,
) -> Answer {
    if let Some(refusal) = malformed(&incoming) {
        return refusal;
    }
    let request = match incoming {
        Incoming::Message(Message::Request(request)) => request,
        // The era has none over HTTP; whoever sends one waits for nothing.
        Incoming::Message(Message::Notification(_)) => return answer::empty(StatusCode::ACCEPTED),
        Incoming::Message(Message::Response(_))
        | Incoming::Batch(_)
        | Incoming::Unattributed(_)
        | Incoming::Malformed(_)
        | Incoming::Noise => {
            return answer::refusal(StatusCode::BAD_REQUEST, "this revision of MCP has requests only");
        }
    };
    let Request { id, method, params } = request;
    if let Err(error) = check(door, &entrance, headers, &method, params.as_ref()) {
        return answer::error(StatusCode::BAD_REQUEST, Some(&id), &error);
    }
    let params = if let Some(Value::Object(params)) = params { params } else { Object::new() };
    let stream = Arc::new(Stream::new(StreamName::Posted(0), 1, false, Some(hold), Arc::clone(&door.kept)));
    let caller = Caller::over_http(entrance, &door.parked, &door.listens);
    let tell: stateless::Tell = Arc::new({
        let stream = Arc::clone(&stream);
        move |method, params| {
            let mut bytes = Vec::new();
            write_notification(&mut bytes, method, params);
            stream.offer(bytes);
        }
    });
    match stateless::begin(&door.gateway, Ask { caller, id: id.clone(), method, params, tell }) {
        Begun::Now(reply) => whole(&id, &reply),
        Begun::Unfit(error) => answer::error(StatusCode::BAD_REQUEST, Some(&id), &error),
        Begun::Later(work) => wait(&stream, id, work, door.options.patience, door.options.keep_alive).await,
    }
}

/// Checks the headers of a request against its body.
fn check(
    door: &Door,
    entrance: &Entrance,
    headers: &HeaderMap,
    method: &str,
    params: Option<&Value>,
) -> Result<(), ErrorObject> {
    mirror::check(headers, method, params)?;
    match stateless::repeated_arguments(&door.gateway, entrance, method, params) {
        Some(bindings) => mirror::check_arguments(headers, params, &bindings),
        None => Ok(()),
    }
}

fn whole(id: &Id, reply: &Reply) -> Answer {
    let mut bytes = Vec::new();
    reply.write(id, &mut bytes);
    answer::json(status_of(reply), join(vec![bytes.into()], false))
}

/// Waits for the reply. Where anything comes before it, or it takes long, the answer becomes a stream.
async fn wait(
    stream: &Arc<Stream>,
    id: Id,
    work: Boxed<'static, Reply>,
    patience: Duration,
    keep_alive: Duration,
) -> Answer {
    let reader = stream.attach();
    let status = Arc::new(OnceLock::new());
    let running = Running { stream: Arc::clone(stream) };
    tokio::spawn({
        let status = Arc::clone(&status);
        async move {
            let stream = &running.stream;
            tokio::select! {
                reply = work => {
                    let _ = status.set(status_of(&reply));
                    let mut bytes = Vec::new();
                    reply.write(&id, &mut bytes);
                    stream.answer(bytes);
                }
                // The client closed it, which is how it cancels a request.
                () = stream.abandoned() => {}
            }
        }
    });
    match tokio::time::timeout(patience, reader.first()).await {
        Ok(First::Answers(answers)) if answers.is_empty() => {
            let error = ErrorObject::new(code::INTERNAL_ERROR, "the gateway failed on this request");
            answer::error(StatusCode::INTERNAL_SERVER_ERROR, None, &error)
        }
        Ok(First::Answers(answers)) => {
            answer::json(status.get().copied().unwrap_or(StatusCode::OK), join(answers, false))
        }
        Ok(First::Events) | Err(_) => {
            reader.begin(false);
            answer::events(Events::new(reader, None, keep_alive))
        }
    }
}

/// Ends the stream of a request with its work, however that ends.
struct Running {
    stream: Arc<Stream>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stream.end();
    }
}

/// Returns the status that goes with a reply (MCP 2026-07-28, Streamable HTTP).
fn status_of(reply: &Reply) -> StatusCode {
    let of_server = |message: &Cleared<ServerMessage>| {
        let message = message.get();
        message.document.get("code").and_then(Value::as_i64).filter(|_| message.kind == ResultKind::Error)
    };
    let number = match reply {
        Reply::Dressed(reply, _) => return status_of(reply),
        Reply::Error(error) => Some(error.code()),
        Reply::Cleared(message) => of_server(message),
        Reply::Shared(_) | Reply::Own(_) => None,
    };
    match number {
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_PROTOCOL_VERSION
            // Written as a missing capability.
            | code::URL_ELICITATION_REQUIRED,
        ) => StatusCode::BAD_REQUEST,
        Some(_) | None => StatusCode::OK,
    }
}
