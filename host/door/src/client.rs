//! Clients, and those that the operator registered.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::json::Value;
use portcullis_model::{Digest, Secret, object};
use subtle::ConstantTimeEq as _;

use crate::files::{FileError, StateFile, Version};
use crate::mint::{Kind, NoRandomness, digest, mint, random};
use crate::named::{optional, read_digest};
use crate::redirect::{Place, RedirectError, RedirectUri};

/// So many clients the operator may register.
const MOST: usize = 256;
/// So many addresses one client may be led back to.
pub(crate) const MOST_REDIRECTS: usize = 8;
/// The longest name of a client, in characters.
pub(crate) const LONGEST_NAME: usize = 80;

/// How a client came to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The operator registered it.
    Registered,
    /// It is described by a document at the address which is its id, on this host.
    Document(String),
    /// It registered itself: nothing of what it says was checked.
    Itself,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) redirects: Vec<RedirectUri>,
    pub(crate) known: Known,
    /// What is kept of its secret, where it has one.
    pub(crate) secret: Option<Digest>,
}

impl Client {
    /// Returns true where a browser may be led to an address for this client.
    pub(crate) fn admits(&self, redirect: &RedirectUri) -> bool {
        self.redirects.iter().any(|registered| registered.admits(redirect))
    }

    /// Returns true where it can only be led to programs on the machine of the browser: any of them may claim to be it.
    pub(crate) fn is_local(&self) -> bool {
        self.redirects.iter().all(|redirect| *redirect.place() == Place::Loopback)
    }

    /// Returns true where a client that shows this may act as it. One without a secret is known by its code alone.
    pub(crate) fn is_shown_by(&self, secret: Option<&str>) -> bool {
        match (&self.secret, secret) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(kept), Some(shown)) => bool::from(kept.as_bytes().ct_eq(digest(shown).as_bytes())),
        }
    }
}

/// A client that the operator registered, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// What the operator calls it.
    pub name: String,
    /// The addresses that a browser may be led back to.
    pub redirects: Vec<RedirectUri>,
    /// True where it has a secret that it must show.
    pub has_secret: bool,
    /// When it was registered, in seconds since 1970.
    pub made: u64,
    secret: Option<Digest>,
}

impl RegisteredClient {
    pub(crate) fn to_client(&self) -> Client {
        Client {
            id: self.id.clone(),
            name: self.name.clone(),
            redirects: self.redirects.clone(),
            known: Known::Registered,
            secret: self.secret,
        }
    }
}

