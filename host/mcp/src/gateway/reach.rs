//! From a server to its connection, waiting for one that is on its way.

use std::sync::Arc;
use std::time::Duration;

use super::Fleet;
use super::server::{Connected, Server};
use crate::approver::shown;
use crate::downstream::{Entrance, Reply, own_code};
use crate::status::Phase;

/// A call waits so long for a server that is being connected; the reference client does the same.
const CONNECTING: Duration = Duration::from_secs(5);
/// A connection that just ended is noted by its keeper within this time.
const NOTICE: Duration = Duration::from_millis(250);

impl Fleet {
    /// Returns the connection of a server. Waits a while for one that is being made, and asks for one where the server is
    /// not tried by itself for some time: nothing was sent yet, so waiting costs nothing but time.
    pub(crate) async fn reach(&self, server: &Server) -> Option<Arc<Connected>> {
        let limit = match server.phase() {
            Phase::Ready | Phase::Degraded => NOTICE,
            Phase::Configured | Phase::Connecting => CONNECTING,
            Phase::CoolingDown | Phase::Parked => {
                server.wishes.add(|wanted| wanted.wake = true);
                return server.connected();
            }
            Phase::Denied | Phase::Disabled => return server.connected(),
        };
        let is_awaited = |phase: Phase| matches!(phase, Phase::Configured | Phase::Connecting) || phase.is_up();
        let waiting = async {
            loop {
                let progressed = self.progressed.notified();
                let connected = server.connected();
                if connected.is_some() || !is_awaited(server.phase()) {
                    return connected;
                }
                progressed.await;
            }
        };
        tokio::time::timeout(limit, waiting).await.unwrap_or_default()
    }

    /// Waits up to `limit` for another connection than the one of that number.
    pub(crate) async fn reach_anew(&self, server: &Server, number: u64, limit: Duration) -> Option<Arc<Connected>> {
        let waiting = async {
            loop {
                let progressed = self.progressed.notified();
                if let Some(connected) = server.connected().filter(|connected| connected.number != number) {
                    return connected;
                }
                progressed.await;
            }
        };
        tokio::time::timeout(limit, waiting).await.ok()
    }

    /// Answers a call of a tool whose server is parked: it is not published any more, but the client may know it still.
    pub(crate) async fn call_withdrawn(&self, entrance: &Entrance, name: &str) -> Option<Reply> {
        let members = self.members();
        let server = members.iter().find(|server| entrance.admits(server.name()) && server.has_withdrawn(name))?;
        self.reach(server).await;
        Some(unavailable(server, true))
    }
}

/// Returns the reply to a call that found no connection: nothing was sent.
pub(crate) fn unavailable(server: &Server, as_tool: bool) -> Reply {
    let status = server.status();
    let code = status.reason_code.as_deref().unwrap_or(status.phase.as_str());
    let next = match status.retry_in.map(|left| left.as_secs_f64().ceil()) {
        Some(seconds) if seconds > 0.0 => format!(" It is tried again in about {seconds} s."),
        Some(_) | None => String::new(),
    };
    let text = format!(
        "The MCP server `{}` is not available (state: {}, code: {code}) and nothing was sent to it.{next} Do not retry at \
         once; tell the user if you need it.",
        shown(server.name().as_str(), 64),
        status.phase.as_str(),
    );
    Reply::failed(&text, own_code::SERVER_UNAVAILABLE, "server-unavailable", as_tool)
}

/// Returns the reply to a call that is held back: nothing was sent.
pub(crate) fn held_back(server: &Server, left: Duration, as_tool: bool) -> Reply {
    let text = format!(
        "Calls to the MCP server `{}` went unanswered several times in a row, so they are held back for {} more s and \
         nothing was sent to it. Do not retry at once; tell the user if you need it.",
        shown(server.name().as_str(), 64),
        left.as_secs_f64().ceil(),
    );
    Reply::failed(&text, own_code::SERVER_UNAVAILABLE, "calls-held-back", as_tool)
}
