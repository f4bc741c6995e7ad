//! A call: from its published name through the call gate to a server, and back through the result gate.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_gates::{Call, Cleared, Context, ServerMessage};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, PinState, ResultKind};
use rmcp::model::{ConstString as _, ProgressNotificationMethod};
use tokio::sync::mpsc;

use super::breaker::{Admitted, Held, Strike};
use super::pages::{self, MOST_TIMES, Pages};
use super::reach::{held_back, unavailable};
use super::route::Route;
use super::server::{Connected, Server};
use super::turns::TooManyWait;
use super::{Answer, Fleet, LinkError, eras};
use crate::downstream::{ClientSession, Outlet, Reply, own_code};
use crate::jsonrpc::ErrorObject;
use crate::method::Verb;

/// So many progress notifications of one call wait to be judged; further ones are dropped by the link, as newer ones
/// follow.
const MOST_PROGRESS: usize = 16;

/// A call whose session was lost waits so long for a new one; the reference client does the same.
const LONGEST_RECONNECT: Duration = Duration::from_secs(15);

/// What a client asks of a server.
#[derive(Debug)]
pub(crate) struct ClientCall {
    /// What is called.
    pub(crate) kind: CallKind,
    /// What is done with it.
    pub(crate) verb: Verb,
    /// The parameters, in published names.
    pub(crate) params: Object,
    /// Where goes what precedes the answer, where that is another way than the session's.
    pub(crate) outlet: Option<Outlet>,
}

impl Fleet {
    /// Answers a call of a client.
    pub(crate) async fn call(self: &Arc<Self>, session: Arc<ClientSession>, call: ClientCall) -> Reply {
        let ClientCall { kind, verb, mut params, outlet } = call;
        let is_status = |name: &str| kind == CallKind::Tool && self.snapshot().is_status_tool(name);
        if params.get("name").and_then(Value::as_str).is_some_and(is_status) {
            return self.tell_status();
        }
        let mut route = self.route(&session.entrance, kind, &mut params);
        if route.is_err() && !self.is_settled() {
            // A client may know its tools from an earlier session and call one before its server is there.
            self.wait_for_servers().await;
            route = self.route(&session.entrance, kind, &mut params);
        }
        let route = match route {
            Ok(route) => route,
            Err(error) => {
                let name = params.get("name").and_then(Value::as_str).filter(|_| kind == CallKind::Tool);
                let withdrawn =
                    if let Some(name) = name { self.call_withdrawn(&session.entrance, name).await } else { None };
                return withdrawn.unwrap_or(Reply::Error(error));
            }
        };
        if let Some(utility) = route.utility {
            return self.use_utility(&session, route, utility, params, outlet.as_ref()).await;
        }
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        let reply = self.pass(&session, &route, verb, params.into(), token, outlet.as_ref()).await;
        if let Reply::Cleared(message) = &reply
            && message.get().kind == ResultKind::Result
        {
            match verb {
                Verb::Subscribe if !session.subscribe(&route.name) => {
                    return Reply::Error(ErrorObject::new(own_code::TOO_MANY, "too many resources are subscribed to"));
                }
                Verb::Unsubscribe => session.unsubscribe(&route.name),
                Verb::Plain | Verb::Subscribe => {}
            }
        }
        reply
    }

