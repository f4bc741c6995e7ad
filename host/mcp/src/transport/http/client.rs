//! One MCP endpoint over HTTP.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use portcullis_model::Secret;
use portcullis_model::json::Limits;
use portcullis_oauth::{Challenge, Keeper};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT, WWW_AUTHENTICATE};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};

use super::events::{EventReader, Parsed};
use super::tls::{Trusted, install_provider};
use super::{HttpFailure, HttpSetupError};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The headers in which arguments of calls are repeated begin so.
const PARAMETER: &str = "mcp-param-";
/// What an answer to a message may be.
const BOTH: &str = "application/json, text/event-stream";

/// Reaching the address may take so long; the rest is bounded by whoever waits for the answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Redirects within the origin that are followed: enough for a moved path, too few for a game.
const MOST_REDIRECTS: usize = 5;
/// So much of the body of a refusal is read: it may hold a JSON-RPC error.
const REFUSAL_LIMIT: usize = 64 * 1024;
/// A session id longer than this is not taken; they are UUIDs and tokens.
const LONGEST_SESSION_ID: usize = 4096;

/// One MCP endpoint over HTTP, with its session.
#[derive(Debug)]
pub struct HttpClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
    session: Mutex<Option<HeaderValue>>,
    version: OnceLock<HeaderValue>,
    /// Where messages go, where the server named a place of its own (HTTP+SSE, MCP 2024-11-05).
    endpoint: OnceLock<Url>,
    /// Keeps the login, where the server wants one.
    keeper: Option<Keeper>,
}

/// What came back for a message.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Nothing: it was taken.
    Accepted,
    /// A JSON text.
    Json(Vec<u8>),
    /// A JSON text that is too large.
    Oversize,
    /// A stream of events.
    Events(Box<Events>),
}

/// Why nothing came back.
#[derive(Debug)]
pub(crate) struct PostError {
    /// Why.
    pub(crate) failure: HttpFailure,
    /// The body of a refusal, where there was one: it may be a JSON-RPC error.
    pub(crate) body: Vec<u8>,
}

impl From<HttpFailure> for PostError {
    fn from(failure: HttpFailure) -> Self {
        Self { failure, body: Vec::new() }
    }
}