/// A client could not be registered or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It has no name that can be shown.
    #[error("a name has 1 to {LONGEST_NAME} characters, none of them hidden")]
    Name,
    /// It has no address to be led back to, or too many.
    #[error("a client has 1 to {MOST_REDIRECTS} redirect addresses")]
    Redirects,
    /// One of the addresses is not fit.
    #[error("`{0}` is no redirect address")]
    Redirect(String, #[source] RedirectError),
    /// There is none of that id.
    #[error("there is no client `{0}`")]
    Unknown(String),
    /// There are too many.
    #[error("there are {MOST} clients already; hint: remove those that are not needed")]
    TooMany,
    /// There is no randomness.
    #[error("the client could not be registered")]
    Randomness(#[from] NoRandomness),
    /// The file could not be used.
    #[error("the clients could not be read or written")]
    File(#[from] FileError),
}

/// The file with the clients that the operator registered.
#[derive(Clone, Debug)]
pub struct ClientFile {
    file: StateFile,
}

impl ClientFile {
    /// Names the file of a folder that only its owner can enter.
    pub fn in_folder(folder: &Path) -> Self {
        Self { file: StateFile::new(folder, "clients.json") }
    }

    pub(crate) fn version(&self) -> Version {
        self.file.version()
    }

    /// Returns the clients, in the order in which they were registered.
    pub fn list(&self) -> Result<Vec<RegisteredClient>, FileError> {
        self.read(self.file.read()?)
    }

    fn read(&self, value: Option<Value>) -> Result<Vec<RegisteredClient>, FileError> {
        let Some(value) = value else { return Ok(Vec::new()) };
        let clients = value.get("clients").and_then(Value::as_array).ok_or_else(|| self.file.malformed())?;
        clients.iter().map(|client| from_value(client).ok_or_else(|| self.file.malformed())).collect()
    }

    /// Registers a client and returns it with its secret, where it is to have one: that is shown once, and kept as its
    /// digest. `now` is in seconds since 1970.
    pub fn add(
        &self,
        name: &str,
        redirects: &[String],
        has_secret: bool,
        now: u64,
    ) -> Result<(RegisteredClient, Option<Secret>), ClientError> {
        if crate::shown::readable(name, LONGEST_NAME) != name || name.trim() != name {
            return Err(ClientError::Name);
        }
        if !(1..=MOST_REDIRECTS).contains(&redirects.len()) {
            return Err(ClientError::Redirects);
        }
        let parse =
            |text: &String| RedirectUri::parse(text).map_err(|error| ClientError::Redirect(text.clone(), error));
        let secret = has_secret.then(|| mint(Kind::Client)).transpose()?;
        let client = RegisteredClient {
            id: format!("ptc-{}", URL_SAFE_NO_PAD.encode(random::<16>()?)),
            name: name.to_owned(),
            redirects: redirects.iter().map(parse).collect::<Result<_, _>>()?,
            has_secret,
            made: now,
            secret: secret.as_ref().map(|secret| digest(secret.expose())),
        };
        self.file.change(|value| {
            let mut clients = self.read(value)?;
            if clients.len() >= MOST {
                return Err(ClientError::TooMany);
            }
            clients.push(client.clone());
            Ok((to_document(&clients), ()))
        })?;
        Ok((client, secret))
    }

    /// Removes a client. The tokens that it got go with it.
    pub fn remove(&self, id: &str) -> Result<(), ClientError> {
        self.file.change(|value| {
            let mut clients = self.read(value)?;
            let before = clients.len();
            clients.retain(|client| client.id != id);
            if clients.len() == before {
                return Err(ClientError::Unknown(crate::shown::plain(id, 64)));
            }
            Ok((to_document(&clients), ()))
        })
    }
}

fn to_document(clients: &[RegisteredClient]) -> Value {
    let value = |client: &RegisteredClient| {
        let redirects: Vec<Value> = client.redirects.iter().map(|redirect| redirect.as_str().into()).collect();
        let mut object = object! {
            "id" => client.id.as_str(), "name" => client.name.as_str(), "redirects" => redirects, "made" => client.made,
        };
        if let Some(secret) = &client.secret {
            object.insert("secret", secret.to_string());
        }
        Value::from(object)
    };
    object! { "clients" => clients.iter().map(value).collect::<Vec<_>>() }.into()
}

fn from_value(value: &Value) -> Option<RegisteredClient> {
    let object = value.as_object()?;
    let text = |key: &str| object.get(key)?.as_str().map(str::to_owned);
    let redirects = object.get("redirects")?.as_array()?.iter();
    // One without its secret would be open to everybody.
    let secret = match object.get("secret") {
        Some(secret) => Some(read_digest(secret.as_str()?)?),
        None => None,
    };
    Some(RegisteredClient {
        id: text("id")?,
        name: text("name")?,
        redirects: redirects.map(|uri| RedirectUri::parse(uri.as_str()?).ok()).collect::<Option<_>>()?,
        has_secret: secret.is_some(),
        made: optional(object, "made")??,
        secret,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirects(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_client_with_a_secret_must_show_it_and_the_file_has_only_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let file = ClientFile::in_folder(folder.path());
        let uris = redirects(&["https://app.example/callback"]);
        let (listed, secret) = file.add("An app", &uris, true, 5).unwrap();
        let secret = secret.unwrap();
        assert_eq!(file.list().unwrap(), std::slice::from_ref(&listed));
        let client = listed.to_client();
        assert!(client.is_shown_by(Some(secret.expose())));
        assert!(!client.is_shown_by(Some("wrong")) && !client.is_shown_by(None));
        assert!(!std::fs::read_to_string(folder.path().join("clients.json")).unwrap().contains(secret.expose()));
        let (public, none) = file.add("Another", &uris, false, 5).unwrap();
        assert!(none.is_none() && public.to_client().is_shown_by(None) && public.to_client().is_shown_by(Some("any")));
        assert!(public.id.len() >= 26 && public.id != listed.id);
        file.remove(&public.id).unwrap();
        assert!(matches!(file.remove(&public.id), Err(ClientError::Unknown(_))));
    }

    #[test]
    fn a_client_needs_a_name_and_addresses_that_are_fit() {
        let folder = tempfile::tempdir().unwrap();
        let file = ClientFile::in_folder(folder.path());
        let uris = redirects(&["https://app.example/callback"]);
        for name in ["", " ", "a\u{202e}b", "a\n", &"a".repeat(81)] {
            assert!(matches!(file.add(name, &uris, false, 0), Err(ClientError::Name)), "{name:?}");
        }
        assert!(matches!(file.add("a", &[], false, 0), Err(ClientError::Redirects)));
        assert!(matches!(file.add("a", &redirects(&["javascript:x"]), false, 0), Err(ClientError::Redirect(..))));
        assert!(file.list().unwrap().is_empty());
    }
}
