//! The way of one HTTP request: who it is from, where it goes, and what answers it.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use portcullis_model::ServerName;
use tokio::sync::Semaphore;

use super::answer::{self, Answer};
use super::events::Events;
use super::headers::{EVENTS, LAST_EVENT, REVISION, SESSION, accepts, single};
use super::session::Session;
use super::sessions::Sessions;
use super::stateless::MOST_LISTENING;
use super::stream::{Kept, Reader};
use super::{HttpOptions, body, guard, post};
use crate::downstream::stateless::{Listens, Parked, mirror};
use crate::downstream::{Entrance, Schemas, local};
use crate::gateway::Gateway;

/// Where all servers are.
const ROUTE: &str = "/mcp";

/// One HTTP door of a gateway.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) gateway: Arc<Gateway>,
    pub(super) options: HttpOptions,
    bound: SocketAddr,
    pub(super) sessions: Sessions,
    /// Places for requests that run at once.
    pub(super) places: Arc<Semaphore>,
    /// Memory that bodies may take together.
    pub(super) memory: Arc<Semaphore>,
    /// What streams keep together.
    pub(super) kept: Arc<Kept>,
    /// Calls of the stateless era that wait for answers of their clients.
    pub(super) parked: Arc<Parked>,
    /// Requests of the stateless era that listen.
    pub(super) listens: Arc<Listens>,
}

impl Door {
    pub(super) fn new(gateway: Arc<Gateway>, options: HttpOptions, bound: SocketAddr) -> Self {
        Self {
            gateway,
            bound,
            sessions: Sessions::new(options.sessions),
            places: Arc::new(Semaphore::new(options.requests)),
            memory: body::memory(options.body_memory),
            kept: Arc::default(),
            parked: Arc::default(),
            listens: Arc::new(Listens::new(MOST_LISTENING)),
            options,
        }
    }

