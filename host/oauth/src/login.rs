//! Logging in: the operator consents at the authorization server, and the gateway gets tokens.

mod browser;
mod device;
mod identity;

use std::time::SystemTime;

use portcullis_config::OAuthSettings;
use portcullis_model::json::Value;
use portcullis_model::object;
use url::Url;

use crate::challenge::Challenge;
use crate::discovery::{DiscoveryError, Found, discover};
use crate::file::{FileError, GrantFile};
use crate::grant::{Client, Grant, Tokens};
use crate::token::{TokenError, seconds};
use crate::web::{Web, WebError};

pub use browser::Browser;
pub use device::Device;

/// Nobody was logged in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server could not be asked what it wants.
    #[error("asking the server what it wants")]
    Knock(#[source] WebError),
    /// No authorization server was found.
    #[error("finding the authorization server")]
    Discovery(#[from] DiscoveryError),
    /// The authorization server knows no client of ours and takes no new ones.
    #[error(
        "the authorization server `{0}` registers no clients by itself; hint: register one there, and write its \
         `client_id`, and `client_secret` if it has one, under `oauth`"
    )]
    NoClient(String),
    /// The authorization server refused to register a client.
    #[error(
        "the authorization server registers no client `{name}`; hint: some take only names that they know, which `client_name` \
         under `oauth` sets, or clients that were registered by hand, whose `client_id` stands there"
    )]
    Registration {
        /// The name that was tried.
        name: String,
        /// What it said.
        #[source]
        source: TokenError,
    },
    /// The authorization server has no way that was asked for.
    #[error("the authorization server has no {0}")]
    NoFlow(&'static str),
    /// A place where the browser would go is none for it.
    #[error("the page of the authorization server")]
    Page(#[source] WebError),
    /// There are no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
    /// What the browser came back with belongs to no login that runs here.
    #[error("what came back belongs to another login")]
    State,
    /// Another authorization server answered than was asked (RFC 9207).
    #[error("the answer came from another authorization server than `{0}`, or from nobody knows whom")]
    Issuer(String),
    /// The operator or the authorization server said no.
    #[error("the authorization server gave no code, but `{code}`")]
    Denied {
        /// The code of the error.
        code: String,
        /// What it says besides: foreign text, to be escaped where it is shown.
        description: Option<String>,
    },
    /// Neither a code nor an error came back.
    #[error("what came back holds no code; hint: the whole address is needed, from `http` on")]
    NoCode,
    /// No token was given for the consent.
    #[error("no token came for it")]
    Token(#[from] TokenError),
    /// Nobody consented in time.
    #[error("nobody consented in time")]
    TooLate,
    /// The file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A login that has begun.
#[derive(Clone, Debug)]
pub struct Login {
    web: Web,
    url: Url,
    settings: OAuthSettings,
    found: Found,
    scopes: Vec<String>,
}

impl Login {
    /// Finds out where and for what a server wants one. What is held for it already says which scopes were missing.
    pub async fn begin(url: &Url, settings: &OAuthSettings, web: Web, held: &GrantFile) -> Result<Self, LoginError> {
        let ping = object! { "jsonrpc" => "2.0", "id" => 1_u64, "method" => "ping" }.into();
        let answer = web.knock(url, &ping).await.map_err(LoginError::Knock)?;
        let challenge = answer.challenge.as_deref().map(Challenge::parse).unwrap_or_default();
        let found = discover(&web, url, &challenge).await?;
        // One that cannot be read is about to be replaced.
        let held = held.read().ok().flatten().filter(|held| held.url == url.as_str());
        let scopes = scopes(settings, &found, held.as_ref());
        Ok(Self { web, url: url.clone(), settings: settings.clone(), found, scopes })
    }

    /// Returns the name of the authorization server: foreign text.
    pub fn issuer(&self) -> &str {
        &self.found.server.issuer
    }

    /// Returns the scopes that are asked for: foreign text.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns true where a code can be typed in a browser anywhere (RFC 8628).
    pub fn has_device_flow(&self) -> bool {
        self.found.server.device.is_some()
    }

    fn consent(&self, client: Client, tokens: Tokens) -> Consent {
        Consent(Grant {
            url: self.url.as_str().to_owned(),
            resource: self.found.resource.clone(),
            issuer: self.found.server.issuer.clone(),
            token_endpoint: self.found.server.token.clone(),
            revocation_endpoint: self.found.server.revocation.clone(),
            client,
            tokens,
            asked: self.scopes.clone(),
            missing: Vec::new(),
        })
    }
}

/// Chooses what to ask for: what the config says, or what the server says; and what was missing before, with all that was
/// there (so that a step forward is none back).
fn scopes(settings: &OAuthSettings, found: &Found, held: Option<&Grant>) -> Vec<String> {
    let mut wanted = match &settings.scope {
        Some(scope) => crate::challenge::scopes(scope),
        None => found.scopes.clone(),
    };
    if let Some(held) = held.filter(|held| !held.missing.is_empty() && held.issuer == found.server.issuer) {
        wanted.extend(held.scopes().iter().chain(&held.missing).cloned());
    }
    if !wanted.is_empty() && found.server.has_offline_access {
        wanted.push("offline_access".to_owned());
    }
    crate::challenge::scopes(&wanted.join(" "))
}

/// What the operator consented to, with the tokens that came for it.
#[derive(Clone, Debug)]
pub struct Consent(Grant);

impl Consent {
    /// Writes it into a file.
    pub fn write(&self, file: &GrantFile) -> Result<(), FileError> {
        file.write(&self.0)
    }

    /// Returns the scopes that were given, as far as they are known: foreign text.
    pub fn scopes(&self) -> &[String] {
        self.0.scopes()
    }

    /// Returns for how many seconds the access token is good, where the server said so.
    pub fn lasts(&self) -> Option<u64> {
        self.0.tokens.expires.map(|expires| expires.saturating_sub(seconds(SystemTime::now())))
    }

    /// Returns true where it can be renewed without the operator.
    pub fn renews(&self) -> bool {
        self.0.tokens.refresh.is_some()
    }
}

/// What became of a logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// Nobody was logged in.
    Nobody,
    /// The tokens are gone here, and the authorization server ended them.
    Ended,
    /// The tokens are gone here; the authorization server was not told, or did not listen.
    Forgotten,
}

/// Forgets the tokens for a server, and has the authorization server end them where it can (RFC 7009).
pub async fn log_out(file: &GrantFile, web: &Web) -> Result<LoggedOut, FileError> {
    let _lock = file.lock().await?;
    // One that cannot be read is removed all the same.
    let held = file.read().ok().flatten();
    if !file.remove()? {
        return Ok(LoggedOut::Nobody);
    }
    let Some((held, endpoint)) =
        held.and_then(|held| held.revocation_endpoint.clone().map(|endpoint| (held, endpoint)))
    else {
        return Ok(LoggedOut::Forgotten);
    };
    let (token, hint) = match &held.tokens.refresh {
        Some(refresh) => (refresh, "refresh_token"),
        None => (&held.tokens.access, "access_token"),
    };
    let form = [("token", token.expose()), ("token_type_hint", hint)];
    let answer = crate::token::post(web, &endpoint, &held.client, &form).await;
    Ok(if answer.is_ok_and(|answer| answer.is_success()) { LoggedOut::Ended } else { LoggedOut::Forgotten })
}

/// Reads a member that is a text.
fn text<'a>(document: &'a Value, key: &str) -> Option<&'a str> {
    document.get(key).and_then(Value::as_str)
}
