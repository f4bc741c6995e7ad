//! The front door as a whole.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use http::header::USER_AGENT;
use http::request::Parts;
use http::{Method, StatusCode};
use portcullis_model::{Digest, Principal, ServerName};

use crate::bearer::{Shown, is_in_query, shown};
use crate::browser::Code;
use crate::clock::{Moment, millis};
use crate::counts::Counts;
use crate::credential::{Closed, Credential, Credentials, Origin, Reach};
use crate::desk::{ConsentView, DeskError};
use crate::files::{FileError, Version};
use crate::grants::GrantView;
use crate::metadata::{self, AUTHORIZE, REGISTER, REVOKE, SERVER_METADATA, TOKEN};
use crate::mint::digest;
use crate::named::{ENVIRONMENT, INSTALLATION, TokenFile};
use crate::rate::{Counted, Limiter};
use crate::refusal::{Reason, Refusal};
use crate::reply::{self, Reply};
use crate::route::PublicUrl;
use crate::seen::{Seen, Use, program};
use crate::server::{AuthorizationServer, Surroundings};
use crate::settings::DoorSettings;

/// How much a front door keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Tokens that open routes.
    pub tokens: usize,
    /// Sources that limits tell apart.
    pub sources: usize,
    /// Families of tokens.
    pub grants: usize,
    /// Codes, used ones included.
    pub codes: usize,
}

/// The front door of a gateway: who may come in over HTTP.
#[derive(Debug)]
pub struct FrontDoor {
    pub(crate) settings: DoorSettings,
    pub(crate) credentials: Credentials,
    pub(crate) limiter: Limiter,
    pub(crate) counts: Counts,
    tokens: TokenFile,
    read: Mutex<Version>,
    server: Option<AuthorizationServer>,
}

impl FrontDoor {
    /// Opens a front door: reads the state of its folder.
    ///
    /// # Errors
    /// The state is there and cannot be read, or is not what was written.
    pub fn open(settings: DoorSettings) -> Result<Self, FileError> {
        let tokens = TokenFile::in_folder(&settings.folder);
        let credentials = Credentials::default();
        let server = settings.authorization.clone();
        let server = server.map(|server| AuthorizationServer::open(&settings, server, &credentials)).transpose()?;
        let door = Self {
            server,
            credentials,
            limiter: Limiter::default(),
            counts: Counts::default(),
            read: Mutex::new(tokens.version()),
            tokens,
            settings,
        };
        door.read_tokens()?;
        Ok(door)
    }

    pub(crate) fn now(&self) -> Moment {
        self.settings.clock.now()
    }

    /// Decides about a request for a route: a principal, or a refusal.
    ///
    /// What passes costs one digest and one lookup in memory; nothing is read or written.
    pub fn admit(&self, route: Option<&ServerName>, head: &Parts, peer: IpAddr) -> Result<Principal, Refusal> {
        let source = self.settings.proxies.source(peer, &head.headers);
        if is_in_query(head.uri.query()) {
            return Err(self.refuse(Reason::InAddress, route, source));
        }
        let token = match shown(&head.headers) {
            Shown::Token(token) => token,
            Shown::Nothing => return Err(self.refuse(Reason::Missing, route, source)),
            Shown::Other => return Err(self.refuse(Reason::Invalid, route, source)),
            Shown::Malformed => return Err(self.refuse(Reason::Malformed, route, source)),
        };
        match self.credentials.find(&digest(token), route, source, self.now()) {
            Ok(credential) => {
                self.note_use(&credential, head, source);
                Ok(credential.principal.clone())
            }
            Err(Closed::Unknown) => Err(self.refuse(Reason::Invalid, route, source)),
            Err(Closed::OtherRoutes) => Err(self.refuse(Reason::OtherRoutes, route, source)),
        }
    }

    fn refuse(&self, reason: Reason, route: Option<&ServerName>, source: IpAddr) -> Refusal {
        self.counts.refused(reason);
        if let Err(too_often) = self.limiter.count(Counted::Refused, source, &self.settings.clock) {
            let seconds = millis(too_often.retry).div_ceil(1_000);
            return Refusal::new(Reason::TooOften { seconds }, None);
        }
        // The limit above is also one on what is logged. The source says nothing that a stranger could make up.
        tracing::warn!(?reason, %source, "a request was turned away");
        Refusal::new(reason, Some(&self.settings.public_url.metadata(route)))
    }

    /// Tells of the first use of a token, and of each from a new place.
    fn note_use(&self, credential: &Credential, head: &Parts, source: IpAddr) {
        let agent = head.headers.get(USER_AGENT).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let (event, text) = match credential.seen.note(source, agent) {
            Use::Known => return,
            Use::First => ("token-first-use", "a token was used for the first time since the start"),
            Use::NewPlace => ("token-new-source", "a token was used from a new place"),
        };
        self.counts.placed();
        let program = crate::shown::plain(&String::from_utf8_lossy(program(agent)), 64);
        // The name of the event is stable: who keeps logs looks for it.
        tracing::info!(event, principal = %credential.principal, %source, program, "{text}");
    }

    /// Returns whom tokens act for. Clients may be between two tokens: those of a family that has not ended count as well.
    pub fn principals(&self) -> HashSet<Principal> {
        let mut all = self.credentials.principals(self.now());
        if let Some(server) = &self.server {
            all.extend(server.list().iter().filter_map(|grant| crate::grants::principal(&grant.client_id)));
        }
        all
    }

    /// Returns the address under which clients reach this door.
    pub fn public_url(&self) -> &PublicUrl {
        &self.settings.public_url
    }

