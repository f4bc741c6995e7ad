//! Reaching a server over HTTP.

use std::sync::Arc;
use std::time::Duration;

use portcullis_config::Protocol;
use portcullis_model::{Launch, Secret, ServerEntry};
use portcullis_oauth::{GrantFile, Keeper, Web};
use tokio::sync::oneshot;
use tokio::time::timeout;
use url::Url;

use super::super::era::Stateless;
use super::super::eras::{Found, Key};
use super::super::shared::Shared;
use super::super::wire::{Sse, Wire, listen};
use super::super::{CallError, ConnectOptions, Hello, LoginOptions, Peer, Upstream};
use super::negotiate::{Discovery, discover, initialize, probe_limit};
use super::{ConnectFailure, Tasks};
use crate::transport::http::{HttpClient, HttpFailure, HttpSetupError, Trusted, certificates};

/// So long a new connection waits until the stream of what the server says by itself is open: what is asked on a stream that
/// is not, some SDKs drop. One round trip, unless the server sends nothing before it has something to say.
const LISTEN_LIMIT: Duration = Duration::from_millis(250);

pub(super) async fn connect(
    entry: &ServerEntry,
    options: ConnectOptions,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectFailure> {
    let launch = &entry.launch;
    let Launch::Http { url, headers, legacy_sse } = launch else {
        return Err(ConnectFailure::Unsupported("the entry is not one of an HTTP server"));
    };
    let key = Key::of(launch);
    let found = options.eras.get(&key);
    let limit = options.connect_timeout;
    let connecting = async {
        let trusted = Arc::new(Trusted::read(options.tls.clone(), options.client_identity.clone()).await?);
        let keeper = match &options.login {
            Some(login) => Some(keeper(entry, url, login, Arc::clone(&trusted)).await?),
            None => None,
        };
        let place = &Place { url, headers, trusted, keeper };
        if *legacy_sse || found == Some(Found::Sse) {
            return sse(place, &options, peer).await;
        }
        match streamable(place, &options, found, Arc::clone(&peer)).await {
            // Where an endpoint of the newest transport would be, one of the oldest may be.
            Err(failure) if may_be_sse(&failure) => sse(place, &options, peer).await.map_err(|_| failure),
            outcome => outcome,
        }
    };
    let result = timeout(limit, connecting).await.unwrap_or(Err(ConnectFailure::Timeout(limit)));
    match &result {
        Ok(upstream) => options.eras.note(key, found_as(&upstream.shared)),
        Err(_) => options.eras.forget(&key),
    }
    result
}

/// Where a server is, and what it is shown.
struct Place<'a> {
    url: &'a str,
    headers: &'a [(String, Secret)],
    trusted: Arc<Trusted>,
    keeper: Option<Keeper>,
}

impl Place<'_> {
    fn client(&self) -> Result<HttpClient, HttpSetupError> {
        Ok(HttpClient::new(self.url, self.headers, &self.trusted)?.with_login(self.keeper.clone()))
    }
}

/// Prepares the login of a server.
async fn keeper(
    entry: &ServerEntry,
    url: &str,
    login: &LoginOptions,
    trusted: Arc<Trusted>,
) -> Result<Keeper, HttpSetupError> {
    let place = Url::parse(url).map_err(|_| HttpSetupError::Url)?;
    let web = Web::of(&place, login.settings.user_agent.as_deref(), certificates(trusted)).await;
    let file = GrantFile::of(&login.folder, &entry.name);
    Ok(Keeper::new(&entry.name, file, url, &login.settings, web))
}

fn found_as(shared: &Shared) -> Found {
    match (shared.era(), shared.wire()) {
        (Some(_), _) => Found::Stateless,
        (None, Wire::Sse(_)) => Found::Sse,
        (None, Wire::Http(_) | Wire::Stdio(_)) => Found::Initialize,
    }
}

/// Returns true for what servers of HTTP+SSE answer to a message at the place where their stream is: the statuses that the
/// specification names, and two that servers use besides.
fn may_be_sse(failure: &ConnectFailure) -> bool {
    matches!(failure, ConnectFailure::Handshake(CallError::Http(HttpFailure::Status(400 | 404 | 405 | 406 | 411))))
}

/// Connects over HTTP+SSE.
async fn sse(place: &Place<'_>, options: &ConnectOptions, peer: Arc<dyn Peer>) -> Result<Upstream, ConnectFailure> {
    let sse = Sse::new(place.client()?);
    let events = sse.open().await.map_err(|failure| ConnectFailure::Handshake(CallError::Http(failure)))?;
    let shared = Arc::new(Shared::new(Wire::Sse(sse), peer, options.call_timeout));
    let tasks = Tasks(vec![tokio::spawn(Sse::read(Arc::clone(&shared), events))]);
    let hello = initialize(&shared, options).await?;
    shared.establish(None).map_err(ConnectFailure::Handshake)?;
    Ok(Upstream { shared, hello, process: None, _tasks: tasks })
}

async fn streamable(
    place: &Place<'_>,
    options: &ConnectOptions,
    found: Option<Found>,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectFailure> {
    let client = place.client()?;
    let shared = Arc::new(Shared::new(Wire::Http(client), peer, options.call_timeout));
    let (hello, era) = match shake_hands(&shared, options, found).await {
        Ok(shaken) => shaken,
        Err(failure) => {
            // The server may have begun a session, which nobody will use.
            shared.wire().close().await;
            return Err(failure);
        }
    };
    let listens = era.is_none();
    shared.establish(era).map_err(ConnectFailure::Handshake)?;
    let mut tasks = Tasks::default();
    if listens {
        let (begun, has_begun) = oneshot::channel();
        tasks.0.push(tokio::spawn(listen(Arc::clone(&shared), begun)));
        // Dropped by the task, so it ends with an error, whichever way it went.
        let _ = timeout(LISTEN_LIMIT, has_begun).await;
    }
    tasks.follow(&shared, &hello);
    Ok(Upstream { shared, hello, process: None, _tasks: tasks })
}

/// Asks for the stateless era, and for the other one where the server does not know that.
async fn shake_hands(
    shared: &Arc<Shared>,
    options: &ConnectOptions,
    found: Option<Found>,
) -> Result<(Hello, Option<Stateless>), ConnectFailure> {
    if let Some(limit) = probe_limit(options, found) {
        match timeout(limit, discover(shared, options)).await {
            Ok(discovered) => match discovered? {
                Discovery::Stateless(hello, era) => return Ok((hello, Some(era))),
                // The other era would be met by the same.
                Discovery::Other(error @ CallError::Http(HttpFailure::Unreachable(_) | HttpFailure::Redirected(_))) => {
                    return Err(ConnectFailure::Handshake(error));
                }
                Discovery::Other(CallError::Http(failure)) if failure.is_of_credentials() => {
                    return Err(ConnectFailure::Handshake(CallError::Http(failure)));
                }
                Discovery::Other(_) => {}
            },
            Err(_) if options.protocol == Protocol::Stateless => return Err(ConnectFailure::Timeout(limit)),
            Err(_) => {}
        }
    }
    initialize(shared, options).await.map(|hello| (hello, None))
}
