//! A call that became a task.

use std::sync::Arc;

use portcullis_gates::Context;
use portcullis_model::CallKind;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use super::document::{created, rename};
use super::{TaskForm, declares_tasks};
use crate::downstream::{ClientSession, Reply, own_code};
use crate::gateway::route::Route;
use crate::gateway::server::Connected;
use crate::gateway::{Answer, Fleet, Link};
use crate::jsonrpc::ErrorObject;
use crate::method::{TaskMethod, Verb};

impl Fleet {
    /// Returns what is done with a tool that a client calls: whether it may become a task.
    ///
    /// Tasks of the one era are not bridged to the other: they have neither the methods nor the life in common. A tool that
    /// runs as a task only is waited for instead.
    pub(in crate::gateway) fn task_verb(&self, session: &ClientSession, route: &Route, params: &Object) -> Verb {
        if route.kind != CallKind::Tool || route.utility.is_some() {
            return Verb::Plain;
        }
        let form = self.shared.task_form(&route.server);
        let is_augmented = form.is_some_and(|form| !form.is_extension());
        match (session.is_stateless(), is_augmented) {
            (true, true) if route.only_as_task => Verb::ThroughTask,
            (true, _) if declares_tasks(&session.capabilities) => Verb::MayBecomeTask,
            (false, true) if params.get("task").is_some_and(|task| task.as_object().is_some()) => Verb::AsTask,
            (true | false, _) => Verb::Plain,
        }
    }

    /// Passes an answer on that may be a task: the client gets an id of the gateway's own, by which it alone reaches it.
    pub(in crate::gateway) async fn begin_task(
        self: &Arc<Self>,
        session: &ClientSession,
        context: &Context,
        route: &Route,
        connected: &Connected,
        answer: Answer,
    ) -> Reply {
        let form = connected.link.greeting().tasks().filter(|form| form.is_extension() == session.is_stateless());
        let told = answer.as_ref().ok().and_then(|result| created(form?, result));
        let (mut result, told) = match (answer, told) {
            (Ok(result), Some(told)) => (result, told),
            (answer, _) => return self.sanitize(context, &route.server, &route.name, true, answer).await,
        };
        let cancel = || cancel(Arc::clone(&connected.link), &told.id, form);
        let book = &self.shared.tasks;
        let task = match book.add(session, Arc::downgrade(self), &route.server, &route.name, &told) {
            Ok(task) => task,
            Err(error) => {
                cancel();
                return Reply::Error(ErrorObject::new(own_code::TOO_MANY, error.to_string()));
            }
        };
        rename(&mut result, &told.id, &task.id);
        let reply = self.sanitize(context, &route.server, &route.name, true, Ok(result)).await;
        if !matches!(reply, Reply::Cleared(_)) {
            // The client never learns of it.
            book.forget(&task);
            cancel();
        }
        reply
    }
}

/// Has a server cancel a task that nobody follows. It may refuse: then its result is never asked for.
pub(super) fn cancel(link: Arc<dyn Link>, own_id: &str, form: Option<TaskForm>) {
    if form == Some(TaskForm::Augmented { cancel: false }) {
        return;
    }
    let params: Value = object! { "taskId" => own_id }.into();
    tokio::spawn(async move {
        if let Err(error) = link.ask(TaskMethod::Cancel.as_str(), params).await {
            tracing::debug!(%error, "a task was not cancelled");
        }
    });
}
