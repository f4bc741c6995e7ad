//! Fetching a document from the internet on behalf of a stranger: nothing of this machine or its networks is reached.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::time::Duration;

use portcullis_model::is_special_address;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, StatusCode};
use url::{Host, Url};

/// All of a fetch takes this long at most.
const LIMIT: Duration = Duration::from_secs(5);

/// Longest document (client ID metadata documents §6.6 advises 5 KB).
pub(crate) const LONGEST: usize = 5 * 1024;

/// The document was not fetched. Strangers are not told which it was: it would show them what is inside of a network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Its host is or names an address that nothing of the internet is at.
    #[error("the host is not one of the internet")]
    Special,
    /// Its host has no address.
    #[error("the host has no address")]
    NoAddress,
    /// It could not be reached, or not in time.
    #[error("the host cannot be reached")]
    Unreachable,
    /// What came is no document: another status, another type, or too long.
    #[error("what is there is no JSON document of a few kilobytes")]
    NoDocument,
}

/// What comes of a fetch.
type Fetching = Pin<Box<dyn Future<Output = Result<Vec<u8>, FetchError>> + Send>>;

/// How documents are fetched.
#[derive(Clone)]
pub struct Fetcher(Arc<dyn Fn(Url) -> Fetching + Send + Sync>);

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Fetcher(…)")
    }
}

impl Default for Fetcher {
    fn default() -> Self {
        Self(Arc::new(|url| Box::pin(fetch(url))))
    }
}

impl Fetcher {
    /// Fetches in another way: that of a test.
    #[cfg(any(test, feature = "test-util"))]
    pub fn by<F>(fetch: impl Fn(Url) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<u8>, FetchError>> + Send + 'static,
    {
        Self(Arc::new(move |url| Box::pin(fetch(url))))
    }

    /// Fetches a document.
    pub(crate) async fn fetch(&self, url: Url) -> Result<Vec<u8>, FetchError> {
        tokio::time::timeout(LIMIT, (self.0)(url)).await.unwrap_or(Err(FetchError::Unreachable))
    }
}

/// Vets the addresses of a host: one that is special makes all suspicious, so that nobody mixes a good one with a bad.
pub(crate) fn vet(addresses: &[IpAddr]) -> Result<(), FetchError> {
    if addresses.is_empty() {
        return Err(FetchError::NoAddress);
    }
    if addresses.iter().any(|address| is_special_address(*address)) { Err(FetchError::Special) } else { Ok(()) }
}

async fn fetch(url: Url) -> Result<Vec<u8>, FetchError> {
    let Some(Host::Domain(host)) = url.host() else { return Err(FetchError::Special) };
    let port = url.port_or_known_default().ok_or(FetchError::NoAddress)?;
    let found = tokio::net::lookup_host((host, port)).await.map_err(|_| FetchError::NoAddress)?;
    let found: Vec<SocketAddr> = found.collect();
    let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    vet(&addresses)?;
    install_provider();
    // Made for this one host: it goes to the vetted addresses and asks no resolver again, nor a proxy of the environment.
    let client = Client::builder()
        .resolve_to_addrs(host, &found)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .https_only(true)
        .timeout(LIMIT)
        .build()
        .map_err(|_| FetchError::Unreachable)?;
    let asked = client.get(url).header(ACCEPT, "application/json").send().await;
    let mut answer = asked.map_err(|_| FetchError::Unreachable)?;
    let media_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if answer.status() != StatusCode::OK || !is_json(media_type) {
        return Err(FetchError::NoDocument);
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|_| FetchError::Unreachable)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LONGEST {
            return Err(FetchError::NoDocument);
        }
    }
    Ok(bytes)
}

/// Returns true for `application/json` and `application/…+json`.
fn is_json(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type.strip_prefix("application/").is_some_and(|kind| kind == "json" || kind.ends_with("+json"))
}

/// Makes *ring* the provider of rustls, as everywhere in this program.
fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Where an embedding program has chosen already, its choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn one_address_that_is_special_makes_all_suspicious() {
        assert!(vet(&addresses(&["8.8.8.8", "2606:4700::1111"])).is_ok());
        assert!(matches!(vet(&addresses(&["8.8.8.8", "127.0.0.1"])), Err(FetchError::Special)));
        assert!(matches!(vet(&addresses(&["::ffff:10.0.0.1"])), Err(FetchError::Special)));
        assert!(matches!(vet(&[]), Err(FetchError::NoAddress)));
    }

    #[tokio::test]
    async fn a_host_that_is_or_names_this_machine_is_not_reached() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "127.1"] {
            let url = Url::parse(&format!("https://{host}:{port}/client.json")).unwrap();
            let failed = Fetcher::default().fetch(url).await.unwrap_err();
            assert!(matches!(failed, FetchError::Special | FetchError::NoAddress), "{host}: {failed}");
        }
        let reached = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
        assert!(reached.is_err(), "nothing connected");
    }

    #[test]
    fn a_document_says_that_it_is_json() {
        for media_type in ["application/json", "Application/JSON; charset=utf-8", "application/cimd+json"] {
            assert!(is_json(media_type), "{media_type}");
        }
        for media_type in ["text/html", "text/json", "", "application/jsonp"] {
            assert!(!is_json(media_type), "{media_type}");
        }
    }
}
