//! Keeps the tokens for one server fresh while it is used.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use portcullis_config::OAuthSettings;
use portcullis_model::{Digest, Secret, ServerName};

use crate::challenge::scopes;
use crate::file::{FileError, GrantFile, Version};
use crate::grant::Grant;
use crate::token::{self, TokenError, seconds};
use crate::web::Web;

/// A token is renewed so many seconds before its end, or after half of its life where that is shorter: long enough for a
/// request that is under way to arrive.
const MARGIN: u64 = 60;

/// There is no token to send.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// Nobody logged in, or for another server or another client than the config names now.
    #[error("nobody is logged in at this server")]
    NotLoggedIn,
    /// The token ended and there is nothing to renew it with.
    #[error("the login ended, and the authorization server gave nothing to renew it with")]
    Ended,
    /// The authorization server does not renew it any more.
    #[error("the authorization server does not renew the login any more (`{0}`)")]
    Refused(String),
    /// It could not be renewed now.
    #[error("the login could not be renewed")]
    NotNow(#[source] TokenError),
    /// The file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Renewing broke.
    #[error("renewing the login broke")]
    Broken,
}

impl KeeperError {
    /// Returns true where only a new login helps.
    pub fn needs_login(&self) -> bool {
        matches!(self, Self::NotLoggedIn | Self::Ended | Self::Refused(_))
    }
}

/// Keeps the tokens for one server. Clones keep the same.
#[derive(Clone, Debug)]
pub struct Keeper(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    server: ServerName,
    file: GrantFile,
    url: String,
    client_id: Option<String>,
    web: Web,
    known: Mutex<Known>,
    /// Held by whoever renews: those who come meanwhile find it done.
    turn: tokio::sync::Mutex<()>,
}

/// What was read last.
#[derive(Debug, Default)]
struct Known {
    version: Version,
    grant: Option<Arc<Grant>>,
    /// What the authorization server refused to renew, and how: it is not asked again with the same.
    refused: Option<(Digest, String)>,
}

impl Keeper {
    /// Keeps what stands in that file, for the server at that URL.
    pub fn new(server: &ServerName, file: GrantFile, url: &str, settings: &OAuthSettings, web: Web) -> Self {
        Self(Arc::new(Kept {
            server: server.clone(),
            file,
            url: url.to_owned(),
            client_id: settings.client_id.clone(),
            web,
            known: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }))
    }

    /// Returns the name of the server.
    pub fn server(&self) -> &ServerName {
        &self.0.server
    }

    /// Returns the token to send, renewed where it is about to end. Nothing where nobody is logged in.
    pub async fn token(&self) -> Result<Option<Secret>, KeeperError> {
        let Some(grant) = self.0.read()? else { return Ok(None) };
        if !is_ending(&grant, seconds(SystemTime::now())) {
            return Ok(Some(grant.tokens.access.clone()));
        }
        match self.renew(None).await {
            Ok(token) => Ok(Some(token)),
            // It may still be good, and who knows better than the server.
            Err(error) if !has_ended(&grant, seconds(SystemTime::now())) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a login was not renewed ahead of its end");
                Ok(Some(grant.tokens.access.clone()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns another token than the one that the server refused.
    pub async fn another(&self, refused: Option<&Secret>) -> Result<Secret, KeeperError> {
        match refused {
            Some(refused) => self.renew(Some(refused.clone())).await,
            None => self.0.read()?.map(|grant| grant.tokens.access.clone()).ok_or(KeeperError::NotLoggedIn),
        }
    }

    /// Notes scopes that the server wants besides, for the next login.
    pub async fn note_missing(&self, wanted: &[String]) -> Result<(), KeeperError> {
        let wanted = scopes(&wanted.join(" "));
        let _turn = self.0.turn.lock().await;
        let _lock = self.0.file.lock().await?;
        let Some(grant) = self.0.read()? else { return Ok(()) };
        let new: Vec<String> = wanted.into_iter().filter(|scope| !grant.missing.contains(scope)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut grant = Grant::clone(&grant);
        grant.missing.extend(new);
        grant.missing = scopes(&grant.missing.join(" "));
        Ok(self.0.file.write(&grant)?)
    }

    /// Renews in a task of its own: what the authorization server gives is kept, whoever stops waiting for it.
    async fn renew(&self, refused: Option<Secret>) -> Result<Secret, KeeperError> {
        let kept = Arc::clone(&self.0);
        let renewing = tokio::spawn(async move { kept.renew(refused.as_ref()).await });
        renewing.await.unwrap_or(Err(KeeperError::Broken))
    }
}

impl Kept {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what stands in the file, where it is for this server as the config has it.
    fn read(&self) -> Result<Option<Arc<Grant>>, FileError> {
        let version = self.file.version();
        let mut known = self.known();
        if known.version != version {
            let grant = self.file.read()?.filter(|grant| self.fits(grant));
            known.grant = grant.map(Arc::new);
            known.version = version;
        }
        Ok(known.grant.clone())
    }

    fn fits(&self, grant: &Grant) -> bool {
        grant.url == self.url && self.client_id.as_ref().is_none_or(|id| *id == grant.client.id)
    }

    async fn renew(&self, refused: Option<&Secret>) -> Result<Secret, KeeperError> {
        let _turn = self.turn.lock().await;
        // Another process may have renewed it meanwhile, or is about to.
        let _lock = self.file.lock().await?;
        let grant = self.read()?.ok_or(KeeperError::NotLoggedIn)?;
        let is_other = match refused {
            Some(refused) => grant.tokens.access != *refused,
            None => !is_ending(&grant, seconds(SystemTime::now())),
        };
        if is_other {
            return Ok(grant.tokens.access.clone());
        }
        let refresh = grant.tokens.refresh.as_ref().ok_or(KeeperError::Ended)?;
        let digest = Digest::of(refresh.expose().as_bytes());
        if let Some((_, code)) = self.known().refused.as_ref().filter(|(refused, _)| *refused == digest) {
            return Err(KeeperError::Refused(code.clone()));
        }
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
            ("resource", grant.resource.as_str()),
        ];
        match token::ask(&self.web, &grant.token_endpoint, &grant.client, &form).await {
            Ok(tokens) => {
                let mut grant = Grant::clone(&grant);
                grant.renew(tokens);
                self.file.write(&grant)?;
                tracing::info!(issuer = grant.issuer, "a login was renewed");
                Ok(grant.tokens.access)
            }
            Err(error) if error.is_passing() => Err(KeeperError::NotNow(error)),
            Err(TokenError::Refused { code, description: _ }) => {
                // Of the others, such as `invalid_client`, some servers repent.
                if code == "invalid_grant" {
                    self.known().refused = Some((digest, code.clone()));
                }
                Err(KeeperError::Refused(code))
            }
            Err(error) => Err(KeeperError::NotNow(error)),
        }
    }
}

fn is_ending(grant: &Grant, now: u64) -> bool {
    let life = grant.tokens.expires.map(|expires| expires.saturating_sub(grant.tokens.made));
    let margin = life.map_or(0, |life| MARGIN.min(life / 2));
    grant.tokens.expires.is_some_and(|expires| now + margin >= expires)
}

fn has_ended(grant: &Grant, now: u64) -> bool {
    grant.tokens.expires.is_some_and(|expires| now >= expires)
}
