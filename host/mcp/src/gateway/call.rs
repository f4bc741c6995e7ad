//! A call: from its published name through the call gate to a server, and back through the result gate.

use std::sync::Arc;

use portcullis_gates::{Call, Context, ServerMessage};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, ResultKind};

use super::breaker::Held;
use super::deliver::Delivery;
use super::reach::{held_back, unavailable};
use super::route::Route;
use super::server::Server;
use super::{Answer, Fleet, eras};
use crate::downstream::{ClientSession, Outlet, Reply, own_code};
use crate::jsonrpc::ErrorObject;
use crate::method::Verb;

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
        let verb = if verb == Verb::Plain { self.task_verb(&session, &route, &params) } else { verb };
        let reply = self.pass(&session, &route, verb, params.into(), token, outlet.as_ref()).await;
        let is_done = matches!(&reply, Reply::Cleared(message) if message.get().kind == ResultKind::Result);
        match verb {
            Verb::Plain | Verb::MayBecomeTask | Verb::AsTask | Verb::ThroughTask => reply,
            Verb::Unsubscribe => {
                session.unsubscribe(&route.name);
                reply
            }
            Verb::Subscribe if is_done && session.subscribe(&route.name) => reply,
            // What it had before it has still.
            Verb::Subscribe if session.is_subscribed(&route.name) => reply,
            Verb::Subscribe => {
                self.release_subscription(&route.server, &route.name, session.number).await;
                if is_done {
                    let text = "too many resources are subscribed to";
                    return Reply::Error(ErrorObject::new(own_code::TOO_MANY, text));
                }
                reply
            }
        }
    }

    /// Passes a call through its gates and the server between them. `params` are in the server's own names.
    pub(crate) async fn pass(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
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
        let Some(reached) = self.reach_or_know(server).await else {
            return unavailable(server, as_tool);
        };
        let context = self.context(session, server, outlet);
        let call = Call {
            server: server.name().clone(),
            kind: route.kind,
            name: route.name.clone(),
            utility: route.utility.is_some(),
            annotations: route.annotations.clone(),
            pin: self.shared.pins.state(server.name(), route.kind, &route.name),
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
        let delivery = Delivery { fleet: self, session, route, call: &cleared, verb, token, outlet, as_tool };
        let delivered = delivery.deliver(reached.number).await;
        // It may be large, and nobody needs it while the answer is judged.
        drop(cleared);
        match delivered {
            Ok((answer, connected)) => {
                let answer = eras::fit(answer, route.kind, session.gates.era, connected.link.greeting());
                if matches!(verb, Verb::MayBecomeTask | Verb::AsTask) {
                    return self.begin_task(session, &context, route, &connected, answer).await;
                }
                self.sanitize(&context, server, &route.name, as_tool, answer).await
            }
            Err(reply) => reply,
        }
    }

    /// Passes an answer, small enough and with nothing twice, through the result gate.
    pub(super) async fn sanitize(
        &self,
        context: &Context,
        server: &Server,
        name: &str,
        as_tool: bool,
        answer: Answer,
    ) -> Reply {
        let (kind, document) = match self.shape(server, name, answer).await {
            Ok(result) => (ResultKind::Result, result),
            Err(error) => (ResultKind::Error, error.into_value()),
        };
        let message = ServerMessage { server: server.name().clone(), kind, name: name.to_owned(), document };
        match self.gates().result(context, message).await {
            Ok(cleared) => Reply::Cleared(cleared),
            Err(refusal) => {
                tracing::info!(
                    server = %server.name(), code = refusal.code.as_str(), detail = refusal.detail,
                    "a result was refused"
                );
                Reply::refused(&refusal, as_tool)
            }
        }
    }
}
