//! Requests about tasks (tasks extension of 2026-07-28).

use std::sync::Arc;

use portcullis_gates::NoApprover;
use portcullis_model::object;
use rmcp::model::TASKS_EXTENSION_ID;

use super::exchange::{Exchange, Present};
use super::{Ask, Begun, Dress, RequestMeta};
use crate::downstream::{ClientSession, Reply, own_code};
use crate::gateway::{Fleet, Gateway, TaskForm, declares_tasks};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::TaskMethod;

/// Begins a request about a task. The era has no rounds for these: nothing is asked of the client meanwhile.
pub(super) fn task(
    gateway: &Arc<Gateway>,
    fleet: Arc<Fleet>,
    ask: Ask,
    meta: &RequestMeta,
    method: TaskMethod,
) -> Begun {
    let is_of_era = matches!(method, TaskMethod::Get | TaskMethod::Update | TaskMethod::Cancel);
    if !is_of_era || !fleet.task_forms(&ask.caller.entrance).into_iter().any(TaskForm::is_extension) {
        return Begun::Now(Reply::Error(ErrorObject::new(code::METHOD_NOT_FOUND, "this method is not offered")));
    }
    if !declares_tasks(&meta.capabilities) {
        return Begun::Now(Reply::Error(undeclared()));
    }
    let gates = match ask.caller.session(gateway, &meta.client) {
        Ok(gates) => gates,
        Err(error) => return Begun::Now(Reply::Error(ErrorObject::new(own_code::TOO_MANY, error.to_string()))),
    };
    let present = Present { tell: ask.tell, token: None, level: None };
    let way = Arc::new(Exchange::new(object! {}.into(), present));
    let (entrance, capabilities) = (ask.caller.entrance, meta.capabilities.clone());
    let session = Arc::new(ClientSession::new(fleet, gates, entrance, Arc::new(NoApprover), way, capabilities));
    let (gateway, params) = (Arc::clone(gateway), ask.params);
    Begun::Later(Box::pin(async move {
        let reply = gateway.task(&session, method, &params, None).await;
        Dress::of_task().put_on(reply)
    }))
}

/// Says which capability a client must declare.
fn undeclared() -> ErrorObject {
    let required = object! { "extensions" => object! { TASKS_EXTENSION_ID => object! {} } };
    ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, "the client did not declare the tasks extension")
        .with_data(object! { "requiredCapabilities" => required }.into())
}