    /// Returns true where clients get tokens here.
    pub fn has_authorization(&self) -> bool {
        self.server.is_some()
    }

    /// Returns true for a path that is answered here, and not by the routes of MCP.
    pub fn serves(&self, path: &str) -> bool {
        if metadata::described(path).is_some() {
            return true;
        }
        self.server.as_ref().is_some_and(|server| match path {
            SERVER_METADATA | AUTHORIZE | TOKEN | REVOKE => true,
            REGISTER => server.settings.registration,
            _ => false,
        })
    }

    /// Answers a request for one of these paths.
    pub async fn answer(&self, head: &Parts, body: &[u8], peer: IpAddr) -> Reply {
        let source = self.settings.proxies.source(peer, &head.headers);
        let path = head.uri.path();
        let (counted, methods): (_, &[Method]) = match path {
            AUTHORIZE => (None, &[Method::GET, Method::POST]),
            TOKEN | REVOKE => (Some(Counted::Token), &[Method::POST]),
            REGISTER => (Some(Counted::Register), &[Method::POST]),
            _ => (Some(Counted::Metadata), &[Method::GET]),
        };
        if !methods.contains(&head.method) {
            return reply::wrong_method(methods);
        }
        if let Some(Err(too_often)) = counted.map(|what| self.limiter.count(what, source, &self.settings.clock)) {
            self.counts.limited();
            return reply::too_often(millis(too_often.retry).div_ceil(1_000));
        }
        // A page of another site may lead here, and not send forms here.
        if head.method == Method::POST && head.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
            return reply::error(StatusCode::FORBIDDEN, "access_denied", "a page of another site sent this");
        }
        if let Some(route) = metadata::described(path) {
            let document = metadata::of_resource(&self.settings.public_url, route.as_ref(), self.server.is_some());
            return reply::document(document);
        }
        let Some(server) = &self.server else { return reply::not_found() };
        match path {
            SERVER_METADATA => reply::document(metadata::of_server(&self.settings.public_url, &server.settings)),
            AUTHORIZE => {
                let around = Surroundings { limiter: &self.limiter, counts: &self.counts, source };
                server.authorize(head, body, &around).await
            }
            TOKEN => server.token(head, body, &self.credentials, &self.counts).await,
            REVOKE => server.revoke(head, body, &self.credentials).await,
            REGISTER if server.settings.registration => server.register(head, body),
            _ => reply::not_found(),
        }
    }

    /// Waits until a browser shows a code that the operator named, and returns what it asks for. Whoever waits sets a limit.
    pub async fn expect(&self, code: Code) -> Result<ConsentView, DeskError> {
        match &self.server {
            Some(server) => server.expect(code).await,
            None => Err(DeskError::Unknown),
        }
    }

    /// Returns true where an operator waits for the browser that shows a code.
    #[cfg(test)]
    pub(crate) fn expects(&self, code: Code) -> bool {
        self.server.as_ref().is_some_and(|server| server.expects(code))
    }

    /// Answers a code that a browser showed.
    pub fn consent(&self, code: Code, allow: bool) -> Result<(), DeskError> {
        self.server.as_ref().ok_or(DeskError::Unknown)?.answer(code, allow)
    }

    /// Lists what the operator consented to, the newest first.
    pub fn grants(&self) -> Vec<GrantView> {
        self.server.as_ref().map(AuthorizationServer::list).unwrap_or_default()
    }

    /// Ends what the operator consented to, by the names of the list. Returns how many ended.
    pub async fn revoke(&self, names: &[String]) -> usize {
        match &self.server {
            Some(server) => server.end(names, &self.credentials).await,
            None => 0,
        }
    }

    /// Takes changes of the files that commands write. It reads from the disk: call it now and then, and not where others
    /// wait.
    pub fn refresh(&self) {
        let version = self.tokens.version();
        let changed = std::mem::replace(&mut *self.read.lock().unwrap_or_else(PoisonError::into_inner), version);
        if changed != version {
            match self.read_tokens() {
                Ok(()) => tracing::info!("the tokens were read again"),
                // What cannot be read may have taken one back.
                Err(error) => {
                    self.take_operators(Vec::new());
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the tokens cannot be read: those with names open nothing"
                    );
                }
            }
        }
        if let Some(server) = &self.server {
            server.refresh(&self.credentials);
        }
        let now = self.now();
        self.credentials.retain(|credential| credential.expires.is_none_or(|expires| now < expires));
    }

    fn read_tokens(&self) -> Result<(), FileError> {
        let tokens = self.tokens.list()?;
        self.take_operators(tokens.iter().filter_map(Credential::of_named).collect());
        Ok(())
    }

    fn take_operators(&self, mut credentials: Vec<Credential>) {
        let fixed = [(INSTALLATION, &self.settings.installation), (ENVIRONMENT, &self.settings.environment)];
        for (name, token) in fixed {
            let Some(token) = token else { continue };
            credentials.extend(everywhere(name, digest(token.expose())));
        }
        self.credentials.replace_operators(credentials);
    }

    /// Returns what happened since the start, for whoever watches.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns how much is kept in memory.
    pub fn sizes(&self) -> Sizes {
        let (grants, codes) = self.server.as_ref().map(|server| server.grants.sizes()).unwrap_or_default();
        Sizes { tokens: self.credentials.len(), sources: self.limiter.len(), grants, codes }
    }
}

fn everywhere(name: &str, digest: Digest) -> Option<Credential> {
    Some(Credential {
        digest,
        principal: Principal::parse(name).ok()?,
        reach: Reach::All,
        sources: Vec::new(),
        expires: None,
        origin: Origin::Operator,
        seen: Seen::default(),
    })
}

#[cfg(test)]
mod tests;