    /// Passes a call through its gates and the server between them. `params` are in the server's own names.
    pub(crate) async fn pass(
        &self,
        session: &ClientSession,
        route: &Route,
        verb: Verb,
        params: Value,
        token: Option<Value>,
        outlet: Option<&Outlet>,
    ) -> Reply {
        let server = &route.server;
        let as_tool = route.kind == CallKind::Tool || route.utility.is_some();
        // Asked before the gate as well: nobody should have to approve what cannot be sent.
        if let Some(Held(left)) = server.breaker.held() {
            return held_back(server, left, as_tool);
        }
        if self.reach(server).await.is_none() {
            return unavailable(server, as_tool);
        }
        let context = self.context(session, server, outlet);
        let call = Call {
            server: server.name().clone(),
            kind: route.kind,
            name: route.name.clone(),
            utility: route.utility.is_some(),
            annotations: route.annotations.clone(),
            pin: PinState::Unpinned,
            definition: route.definition,
            params,
        };
        let cleared = match self.gates().call(&context, call).await {
            Ok(cleared) => cleared,
            Err(refusal) => {
                tracing::info!(
                    server = %server.name(), code = refusal.code.as_str(), detail = refusal.detail, "a call was refused"
                );
                return Reply::refused(&refusal, as_tool);
            }
        };
        // The time limit of a call starts when it is sent.
        let _turn = match server.turns.take(server.options().supports_parallel_tool_calls == Some(false)).await {
            Ok(turn) => turn,
            Err(TooManyWait { most }) => return failure(server, &LinkError::Busy { most }, as_tool),
        };
        let Some(connected) = self.reach(server).await else {
            return unavailable(server, as_tool);
        };
        let admitted = match server.breaker.admit() {
            Ok(admitted) => admitted,
            Err(Held(left)) => return held_back(server, left, as_tool),
        };
        let guard = server.note_call(session.number, outlet);
        server.usage.note_sent(route.kind, &route.name, &cleared.get().params);
        let mut outcome =
            send(self, session, &context, server, &connected, &cleared, verb, token.clone(), outlet).await;
        if outcome == Err(LinkError::Expired)
            && let Some(connected) = self.reach_anew(server, connected.number, LONGEST_RECONNECT).await
        {
            // Nothing was done the first time, so this is no second call: what was cleared is sent as it was cleared.
            outcome = send(self, session, &context, server, &connected, &cleared, verb, token.clone(), outlet).await;
        }
        let mut pages = Pages::Stand;
        for _ in 0..MOST_TIMES {
            pages = self.open_pages(session, server, &outcome).await;
            if !matches!(pages, Pages::Opened) {
                break;
            }
            let token = token.clone();
            outcome = send(self, session, &context, server, &connected, &cleared, verb, token, outlet).await;
        }
        drop(guard);
        server.usage.note_outcome(&outcome);
        note_outcome(server, admitted, connected.number, &outcome);
        match outcome {
            Ok(_) if matches!(pages, Pages::Declined) => pages::declined(server, as_tool),
            Ok(answer) => {
                server.answers.fetch_add(1, Ordering::Relaxed);
                let answer = eras::fit(answer, session.gates.era, connected.link.greeting());
                self.sanitize(&context, route, answer).await
            }
            Err(error) => failure(server, &error, as_tool),
        }
    }

    /// Passes an answer through the result gate.
    async fn sanitize(&self, context: &Context, route: &Route, answer: Answer) -> Reply {
        let (kind, document) = match answer {
            Ok(result) => (ResultKind::Result, result),
            Err(error) => (ResultKind::Error, error.into_value()),
        };
        let server = route.server.name().clone();
        let message = ServerMessage { server, kind, name: route.name.clone(), document };
        match self.gates().result(context, message).await {
            Ok(cleared) => Reply::Cleared(cleared),
            Err(refusal) => {
                tracing::info!(
                    server = %route.server.name(), code = refusal.code.as_str(), detail = refusal.detail,
                    "a result was refused"
                );
                Reply::refused(&refusal, route.kind == CallKind::Tool || route.utility.is_some())
            }
        }
    }
}