impl HttpClient {
    /// Prepares an endpoint. Nothing is sent yet.
    pub fn new(url: &str, headers: &[(String, Secret)], trusted: &Trusted) -> Result<Self, HttpSetupError> {
        install_provider();
        let url = Url::parse(url).map_err(|_| HttpSetupError::Url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpSetupError::Scheme(url.scheme().to_owned()));
        }
        let mut builder = Client::builder().redirect(Policy::custom(redirect)).connect_timeout(CONNECT_LIMIT);
        if is_loopback(&url) {
            // A proxy of the environment is meant for the network; asked for this machine it would reach its own.
            builder = builder.no_proxy();
        }
        if url.scheme() == "http" {
            // No other origin is ever followed to, so the system's certificates need not be loaded.
            builder = builder.tls_certs_only([]);
        } else {
            builder = trusted.apply(builder);
        }
        let client = builder.build().map_err(HttpSetupError::Client)?;
        let headers = header_map(headers)?;
        Ok(Self {
            client,
            url,
            headers,
            session: Mutex::default(),
            version: OnceLock::new(),
            endpoint: OnceLock::new(),
            keeper: None,
        })
    }

    /// Sends a login with every request.
    pub(crate) fn with_login(mut self, keeper: Option<Keeper>) -> Self {
        self.keeper = keeper;
        self
    }

    /// Takes the place that the server wants messages to be sent to, relative to its own URL. It must be of the same origin:
    /// the entry's credentials go there.
    pub(crate) fn set_endpoint(&self, reference: &str) -> Result<(), HttpFailure> {
        let endpoint = self.url.join(reference).ok().filter(|endpoint| endpoint.origin() == self.url.origin());
        // The first one counts.
        let _ = self.endpoint.set(endpoint.ok_or(HttpFailure::Endpoint)?);
        Ok(())
    }

    /// Ends the handshake: from now on every request names the version, and the session is settled.
    pub(crate) fn set_version(&self, version: &str) {
        if let Ok(value) = HeaderValue::from_str(version) {
            let _ = self.version.set(value);
        }
    }

    fn session(&self) -> Option<HeaderValue> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn request(&self, method: Method, accept: &'static str) -> (RequestBuilder, bool) {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let session = self.session();
        let in_session = session.is_some();
        if let Some(session) = session {
            headers.insert(SESSION_ID, session);
        }
        if let Some(version) = self.version.get() {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
        let url = self.endpoint.get().filter(|_| method == Method::POST).unwrap_or(&self.url).clone();
        (self.client.request(method, url).headers(headers), in_session)
    }

    /// Returns a request outside of any session, with headers of its own.
    fn single(&self, own: HeaderMap) -> RequestBuilder {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(BOTH));
        headers.remove(SESSION_ID);
        for (name, value) in own {
            // A map that is taken apart names a header once, before its first value; these have one each.
            if let Some(name) = name {
                headers.insert(name, value);
            }
        }
        self.client.request(Method::POST, self.url.clone()).headers(headers)
    }

    /// Sends a message; with headers of its own where it stands for itself, as those of the stateless era do.
    pub(crate) async fn post(&self, text: Vec<u8>, own: Option<Box<HeaderMap>>) -> Result<Reply, PostError> {
        let is_single = own.is_some();
        let (request, in_session) = match own {
            Some(own) => (self.single(*own), false),
            None => self.request(Method::POST, BOTH),
        };
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(text);
        let response = self.send(request).await?;
        let response = accept(response, in_session).await?;
        if self.version.get().is_none() && self.endpoint.get().is_none() && !is_single {
            self.take_session(&response);
        }
        match content(&response) {
            Content::Events => Ok(Reply::Events(Box::new(Events::new(response)))),
            Content::Json => match body(response, Limits::WIRE.bytes).await? {
                Some(body) if body.is_empty() => Ok(Reply::Accepted),
                Some(body) => Ok(Reply::Json(body)),
                None => Ok(Reply::Oversize),
            },
            Content::None => Ok(Reply::Accepted),
            Content::Other => Err(HttpFailure::ContentType.into()),
        }
    }

    /// Opens the stream of what the server says by itself, or opens a broken one again behind an event.
    pub(crate) async fn listen(&self, last_event_id: &str) -> Result<Events, HttpFailure> {
        let (mut request, in_session) = self.request(Method::GET, "text/event-stream");
        if !last_event_id.is_empty()
            && let Ok(value) = HeaderValue::from_str(last_event_id)
        {
            request = request.header(LAST_EVENT_ID, value);
        }
        let response = self.send(request).await?;
        let response = accept(response, in_session).await.map_err(|error| error.failure)?;
        match content(&response) {
            Content::Events => Ok(Events::new(response)),
            Content::Json | Content::None | Content::Other => Err(HttpFailure::ContentType),
        }
    }

    /// Ends the session, where there is one. Servers may refuse that.
    pub(crate) async fn end_session(&self) {
        let (request, in_session) = self.request(Method::DELETE, "application/json");
        if in_session {
            let _ = self.send(request).await;
        }
    }

    /// Sends a request; with the login where there is one, and once more with another token where the server refuses the first.
    async fn send(&self, request: RequestBuilder) -> Result<Response, HttpFailure> {
        let Some(keeper) = &self.keeper else {
            return request.send().await.map_err(|error| HttpFailure::from_reqwest(&error));
        };
        let failed = |error| HttpFailure::from_keeper(keeper, &error);
        let again = request.try_clone();
        let token = keeper.token().await.map_err(failed)?;
        let mut response = authorized(request, token.as_ref()).await?;
        if let Some(again) = again.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
            let other = keeper.another(token.as_ref()).await.map_err(failed)?;
            response = authorized(again, Some(&other)).await?;
        }
        if response.status() == StatusCode::FORBIDDEN {
            let challenge = challenge(&response).map(|text| Challenge::parse(&text)).unwrap_or_default();
            if challenge.wants_more() {
                keeper.note_missing(&challenge.scopes).await.map_err(failed)?;
                return Err(HttpFailure::LoginTooNarrow(keeper.server().to_string()));
            }
        }
        Ok(response)
    }

    fn take_session(&self, response: &Response) {
        let session = response.headers().get(&SESSION_ID);
        if let Some(session) = session.filter(|session| session.len() <= LONGEST_SESSION_ID) {
            let mut session = session.clone();
            session.set_sensitive(true);
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        }
    }
}