    /// Answers a request.
    pub(super) async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let entrance = match self.admit(&head) {
            Ok(entrance) => entrance,
            Err(refusal) => return *refusal,
        };
        match head.method {
            Method::POST => post::answer(self, entrance, &head, body).await,
            // The stateless era has neither.
            Method::GET | Method::DELETE if mirror::is_named(&head.headers) => answer::wrong_method(),
            Method::GET => self.listen(&entrance, &head),
            Method::DELETE => self.end(&entrance, &head),
            _ => answer::wrong_method(),
        }
    }

    /// Checks who a request is from, and where it goes.
    fn admit(&self, head: &Parts) -> Result<Entrance, Box<Answer>> {
        if let Err(foreign) = guard::check(self.bound, head.version, &head.uri, &head.headers) {
            tracing::warn!(reason = foreign.describe(), "a request was turned away");
            return Err(Box::new(answer::refusal(StatusCode::FORBIDDEN, foreign.describe())));
        }
        if let Some(token) = &self.options.token {
            let shown = single(&head.headers, &AUTHORIZATION);
            let shown = shown.map_err(|_| answer::refusal(StatusCode::BAD_REQUEST, "a header is repeated"))?;
            if !shown.is_some_and(|value| token.is_in(value)) {
                tracing::warn!("a request without the right token was turned away");
                return Err(Box::new(answer::unauthorized(shown.is_some())));
            }
        }
        let not_found = || Box::new(answer::refusal(StatusCode::NOT_FOUND, "there is nothing here"));
        let scope = match View::of(head.uri.path()).ok_or_else(not_found)? {
            View::All => None,
            View::One(server) if self.gateway.has_server(&server) => Some(server),
            View::One(_) => return Err(not_found()),
        };
        let schemas = Schemas::of_query(head.uri.query());
        Ok(Entrance { transport: "http", principal: local(), scope, schemas })
    }

    /// Finds the session that a request names; nothing where it names none.
    pub(super) fn session(&self, entrance: &Entrance, head: &Parts) -> Result<Option<Arc<Session>>, Box<Answer>> {
        let repeated = |_| answer::refusal(StatusCode::BAD_REQUEST, "a header is repeated");
        let Some(id) = single(&head.headers, &SESSION).map_err(repeated)? else {
            return Ok(None);
        };
        let found = id.to_str().ok().and_then(|id| self.sessions.find(id, entrance));
        let session = found.ok_or_else(|| answer::refusal(StatusCode::NOT_FOUND, "there is no such session"))?;
        let revision = single(&head.headers, &REVISION).map_err(repeated)?;
        // Older clients do not send it.
        if revision.is_some_and(|revision| revision.as_bytes() != session.revision().as_bytes()) {
            let text = format!("this session speaks MCP {}", session.revision());
            return Err(Box::new(answer::refusal(StatusCode::BAD_REQUEST, &text)));
        }
        Ok(Some(session))
    }

    /// As [`Door::session`], where there must be one.
    fn required_session(&self, entrance: &Entrance, head: &Parts) -> Result<Arc<Session>, Box<Answer>> {
        let missing = || answer::refusal(StatusCode::BAD_REQUEST, "the Mcp-Session-Id header is missing");
        Ok(self.session(entrance, head)?.ok_or_else(missing)?)
    }

    /// Answers a client that wants to listen, or to come back to a stream.
    fn listen(&self, entrance: &Entrance, head: &Parts) -> Answer {
        if !accepts(&head.headers, EVENTS) {
            return answer::refusal(StatusCode::NOT_ACCEPTABLE, "what is sent here is text/event-stream");
        }
        let session = match self.required_session(entrance, head) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        let reader = match single(&head.headers, &LAST_EVENT) {
            Ok(None) => session.streams.listen(session.is_primed()),
            Ok(Some(id)) => match id.to_str().ok().map(|id| session.streams.resume(id)) {
                Some(Ok(reader)) => reader,
                Some(Err(_)) | None => {
                    return answer::refusal(StatusCode::BAD_REQUEST, "the stream of this event is not kept any more");
                }
            },
            Err(_) => return answer::refusal(StatusCode::BAD_REQUEST, "a header is repeated"),
        };
        self.stream(&session, reader)
    }

    /// Answers with a stream.
    pub(super) fn stream(&self, session: &Session, reader: Reader) -> Answer {
        let retry = session.is_primed().then_some(self.options.retry);
        answer::events(Events::new(reader, retry, self.options.keep_alive))
    }

    /// Ends a session.
    fn end(&self, entrance: &Entrance, head: &Parts) -> Answer {
        match self.required_session(entrance, head) {
            Ok(session) => {
                self.sessions.remove(session.id(), entrance);
                answer::empty(StatusCode::NO_CONTENT)
            }
            Err(refusal) => *refusal,
        }
    }
}

/// What a path shows.
#[derive(Debug, PartialEq, Eq)]
enum View {
    All,
    One(ServerName),
}

impl View {
    /// Returns what a path shows; nothing where there is nothing.
    fn of(path: &str) -> Option<Self> {
        let rest = path.strip_prefix(ROUTE)?;
        if rest.is_empty() {
            return Some(Self::All);
        }
        let name = decoded(rest.strip_prefix('/')?)?;
        ServerName::parse(&name).ok().map(Self::One)
    }
}

/// Undoes percent-encoding (RFC 3986 §2.1): a name of the config may be any text.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'/' => return None,
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shows_all_servers_or_one() {
        let one = |name: &str| Some(View::One(ServerName::parse(name).unwrap()));
        assert_eq!(View::of("/mcp"), Some(View::All));
        assert_eq!(View::of("/mcp/files"), one("files"));
        assert_eq!(View::of("/mcp/my%20files"), one("my files"));
        assert_eq!(View::of("/mcp/a%2fb"), one("a/b"));
        for path in ["/", "", "/mcp/", "/mcpx", "/mcp/a/b", "/mcp//a", "/MCP", "/mcp/%2", "/mcp/%zz", "/mcp/%ff"] {
            assert_eq!(View::of(path), None, "{path}");
        }
    }
}
