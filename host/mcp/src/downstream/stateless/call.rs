//! Calls, with as many rounds as it takes.

use std::sync::Arc;

use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, ResultKind, object};

use super::exchange::{Carrier, Exchange, Present};
use super::{Ask, Begun, Dress, RequestMeta, invalid, seal};
use crate::downstream::{ClientSession, Reply, own_code};
use crate::gateway::{Boxed, ClientCall, Fleet, Gateway};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::Verb;

/// Begins a call, or a further round of one.
pub(super) fn call(gateway: &Gateway, fleet: Arc<Fleet>, mut ask: Ask, meta: &RequestMeta, kind: CallKind) -> Begun {
    let token = ask.params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
    let present = Present { tell: ask.tell, token, level: meta.level };
    let (responses, state) = (ask.params.remove("inputResponses"), ask.params.remove("requestState"));
    let parked = Arc::clone(&ask.caller.parked);
    let owner = ask.caller.owner();
    // Completions have no rounds: what cannot be asked during one is refused to the server.
    let capabilities = if kind == CallKind::Completion { Object::new().into() } else { meta.capabilities.clone() };
    let may_be_asked = capabilities.as_object().is_some_and(|capabilities| !capabilities.is_empty());
    match state {
        Some(Value::String(state)) if kind != CallKind::Completion => {
            let binding = seal::binding(&owner, &ask.method, &ask.params);
            let responses = responses.unwrap_or_else(|| Object::new().into());
            return match parked.resume(&state, binding, &responses, present) {
                Ok(work) => Begun::Later(work),
                Err(error) => Begun::Now(Reply::Error(error)),
            };
        }
        None | Some(Value::Null) => {}
        Some(_) => return Begun::Now(invalid("the request state is none of this request")),
    }
    let session = match ask.caller.session(gateway, &meta.client) {
        Ok(session) => session,
        Err(error) => return Begun::Now(Reply::Error(ErrorObject::new(own_code::TOO_MANY, error.to_string()))),
    };
    // Without a state these are answers to what the client expects to be asked, under keys that only the server gives.
    let early = responses.and_then(|responses| responses.as_object().cloned()).filter(|_| may_be_asked);
    let exchange = Arc::new(Exchange::with_answers(capabilities, present, early.unwrap_or_default()));
    let entrance = ask.caller.entrance.clone();
    let open = Open(fleet.open_exchange(session, entrance, meta, Arc::<Exchange>::clone(&exchange)));
    // Kept only for what a state would be bound to: most clients that cannot be asked send large arguments as well.
    let bound = may_be_asked.then(|| ask.params.clone());
    let call = ClientCall { kind, verb: Verb::Plain, params: ask.params, outlet: None };
    let work: Boxed<'static, Reply> = Box::pin({
        let exchange = Arc::clone(&exchange);
        async move {
            let reply = fleet.call(Arc::clone(&open.0), call).await;
            drop(open);
            Dress::of_call(kind).put_on(unless_undeclared(reply, &exchange))
        }
    });
    let Some(params) = bound else {
        return Begun::Later(work);
    };
    let (principal, method) = (ask.caller.entrance.principal, ask.method);
    Begun::Later(Box::pin(async move {
        let binding = || seal::binding(&owner, &method, &params);
        parked.first(Carrier(exchange), principal, binding, work).await
    }))
}

/// Returns the reply, unless it is a failure after a server wanted what the client did not declare: then that is why.
fn unless_undeclared(reply: Reply, exchange: &Exchange) -> Reply {
    let is_error = |result: &Value| result.get("isError").and_then(Value::as_bool) == Some(true);
    let failed = match &reply {
        Reply::Error(_) => true,
        Reply::Cleared(message) => message.get().kind == ResultKind::Error || is_error(&message.get().document),
        Reply::Own(result) => is_error(result),
        Reply::Shared(_) | Reply::Dressed(..) => false,
    };
    match exchange.undeclared() {
        Some(required) if failed => {
            let text = "the server needs something of the client that the client did not declare";
            let error = ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, text);
            Reply::Error(error.with_data(object! { "requiredCapabilities" => required }.into()))
        }
        _ => reply,
    }
}

/// What one call is to servers; ends when it is dropped.
struct Open(Arc<ClientSession>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fleet.close_exchange(&self.0);
    }
}
