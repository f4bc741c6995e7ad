//! Requests to authorization servers and for metadata: nothing is followed, nothing is long, nothing goes where the server
//! must not lead.

use std::sync::{Arc, Once};
use std::time::Duration;

use portcullis_model::json::{Limits, Value, parse_with};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use reqwest::{Client, ClientBuilder, RequestBuilder};
use url::{Host, Url};

use crate::reach::{Reach, ReachError};

/// A request takes this long at most.
const LIMIT: Duration = Duration::from_secs(30);
/// Longest document: those of large providers have some ten kilobytes.
const LONGEST: usize = 256 * 1024;
/// Redirects of a document within its origin that are followed.
const MOST_REDIRECTS: usize = 3;

/// An authorization server, or a place with metadata, could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// It is not reached.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// It could not be reached, or not in time; the innermost cause.
    #[error("`{host}` cannot be reached: {cause}")]
    Unreachable {
        /// The host.
        host: String,
        /// What the system said.
        cause: String,
    },
    /// What came is too long.
    #[error("what `{0}` answered is too long")]
    TooLong(String),
}

/// Adds what an entry says of certificates. True where the place is the server's own: only there a certificate of ours is
/// offered.
pub type Certificates = Arc<dyn Fn(ClientBuilder, bool) -> ClientBuilder + Send + Sync>;

/// Asks authorization servers on behalf of one server.
#[derive(Clone)]
pub struct Web {
    reach: Reach,
    certificates: Certificates,
    agent: String,
}

/// Says nothing of certificates.
impl std::fmt::Debug for Web {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Web").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) challenge: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Reads the body; nothing where it is no JSON object.
    pub(crate) fn document(&self) -> Option<Value> {
        let limits = Limits { bytes: LONGEST, depth: 32 };
        parse_with(&self.body, limits).ok().filter(|value| value.as_object().is_some())
    }
}

impl Web {
    /// Prepares requests on behalf of the server at that URL.
    pub async fn of(server: &Url, user_agent: Option<&str>, certificates: Certificates) -> Self {
        let own = concat!("portcullis/", env!("CARGO_PKG_VERSION"));
        Self { reach: Reach::of(server).await, certificates, agent: user_agent.unwrap_or(own).to_owned() }
    }

    /// Says whether a place may be reached, by a browser of the operator for one.
    pub(crate) async fn check(&self, url: &Url) -> Result<(), ReachError> {
        self.reach.vet(url).await.map(|_| ())
    }

    /// Asks for a document. Redirects within its origin are followed.
    pub(crate) async fn get(&self, url: &Url) -> Result<Answer, WebError> {
        let mut url = url.clone();
        for _ in 0..MOST_REDIRECTS {
            let (answer, location) = self.send(&url, |client| client.get(url.clone())).await?;
            let next = location.and_then(|location| url.join(&location).ok());
            match next.filter(|next| next.origin() == url.origin()) {
                Some(next) if (300..400).contains(&answer.status) => url = next,
                _ => return Ok(answer),
            }
        }
        self.send(&url, |client| client.get(url.clone())).await.map(|(answer, _)| answer)
    }

    /// Sends a message to a server as a client would that knows nothing, to be told what it wants.
    pub(crate) async fn knock(&self, url: &Url, text: &Value) -> Result<Answer, WebError> {
        let sent = self.send(url, |client| {
            let request = client.post(url.clone()).header(CONTENT_TYPE, "application/json");
            request.header(ACCEPT, "application/json, text/event-stream").body(text.to_json())
        });
        sent.await.map(|(answer, _)| answer)
    }

    /// Sends a form.
    pub(crate) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        basic: Option<&str>,
    ) -> Result<Answer, WebError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let sent = self.send(url, |client| {
            let request = client.post(url.clone()).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
            match basic {
                Some(basic) => request.header(reqwest::header::AUTHORIZATION, format!("Basic {basic}")),
                None => request,
            }
        });
        sent.await.map(|(answer, _)| answer)
    }

    /// Sends a document.
    pub(crate) async fn post_json(&self, url: &Url, document: &Value) -> Result<Answer, WebError> {
        let sent = self.send(url, |client| {
            client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(document.to_json())
        });
        sent.await.map(|(answer, _)| answer)
    }

    async fn send(
        &self,
        url: &Url,
        request: impl FnOnce(&Client) -> RequestBuilder,
    ) -> Result<(Answer, Option<String>), WebError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let found = self.reach.vet(url).await?;
        let unreachable =
            |error: &reqwest::Error| WebError::Unreachable { host: host.clone(), cause: innermost(error) };
        install_provider();
        // Made for this one host: it goes to the vetted addresses and asks no resolver again.
        let mut builder = Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(LIMIT);
        if let Some(Host::Domain(name)) = url.host() {
            builder = builder.resolve_to_addrs(name, &found);
        }
        if found.iter().any(|address| address.ip().to_canonical().is_loopback()) {
            // A proxy of the environment is meant for the network.
            builder = builder.no_proxy();
        }
        builder = if url.scheme() == "http" {
            builder.tls_certs_only([])
        } else {
            (self.certificates)(builder, self.reach.is_own(url))
        };
        let client = builder.build().map_err(|error| unreachable(&error))?;
        let request = request(&client).header(USER_AGENT, &self.agent);
        let request = request.build().map_err(|error| unreachable(&error))?;
        let mut request = request;
        request.headers_mut().entry(ACCEPT).or_insert(reqwest::header::HeaderValue::from_static("application/json"));
        let mut response = client.execute(request).await.map_err(|error| unreachable(&error))?;
        let text = |value: &reqwest::header::HeaderValue| value.to_str().ok().map(str::to_owned);
        let location = response.headers().get(LOCATION).and_then(text);
        let challenge: Vec<String> =
            response.headers().get_all(reqwest::header::WWW_AUTHENTICATE).iter().filter_map(text).collect();
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // A stream of events has no end; nothing of a success is needed where one comes.
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(text)
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        while !is_stream && let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
            if body.len() + piece.len() > LONGEST {
                return Err(WebError::TooLong(host));
            }
            body.extend_from_slice(&piece);
        }
        let challenge = (!challenge.is_empty()).then(|| challenge.join(", "));
        Ok((Answer { status, challenge, body }, location))
    }
}

/// Returns the text of the innermost cause: those above repeat the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    while let Some(inner) = cause.and_then(std::error::Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "no further cause is known".to_owned(), ToString::to_string)
}

/// Makes *ring* the provider of rustls, as everywhere in this program.
fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Where an embedding program has chosen already, its choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
