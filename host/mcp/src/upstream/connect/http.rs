//! Reaching a server over HTTP.

use std::sync::Arc;

use portcullis_config::Protocol;
use portcullis_model::{Launch, Secret};
use tokio::time::timeout;

use super::super::era::Stateless;
use super::super::eras::{Found, Key};
use super::super::shared::Shared;
use super::super::wire::{Wire, listen};
use super::super::{CallError, ConnectOptions, Hello, Peer, Upstream};
use super::negotiate::{Discovery, discover, initialize, probe_limit};
use super::{ConnectFailure, Tasks};
use crate::transport::http::{HttpClient, HttpFailure};

pub(super) async fn connect(
    launch: &Launch,
    options: ConnectOptions,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectFailure> {
    let Launch::Http { url, headers, .. } = launch else {
        return Err(ConnectFailure::Unsupported("the entry is not one of an HTTP server"));
    };
    let key = Key::of(launch);
    let result = streamable(url, headers, &options, options.eras.get(&key), peer).await;
    match &result {
        Ok(upstream) => {
            let found = if upstream.shared.era().is_some() { Found::Stateless } else { Found::Initialize };
            options.eras.note(key, found);
        }
        Err(_) => options.eras.forget(&key),
    }
    result
}

async fn streamable(
    url: &str,
    headers: &[(String, Secret)],
    options: &ConnectOptions,
    found: Option<Found>,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectFailure> {
    let client = HttpClient::new(url, headers)?;
    let shared = Arc::new(Shared::new(Wire::Http(client), peer, options.call_timeout));
    let limit = options.connect_timeout;
    let shaken = timeout(limit, shake_hands(&shared, options, found)).await;
    let (hello, era) = match shaken.unwrap_or(Err(ConnectFailure::Timeout(limit))) {
        Ok(shaken) => shaken,
        Err(failure) => {
            // The server may have begun a session, which nobody will use.
            shared.wire().close().await;
            return Err(failure);
        }
    };
    let listens = era.is_none();
    shared.establish(era).map_err(ConnectFailure::Handshake)?;
    // The stateless era has no stream of what the server says by itself.
    let tasks = if listens { vec![tokio::spawn(listen(Arc::clone(&shared)))] } else { Vec::new() };
    Ok(Upstream { shared, hello, process: None, _tasks: Tasks(tasks) })
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
                Discovery::Other(
                    error @ CallError::Http(
                        HttpFailure::Unreachable(_) | HttpFailure::Unauthorized { .. } | HttpFailure::Redirected(_),
                    ),
                ) => return Err(ConnectFailure::Handshake(error)),
                Discovery::Other(_) => {}
            },
            Err(_) if options.protocol == Protocol::Stateless => return Err(ConnectFailure::Timeout(limit)),
            Err(_) => {}
        }
    }
    initialize(shared, options).await.map(|hello| (hello, None))
}
