//! Clients that are described by a document at the address which is their id (client ID metadata documents).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use portcullis_model::json::{Limits, Value, parse_with};
use url::{Host, Url};

use crate::client::{Client, Known, LONGEST_NAME, MOST_REDIRECTS};
use crate::clock::{Clock, Moment};
use crate::fetch::{Fetcher, LONGEST};
use crate::redirect::{Place, RedirectUri};
use crate::shown::readable;

/// Longest address of a document.
const LONGEST_ID: usize = 512;
/// Documents are kept for so long: a page that waits for the operator asks every few seconds.
const KEPT: Moment = 5 * 60 * 1_000;
/// So many are kept.
const MOST: usize = 64;

/// Reads the id of such a client; nothing where it is none.
pub(crate) fn read_id(id: &str) -> Option<Url> {
    let rest = id.strip_prefix("https://").filter(|_| id.len() <= LONGEST_ID)?;
    let is_fit = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'#' | b'?' | b'@');
    let (_, path) = rest.split_once('/')?;
    // As it stands: a reader of addresses would take such segments out.
    let has_dots =
        path.split('/').any(|segment| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | ".."));
    let url = Url::parse(id).ok()?;
    let is_named = matches!(url.host(), Some(Host::Domain(name)) if name.contains('.'));
    (rest.bytes().all(is_fit) && !path.is_empty() && !has_dots && is_named && url.as_str() == id).then_some(url)
}

/// Reads a document; nothing where it does not describe the client of that id.
pub(crate) fn read(url: &Url, bytes: &[u8]) -> Option<Client> {
    let document = parse_with(bytes, Limits { bytes: LONGEST, depth: 16 }).ok()?;
    let text = |key: &str| document.get(key).and_then(Value::as_str);
    let has_secret = document.as_object()?.iter().any(|(key, _)| key.starts_with("client_secret"));
    let is_public = matches!(text("token_endpoint_auth_method"), None | Some("none"));
    if text("client_id") != Some(url.as_str()) || has_secret || !is_public {
        return None;
    }
    let redirects = document.get("redirect_uris").and_then(Value::as_array)?;
    let redirects: Vec<RedirectUri> = redirects
        .iter()
        .map(|uri| RedirectUri::parse(uri.as_str()?).ok())
        .collect::<Option<_>>()
        .filter(|redirects: &Vec<_>| (1..=MOST_REDIRECTS).contains(&redirects.len()))?;
    // An app's scheme can be claimed by any app: such a client is for the operator to register.
    if redirects.iter().any(|redirect| matches!(redirect.place(), Place::App(_))) {
        return None;
    }
    Some(Client {
        id: url.as_str().to_owned(),
        name: readable(text("client_name")?, LONGEST_NAME),
        redirects,
        known: Known::Document(url.host_str()?.to_owned()),
        secret: None,
    })
}

/// Documents that were fetched.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    kept: Mutex<HashMap<String, (Moment, Client)>>,
}

