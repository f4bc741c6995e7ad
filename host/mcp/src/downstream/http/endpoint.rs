//! The way of one HTTP request: who it is from, where it goes, and what answers it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::request::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use super::answer::{self, Answer};
use super::events::Events;
use super::headers::{EVENTS, LAST_EVENT, REVISION, SESSION, accepts, single};
use super::session::Session;
use super::sessions::Sessions;
use super::shares::Shares;
use super::stateless::MOST_LISTENING;
use super::stream::{Kept, Reader};
use super::{HttpOptions, body, guard, lobby, post};
use crate::downstream::stateless::{Listens, Parked, mirror};
use crate::downstream::{Entrance, Schemas, local};
use crate::gateway::Gateway;

/// One HTTP door of a gateway.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) gateway: Arc<Gateway>,
    pub(super) options: HttpOptions,
    names: guard::Names,
    pub(super) sessions: Sessions,
    /// Places for requests that run at once.
    pub(super) places: Arc<Semaphore>,
    /// What of them each principal may take.
    pub(super) shares: Shares,
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
            names: guard::Names::new(bound, &options),
            sessions: Sessions::new(options.sessions),
            places: Arc::new(Semaphore::new(options.requests)),
            shares: Shares::new(options.requests_each),
            memory: body::memory(options.body_memory),
            kept: Arc::default(),
            parked: Arc::default(),
            listens: Arc::new(Listens::new(MOST_LISTENING)),
            options,
        }
    }

    /// Ends what is over: sessions that were idle for too long, and those whose tokens are gone.
    pub(super) fn sweep(&self) {
        self.sessions.sweep(self.options.session_idle, self.options.replay);
        if let Some(front_door) = &self.options.front_door {
            let principals = front_door.principals();
            self.sessions.retain(|session| principals.contains(&session.connection.entrance().principal));
            self.listens.keep(&principals);
            self.shares.sweep();
        }
    }

    /// Answers a request that comes from an address.
    pub(super) async fn answer(self: &Arc<Self>, request: Request<Incoming>, peer: IpAddr) -> Answer {
        let (head, body) = request.into_parts();
        if let Err(foreign) = self.names.check(head.version, &head.uri, &head.headers) {
            tracing::warn!(reason = foreign.describe(), "a request was turned away");
            return answer::refusal(StatusCode::FORBIDDEN, foreign.describe());
        }
        if let Some(front_door) = &self.options.front_door
            && front_door.serves(head.uri.path())
        {
            return lobby::answer(front_door, &head, body, peer, self.options.body_limit).await;
        }
        let entrance = match self.admit(&head, peer) {
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

    /// Checks where a request goes, and who it is from.
    fn admit(&self, head: &Parts, peer: IpAddr) -> Result<Entrance, Box<Answer>> {
        let not_found = || Box::new(answer::refusal(StatusCode::NOT_FOUND, "there is nothing here"));
        let scope = portcullis_door::route_of_path(head.uri.path()).ok_or_else(not_found)?;
        let principal = match &self.options.front_door {
            Some(front_door) => front_door
                .admit(scope.as_ref(), head, peer)
                .map_err(|refusal| Box::new(answer::turned_away(&refusal)))?,
            None => local(),
        };
        // After the token: strangers do not learn which servers there are.
        if scope.as_ref().is_some_and(|server| !self.gateway.has_server(server)) {
            return Err(not_found());
        }
        let schemas = Schemas::of_query(head.uri.query());
        Ok(Entrance { transport: "http", principal, scope, schemas })
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
