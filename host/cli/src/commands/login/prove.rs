//! Trying new tokens: the server is connected and listed as a gateway does it, gates and all.

use std::time::Duration;

use portcullis_mcp::status::ServerStatus;
use portcullis_model::json::Object;

use super::Target;
use crate::arguments::Format;
use crate::gateway::Composition;
use crate::report;

/// Besides the server's own limit, so long its lists may take to be read and scanned.
const GRACE: Duration = Duration::from_mins(2);

/// Connects the server with what stands in the gateway's folder of tokens, and returns what became of it.
pub(super) async fn prove(composition: &Composition, target: &Target, format: Format) -> Option<ServerStatus> {
    report::progress("trying the new tokens", format);
    let gateway = composition.gateway();
    gateway.start(&Object::new().into());
    let limit = target.server.options.connect_timeout + GRACE;
    let _late = tokio::time::timeout(limit, gateway.settled()).await;
    let status = gateway.status();
    status.servers.into_iter().find(|status| status.server == *target.server.name())
}
