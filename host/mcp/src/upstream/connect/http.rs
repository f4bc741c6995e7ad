//! Reaching a server over HTTP.

use std::sync::Arc;

use portcullis_model::Secret;
use tokio::time::timeout;

use super::super::shared::Shared;
use super::super::wire::{Wire, listen};
use super::super::{ConnectOptions, Peer, Upstream};
use super::negotiate::initialize;
use super::{ConnectFailure, Tasks};
use crate::transport::http::HttpClient;

pub(super) async fn connect(
    url: &str,
    headers: &[(String, Secret)],
    options: ConnectOptions,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectFailure> {
    let client = HttpClient::new(url, headers)?;
    let shared = Arc::new(Shared::new(Wire::Http(client), peer, options.call_timeout));
    let limit = options.connect_timeout;
    let handshake = timeout(limit, initialize(&shared, &options)).await;
    let hello = match handshake.unwrap_or(Err(ConnectFailure::Timeout(limit))) {
        Ok(hello) => hello,
        Err(failure) => {
            // The server may have begun a session, which nobody will use.
            shared.wire().close().await;
            return Err(failure);
        }
    };
    shared.establish(None).map_err(ConnectFailure::Handshake)?;
    let tasks = Tasks(vec![tokio::spawn(listen(Arc::clone(&shared)))]);
    Ok(Upstream { shared, hello, process: None, _tasks: tasks })
}