impl Documents {
    /// Returns the client whose document is kept.
    pub(crate) fn known(&self, url: &Url, now: Moment) -> Option<Client> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (until, _)| now < *until);
        kept.get(url.as_str()).map(|(_, client)| client.clone())
    }

    /// Fetches the document of a client. One that is no good is not kept.
    pub(crate) async fn fetch(&self, url: &Url, fetcher: &Fetcher, clock: &Clock) -> Option<Client> {
        let host = url.host_str().unwrap_or_default();
        let bytes = match fetcher.fetch(url.clone()).await {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::warn!(
                    host,
                    error = &error as &dyn std::error::Error,
                    "the document of a client was not fetched"
                );
                return None;
            }
        };
        let Some(client) = read(url, &bytes) else {
            tracing::warn!(host, "a document does not describe the client whose address it has");
            return None;
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST {
            let oldest = kept.iter().min_by_key(|(_, (until, _))| *until).map(|(id, _)| id.clone());
            oldest.and_then(|id| kept.remove(&id));
        }
        kept.insert(url.as_str().to_owned(), (clock.now() + KEPT, client.clone()));
        Some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "https://app.example/oauth/client.json";

    #[test]
    fn an_id_is_a_plain_address_of_a_document_on_a_named_host() {
        assert!(read_id(ID).is_some());
        for wrong in [
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example/a/../client.json",
            "https://app.example/./client.json",
            "https://app.example/%2e%2E/client.json",
            "https://app.example/client.json#a",
            "https://app.example/client.json?a=b",
            "https://user@app.example/client.json",
            "https://127.0.0.1/client.json",
            "https://[::1]/client.json",
            "https://2130706433/client.json",
            "https://localhost/client.json",
            "https://APP.example/client.json",
            "https://app.example:443/client.json",
            "https://app.example\\.evil.example/client.json",
            "ptc-abc",
        ] {
            assert!(read_id(wrong).is_none(), "{wrong}");
        }
        assert!(read_id(&format!("https://app.example/{}", "a".repeat(600))).is_none());
    }

    #[test]
    fn a_document_describes_the_client_whose_address_it_has_and_no_other() {
        let good = r#"{"client_id":"https://app.example/oauth/client.json","client_name":"An \u202eapp",
            "redirect_uris":["https://app.example/callback","http://127.0.0.1/callback"],"logo_uri":"https://x.example/l"}"#;
        let url = read_id(ID).unwrap();
        let client = read(&url, good.as_bytes()).unwrap();
        assert_eq!((client.name.as_str(), client.redirects.len()), ("An app", 2));
        assert_eq!(client.known, Known::Document("app.example".to_owned()));
        for (from, to) in [
            ("oauth/client.json\"", "other.json\""),
            ("\"client_name\"", "\"client_title\""),
            ("https://app.example/callback", "javascript:alert(1)"),
            ("https://app.example/callback", "app://callback/x"),
            ("https://app.example/callback", "http://app.example/callback"),
            ("\"logo_uri\"", "\"client_secret\""),
            ("\"logo_uri\"", "\"client_secret_expires_at\""),
            ("\"logo_uri\":\"https://x.example/l\"", "\"token_endpoint_auth_method\":\"client_secret_post\""),
            ("[\"https://app.example/callback\",\"http://127.0.0.1/callback\"]", "[]"),
            ("[\"https://app.example/callback\",\"http://127.0.0.1/callback\"]", "[1]"),
            ("\"client_name\"", "\"client_id\":\"x\",\"client_name\""),
        ] {
            let wrong = good.replace(from, to);
            assert_ne!(wrong, good);
            assert!(read(&url, wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn documents_that_are_kept_are_bounded_and_bad_ones_are_not_kept() {
        let (documents, clock) = (Documents::default(), Clock::still());
        let fetcher = Fetcher::by(|url: Url| async move {
            let good = url.path() != "/bad";
            Ok(if good {
                format!(r#"{{"client_id":"{url}","client_name":"n","redirect_uris":["https://app.example/c"]}}"#)
                    .into_bytes()
            } else {
                Vec::new()
            })
        });
        let bad = read_id("https://app.example/bad").unwrap();
        assert!(
            documents.fetch(&bad, &fetcher, &clock).await.is_none() && documents.known(&bad, clock.now()).is_none()
        );
        for number in 0..200 {
            let url = read_id(&format!("https://app.example/{number}")).unwrap();
            assert!(documents.fetch(&url, &fetcher, &clock).await.is_some());
            assert!(documents.known(&url, clock.now()).is_some());
        }
        assert_eq!(documents.kept.lock().unwrap().len(), MOST);
        clock.advance(std::time::Duration::from_mins(5));
        assert!(documents.known(&read_id("https://app.example/199").unwrap(), clock.now()).is_none());
    }
}
