//! Sends the requests of one policy, as far as its grant goes.

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Once, OnceLock};

use http::{Method, Request, Response};
use portcullis_model::{HttpGrant, HttpOrigin};
use url::{Host, Url};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_io::bytes::{Bytes, BytesMut};

use super::answers::{Answers, key};
use super::resolve::{Checked, Prohibited};

/// What requests of a policy are sent with. Connections are kept while the policy is loaded.
#[derive(Debug)]
pub(crate) struct Client {
    grant: Arc<HttpGrant>,
    /// Made for the first request: it reads the certificates that the system believes.
    connections: OnceLock<Option<reqwest::Client>>,
    answers: Answers,
}

impl Client {
    pub(crate) fn new(grant: HttpGrant) -> Self {
        Self { grant: Arc::new(grant), connections: OnceLock::new(), answers: Answers::default() }
    }

    pub(crate) fn grant(&self) -> &HttpGrant {
        &self.grant
    }

    /// Sends a request and reads its answer whole, within the time that the grant gives.
    pub(super) async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Error> {
        let url = self.vetted(&request)?;
        let key = key(&request, url.as_str());
        if let Some(answer) = self.answers.recall(key, self.grant.cache) {
            return Ok(answer);
        }
        let method = request.method().clone();
        let answer = self.exchange(request, url).await?;
        if !self.grant.cache.is_zero() {
            self.answers.keep(key, &method, &answer);
        }
        Ok(answer)
    }

    /// Returns where a request goes, if it may. What is looked at is the URL that is connected to, not the one that the policy
    /// wrote.
    fn vetted(&self, request: &Request<Bytes>) -> Result<Url, Error> {
        let url = Url::parse(&request.uri().to_string()).map_err(|_no_url| Error::HttpRequestUriInvalid)?;
        if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(Error::HttpRequestUriInvalid),
        };
        let host = match url.host() {
            Some(Host::Domain(name)) => name.strip_suffix('.').unwrap_or(name).to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(Error::HttpRequestUriInvalid),
        };
        let port = url.port().unwrap_or(HttpOrigin::usual_port(secure));
        let origin = HttpOrigin { secure, host, port };
        if !url.username().is_empty() || url.password().is_some() || !self.grant.names(&origin) {
            return Err(Error::HttpRequestDenied);
        }
        // Names are checked where they are resolved; an address is connected to without that.
        if origin.address().is_some_and(|address: IpAddr| !self.grant.admits(address)) {
            return Err(Error::DestinationIpProhibited);
        }
        Ok(url)
    }

    async fn exchange(&self, request: Request<Bytes>, url: Url) -> Result<Response<Bytes>, Error> {
        let connections = self.connections.get_or_init(|| self.connect());
        let connections = connections.as_ref().ok_or(Error::ConfigurationError)?;
        let (parts, body) = request.into_parts();
        let mut sent = reqwest::Request::new(parts.method, url);
        *sent.headers_mut() = parts.headers;
        *sent.body_mut() = Some(body.into());
        let mut answer = connections.execute(sent).await.map_err(|error| reason(&error))?;
        let most = self.grant.response_bytes;
        let too_large = || Error::HttpResponseBodySize(u64::try_from(most).ok());
        if answer.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_large());
        }
        let mut response = Response::new(());
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        let mut bytes = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| reason(&error))? {
            if bytes.len().saturating_add(chunk.len()) > most {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(response.map(|()| bytes.freeze()))
    }

    fn connect(&self) -> Option<reqwest::Client> {
        install_provider();
        let built = reqwest::Client::builder()
            .dns_resolver(Arc::new(Checked(Arc::clone(&self.grant))))
            // A proxy would resolve the name anew; a redirect would leave what was checked.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(self.grant.timeout)
            .timeout(self.grant.timeout)
            .pool_max_idle_per_host(2)
            .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
            .build();
        built.inspect_err(|error| tracing::warn!(%error, "no client for requests of policies could be made")).ok()
    }
}

/// Says what went wrong in the words that the interface has for it.
fn reason(error: &reqwest::Error) -> Error {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<Prohibited>() {
            return Error::DestinationIpProhibited;
        }
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            return Error::ConnectionRefused;
        }
        cause = error.source();
    }
    if error.is_timeout() {
        Error::ConnectionTimeout
    } else if error.is_connect() {
        Error::DestinationUnavailable
    } else {
        Error::HttpProtocolError
    }
}

/// Makes *ring* the provider of rustls. Several may be compiled in by way of dependencies, and rustls refuses to choose.
fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Where an embedding program has chosen already, its choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests;
