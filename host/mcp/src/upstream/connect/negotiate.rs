//! Finding out which era a server speaks, and shaking hands in it (MCP 2026-07-28, versioning and transports).

use std::sync::Arc;
use std::time::Duration;

use portcullis_config::Protocol;
use portcullis_model::json::Value;
use portcullis_model::object;
use rmcp::model::ProtocolVersion;
use tokio::time::timeout;

use super::super::call::handshake;
use super::super::era::{self, Stateless};
use super::super::eras::Found;
use super::super::shared::Shared;
use super::super::{CallError, ConnectOptions, Hello};
use super::ConnectFailure;
use crate::jsonrpc::{ErrorObject, code};

/// An answer to `server/discover` is awaited so long before `initialize` is sent as well.
///
/// A server of the earlier era answers that it has no such method as soon as it runs, so this is waited out only for one
/// that ignores what it does not know. Servers that run on Python or Node take up to five seconds until they read at all;
/// one of the stateless era that takes longer is spoken to in the earlier era, which does no harm.
pub(super) const PROBE_LIMIT: Duration = Duration::from_secs(6);
/// … and no longer than this part of the time for the whole connection.
const PROBE_SHARE: u32 = 3;

/// Returns how long an answer to `server/discover` is awaited; nothing where it is not asked for.
pub(super) fn probe_limit(options: &ConnectOptions, found: Option<Found>) -> Option<Duration> {
    match (options.protocol, found) {
        (Protocol::Legacy, _) | (Protocol::Auto, Some(Found::Initialize | Found::Sse)) => None,
        // The time for the whole connection is the limit where the server is known or said to speak the era.
        (Protocol::Stateless, _) | (Protocol::Auto, Some(Found::Stateless)) => Some(options.connect_timeout),
        (Protocol::Auto, None) => Some(PROBE_LIMIT.min(options.connect_timeout / PROBE_SHARE)),
    }
}

/// What became of `server/discover`.
pub(super) enum Discovery {
    /// The server speaks the stateless era.
    Stateless(Hello, Stateless),
    /// It does not, or it cannot be told; with what it said.
    Other(CallError),
}

/// Asks for the stateless era. Fails where the server speaks it but refuses.
pub(super) async fn discover(shared: &Arc<Shared>, options: &ConnectOptions) -> Result<Discovery, ConnectFailure> {
    let era = Stateless::new(options);
    let mut answer = handshake(shared, "server/discover", None, Some(&era)).await;
    if matches!(&answer, Ok(Err(error)) if lists_what_was_asked(error)) {
        // A server that refuses the version it lists, such as one of several that are being exchanged for newer ones, is
        // asked once more: the specification has a client ask again with a version from that list.
        answer = handshake(shared, "server/discover", None, Some(&era)).await;
    }
    match answer {
        Ok(Ok(document)) if era::is_spoken(&document) => Ok(Discovery::Stateless(Hello::from_discovery(document), era)),
        Ok(Err(error)) if is_of_the_era(&error) => Err(ConnectFailure::Refused(error)),
        Ok(_) => Ok(Discovery::Other(CallError::Unattributed)),
        Err(error) => Ok(Discovery::Other(error)),
    }
}

/// Returns true for an error that only a server of the stateless era gives, unless it offers an earlier version besides.
fn is_of_the_era(error: &ErrorObject) -> bool {
    match error.code() {
        code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY => true,
        code::UNSUPPORTED_PROTOCOL_VERSION => !supported(error).any(has_initialize),
        _ => false,
    }
}

/// Returns true where the server refused the version that it says it speaks.
fn lists_what_was_asked(error: &ErrorObject) -> bool {
    let asked = ProtocolVersion::V_2026_07_28;
    error.code() == code::UNSUPPORTED_PROTOCOL_VERSION && supported(error).any(|version| version == asked.as_str())
}

/// Returns the versions that the server says it speaks.
fn supported(error: &ErrorObject) -> impl Iterator<Item = &str> {
    let versions = error.data().and_then(|data| data.get("supported")).and_then(Value::as_array);
    versions.unwrap_or_default().iter().filter_map(Value::as_str)
}

fn has_initialize(version: &str) -> bool {
    ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.has_initialize() && known.as_str() == version)
}

/// Shakes hands by `initialize`.
pub(super) async fn initialize(shared: &Arc<Shared>, options: &ConnectOptions) -> Result<Hello, ConnectFailure> {
    let params = Value::from(object! {
        "protocolVersion" => options.protocol_version.as_str(),
        "capabilities" => options.capabilities.clone(),
        "clientInfo" => options.client_info.clone(),
    });
    let outcome = handshake(shared, "initialize", Some(&params), None).await.map_err(ConnectFailure::Handshake)?;
    let result = outcome.map_err(ConnectFailure::Refused)?;
    let hello = Hello::from_result(result).map_err(ConnectFailure::Version)?;
    shared.wire().set_version(&hello.protocol_version);
    shared.notify("notifications/initialized", None).await.map_err(ConnectFailure::Handshake)?;
    Ok(hello)
}

/// What became of the handshake on two pipes.
pub(super) enum Handshake {
    /// It is done.
    Done(Hello, Option<Stateless>),
    /// The server did not live through `server/discover`.
    Died(CallError),
}

/// Shakes hands on two pipes. `found` is what is known of the server.
pub(super) async fn on_pipes(
    shared: &Arc<Shared>,
    options: &ConnectOptions,
    found: Option<Found>,
) -> Result<Handshake, ConnectFailure> {
    let Some(limit) = probe_limit(options, found) else {
        return initialize(shared, options).await.map(|hello| Handshake::Done(hello, None));
    };
    let mut discovering = std::pin::pin!(discover(shared, options));
    match timeout(limit, &mut discovering).await {
        Ok(discovered) => match discovered? {
            Discovery::Stateless(hello, era) => Ok(Handshake::Done(hello, Some(era))),
            Discovery::Other(error @ CallError::Closed(_)) => Ok(Handshake::Died(error)),
            Discovery::Other(_) => initialize(shared, options).await.map(|hello| Handshake::Done(hello, None)),
        },
        Err(_) => match initialize(shared, options).await {
            Ok(hello) => Ok(Handshake::Done(hello, None)),
            // It may only have been slow to start; then its answer to the first question is on the way.
            Err(refused @ ConnectFailure::Refused(_)) => match discovering.await? {
                Discovery::Stateless(hello, era) => Ok(Handshake::Done(hello, Some(era))),
                Discovery::Other(_) => Err(refused),
            },
            Err(failure) => Err(failure),
        },
    }
}