/// Sends a request with a token.
async fn authorized(request: RequestBuilder, token: Option<&Secret>) -> Result<Response, HttpFailure> {
    let request = match token {
        Some(token) => request.bearer_auth(token.expose()),
        None => request,
    };
    request.send().await.map_err(|error| HttpFailure::from_reqwest(&error))
}

/// Returns what a refusal wants, where it is text; several headers count as one.
fn challenge(response: &Response) -> Option<String> {
    let values = response.headers().get_all(WWW_AUTHENTICATE);
    let values: Vec<&str> = values.iter().filter_map(|value| value.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

fn header_map(headers: &[(String, Secret)]) -> Result<HeaderMap, HttpSetupError> {
    let agent = HeaderValue::from_static(concat!("portcullis/", env!("CARGO_PKG_VERSION")));
    let mut map = HeaderMap::from_iter([(USER_AGENT, agent)]);
    for (name, value) in headers {
        if name.get(..PARAMETER.len()).is_some_and(|start| start.eq_ignore_ascii_case(PARAMETER)) {
            // It would stand in for an argument that a call does not have.
            return Err(HttpSetupError::Reserved(name.clone()));
        }
        let refused = || HttpSetupError::Header(name.clone());
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| refused())?;
        value.set_sensitive(true);
        map.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?, value);
    }
    Ok(map)
}

/// Follows a redirect only where the request stays what it is and goes where it went.
fn redirect(attempt: Attempt<'_>) -> Action {
    let keeps_method = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let same_origin = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_method && same_origin && attempt.previous().len() <= MOST_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Sorts out what is no success.
async fn accept(response: Response, in_session: bool) -> Result<Response, PostError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let failure = match status {
        StatusCode::NOT_FOUND if in_session => HttpFailure::SessionExpired,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            HttpFailure::Unauthorized { status: status.as_u16(), challenge: challenge(&response) }
        }
        _ if status.is_redirection() => HttpFailure::Redirected(status.as_u16()),
        _ => HttpFailure::Status(status.as_u16()),
    };
    let body = match content(&response) {
        Content::Json => body(response, REFUSAL_LIMIT).await.ok().flatten().unwrap_or_default(),
        Content::Events | Content::None | Content::Other => Vec::new(),
    };
    Err(PostError { failure, body })
}

enum Content {
    Json,
    Events,
    None,
    Other,
}

fn content(response: &Response) -> Content {
    if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
        || response.content_length() == Some(0)
    {
        return Content::None;
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Content::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        Content::Events
    } else {
        Content::Other
    }
}

/// Reads a body; nothing where it is longer than the limit.
async fn body(mut response: Response, limit: usize) -> Result<Option<Vec<u8>>, HttpFailure> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limit) {
        return Ok(None);
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(piece) = response.chunk().await.map_err(|error| HttpFailure::from_reqwest(&error))? {
        if body.len() + piece.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    response: Response,
    reader: EventReader,
    piece: Vec<u8>,
    read: usize,
}

impl Events {
    fn new(response: Response) -> Self {
        Self { response, reader: EventReader::new(Limits::WIRE.bytes), piece: Vec::new(), read: 0 }
    }

    /// Returns the next event, or nothing at the end of the stream. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Parsed>, HttpFailure> {
        loop {
            let mut rest = self.piece.get(self.read..).unwrap_or_default();
            let parsed = self.reader.next(&mut rest);
            self.read = self.piece.len() - rest.len();
            if parsed.is_some() {
                return Ok(parsed);
            }
            match self.response.chunk().await.map_err(|error| HttpFailure::from_reqwest(&error))? {
                Some(piece) => (self.piece, self.read) = (piece.into(), 0),
                None => return Ok(None),
            }
        }
    }

    /// Returns the id of the last event; empty for none.
    pub(crate) fn last_id(&self) -> &str {
        self.reader.last_id()
    }

    /// Returns the pause that the server wants before a new attempt.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.reader.retry().map(Duration::from_millis)
    }
}