/// Sends a call and waits for its answer, passing its progress on meanwhile.
#[expect(clippy::too_many_arguments, reason = "a call has so many sides; a struct of them would be used once")]
async fn send(
    fleet: &Fleet,
    session: &ClientSession,
    context: &Context,
    server: &Server,
    connected: &Connected,
    call: &Cleared<Call>,
    verb: Verb,
    token: Option<Value>,
    outlet: Option<&Outlet>,
) -> Result<Answer, LinkError> {
    let Some(token) = token else {
        return connected.link.call(call, verb, None).await;
    };
    let (sender, mut receiver) = mpsc::channel(MOST_PROGRESS);
    let calling = connected.link.call(call, verb, Some(sender));
    tokio::pin!(calling);
    let tell = async |mut params: Value| {
        if let Some(params) = params.as_object_mut() {
            params.insert("progressToken", token.clone());
        }
        let message = ServerMessage {
            server: server.name().clone(),
            kind: ResultKind::Progress,
            name: call.get().name.clone(),
            document: params,
        };
        match fleet.gates().result(context, message).await {
            Ok(cleared) => {
                session.link.notify(outlet, ProgressNotificationMethod::VALUE, Some(&cleared.get().document));
            }
            Err(refusal) => tracing::debug!(code = refusal.code.as_str(), "progress of a call was refused"),
        }
    };
    loop {
        tokio::select! {
            // Progress first: none may follow the answer.
            biased;
            Some(params) = receiver.recv() => tell(params).await,
            outcome = &mut calling => {
                while let Ok(params) = receiver.try_recv() {
                    tell(params).await;
                }
                return outcome;
            }
        }
    }
}

/// Tells the breaker how a call went. What the server itself answers, an error or not, is an answer.
fn note_outcome(server: &Server, admitted: Admitted<'_>, number: u64, outcome: &Result<Answer, LinkError>) {
    match outcome {
        Ok(_) => {
            if admitted.answered() {
                tracing::info!(server = %server.name(), "a call was answered: calls are let through again");
                server.set_held_back(false);
            }
        }
        // Nothing was asked of the server, it only forgot who asks, or it was not given what it asked for.
        Err(LinkError::Busy { .. } | LinkError::Expired | LinkError::NotAnswered { .. }) => {}
        Err(error) => {
            let lost = matches!(error, LinkError::Gone { .. });
            if admitted.failed(if lost { Strike::Lost(number) } else { Strike::NoAnswer }) {
                tracing::warn!(server = %server.name(), %error, "calls failed in a row and are held back for a while");
                server.set_held_back(true);
            }
        }
    }
}

fn failure(server: &Server, error: &LinkError, as_tool: bool) -> Reply {
    tracing::warn!(server = %server.name(), error = %error, "a call got no answer");
    let name = crate::approver::shown(server.name().as_str(), 64);
    let (text, number, code) = match error {
        LinkError::TimedOut { limit } => (
            format!(
                "The MCP server `{name}` did not answer within {} s. It may still have done what was asked: check before \
                 trying again.",
                limit.as_secs()
            ),
            own_code::TIMED_OUT,
            "timed-out",
        ),
        LinkError::Busy { most } => (
            format!(
                "{most} requests are waiting for the MCP server `{name}` already, so this one was not sent. Nothing was \
                 done. Do not retry at once."
            ),
            own_code::TOO_MANY,
            "server-busy",
        ),
        LinkError::Gone { sent: false, .. } | LinkError::Expired => (
            format!("The MCP server `{name}` ended before the call reached it. Nothing was done."),
            own_code::SERVER_UNAVAILABLE,
            "server-gone",
        ),
        LinkError::Gone { .. } => (
            format!(
                "The MCP server `{name}` ended during the call. It may have done what was asked: check before trying \
                 again."
            ),
            own_code::SERVER_UNAVAILABLE,
            "server-gone",
        ),
        LinkError::NotAnswered { detail } => (
            format!("The MCP server `{name}` did not finish the call: {detail}."),
            own_code::REFUSED,
            "input-not-given",
        ),
        LinkError::Malformed { detail } => (
            format!("The MCP server `{name}` gave an answer that cannot be used, so it was dropped: {detail}."),
            own_code::MALFORMED,
            "malformed-answer",
        ),
    };
    Reply::failed(&text, number, code, as_tool)
}
