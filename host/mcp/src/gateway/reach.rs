//! From a server to its connection, waiting for one that is on its way.

use std::sync::Arc;
use std::time::Duration;

use super::Fleet;
use super::callers::CallGuard;
use super::server::{Connected, Server};
use crate::approver::shown;
use crate::downstream::{Entrance, Outlet, Reply, own_code};
use crate::status::Phase;

/// A call waits so long for a server that is being connected; the reference client does the same.
const CONNECTING: Duration = Duration::from_secs(5);
/// A connection that just ended is noted by its keeper within this time.
const NOTICE: Duration = Duration::from_millis(250);
/// A call that may be sent again waits so long for a new connection; the reference client does the same.
const REPLACED: Duration = Duration::from_secs(15);

/// What is known of a connection before a call is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Its number; nothing where the server sleeps and is started once the call is cleared.
    pub(crate) number: Option<u64>,
}

impl Fleet {
    /// Returns which connection a call would take. A server that sleeps is not started for a call that may be refused.
    pub(crate) async fn reach_or_know(&self, server: &Server) -> Option<Reached> {
        if server.sleeps().is_some() && server.connected().is_none() {
            return Some(Reached { number: None });
        }
        self.reach(server).await.map(|connected| Reached { number: Some(connected.number) })
    }

    /// Returns the connection of a server. Waits a while for one that is being made, and asks for one where the server
    /// sleeps or is not tried by itself for some time: nothing was sent yet, so waiting costs nothing but time.
    pub(crate) async fn reach(&self, server: &Server) -> Option<Arc<Connected>> {
        let connected = server.connected();
        if connected.is_some() {
            return connected;
        }
        let sleeps = server.sleeps();
        let limit = match server.phase() {
            Phase::Ready | Phase::Degraded => NOTICE,
            Phase::Connecting => sleeps.unwrap_or(CONNECTING),
            Phase::Configured => {
                server.wishes.add(|wanted| wanted.wake = true);
                sleeps.unwrap_or(CONNECTING)
            }
            Phase::CoolingDown | Phase::Parked => {
                server.wishes.add(|wanted| wanted.wake = true);
                return server.connected();
            }
            Phase::Denied | Phase::Disabled => return server.connected(),
        };
        let is_awaited = |phase: Phase| matches!(phase, Phase::Configured | Phase::Connecting) || phase.is_up();
        let ended = |server: &Server| server.connected().is_some() || !is_awaited(server.phase());
        let _ = tokio::time::timeout(limit, self.wait_until(server, ended)).await;
        server.connected()
    }

    /// Waits until something is true of a server. What changes with its phase or connection is seen.
    async fn wait_until(&self, server: &Server, ended: impl Fn(&Server) -> bool) {
        loop {
            let progressed = self.progressed.notified();
            if ended(server) {
                return;
            }
            progressed.await;
        }
    }

    /// Reaches a server and counts a call as running on the connection: from here on it is not put to sleep.
    pub(crate) async fn begin(
        &self,
        server: &Server,
        session: u64,
        outlet: Option<&Outlet>,
    ) -> Option<(Arc<Connected>, CallGuard)> {
        loop {
            let connected = self.reach(server).await?;
            let guard = server.callers.note(session, outlet);
            // It may have been put to sleep between the two.
            if server.connected().is_some_and(|now| now.number == connected.number) {
                return Some((connected, guard));
            }
        }
    }

    /// Waits for another connection than the one of that number. Returns false where that one goes on, or none came.
    pub(crate) async fn is_replaced(&self, server: &Server, number: u64) -> bool {
        let is_other = |server: &Server| server.connected().is_some_and(|connected| connected.number != number);
        let is_gone = |server: &Server| server.connected().is_none() || is_other(server);
        if tokio::time::timeout(NOTICE, self.wait_until(server, is_gone)).await.is_err() {
            return false;
        }
        let is_lost = |phase: Phase| matches!(phase, Phase::Parked | Phase::Denied | Phase::Disabled);
        let ended = |server: &Server| is_other(server) || is_lost(server.phase());
        let _ = tokio::time::timeout(REPLACED, self.wait_until(server, ended)).await;
        is_other(server)
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
    let name = shown(server.name().as_str(), 64);
    let help = if code == "no-login" {
        format!(" The user can log in with `portcullis login {name}`.")
    } else {
        String::new()
    };
    let text = format!(
        "The MCP server `{name}` is not available (state: {}, code: {code}) and nothing was sent to it.{next}{help} Do not \
         retry at once; tell the user if you need it.",
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

/// Returns the reply to a call whose definition is not the one that was judged: nothing was sent.
pub(crate) fn changed(server: &Server, as_tool: bool) -> Reply {
    let text = format!(
        "The MCP server `{}` was started again and does not offer this as it did before, so nothing was sent to it. List \
         again before calling.",
        shown(server.name().as_str(), 64),
    );
    Reply::failed(&text, own_code::REFUSED, "definition-changed", as_tool)
}
