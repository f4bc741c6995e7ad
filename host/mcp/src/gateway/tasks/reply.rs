//! What a client is told of its tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_gates::Context;
use portcullis_model::json::{Object, Value};
use portcullis_model::{ResultKind, object};

use super::book::{Owner, Task};
use super::document::{Status, Told, rename};
use super::inputs::{answered, asked, note_answered};
use crate::downstream::{ClientSession, Outlet, Reply};
use crate::gateway::failure::failure;
use crate::gateway::reach::unavailable;
use crate::gateway::{Fleet, Gateway};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::TaskMethod;

/// What comes of a task is awaited so long by one request; whoever waits longer asks again. A client has few requests under
/// way at once, so this binds little.
const LONGEST_RESULT: Duration = Duration::from_hours(1);
/// So many tasks stand in one page of a list: each is asked of its server.
const PAGE: usize = 16;

fn invalid(text: &str) -> Reply {
    Reply::Error(ErrorObject::new(code::INVALID_PARAMS, text))
}

/// One request about one task.
struct Asking<'a> {
    fleet: Arc<Fleet>,
    session: &'a Arc<ClientSession>,
    task: Arc<Task>,
    context: Context,
    outlet: Option<&'a Outlet>,
}

impl Gateway {
    /// Answers a request about a task. What is not the client's own is as if it were not there.
    pub(crate) async fn task(
        &self,
        session: &Arc<ClientSession>,
        method: TaskMethod,
        params: &Object,
        outlet: Option<&Outlet>,
    ) -> Reply {
        let is_of_era = match method {
            TaskMethod::Get | TaskMethod::Cancel => true,
            TaskMethod::Update => session.is_stateless(),
            TaskMethod::Result | TaskMethod::List => !session.is_stateless(),
        };
        let is_offered = || {
            let forms = session.fleet.task_forms(&session.entrance);
            forms.into_iter().any(|form| form.is_extension() == session.is_stateless())
        };
        if !is_of_era || !is_offered() {
            return Reply::Error(ErrorObject::new(code::METHOD_NOT_FOUND, "this method is not offered"));
        }
        let owner = Owner::of(session);
        if method == TaskMethod::List {
            return self.list_tasks(session, &owner, params, outlet).await;
        }
        let Some(id) = params.get("taskId").and_then(Value::as_str) else {
            return invalid("`taskId` is missing");
        };
        let found = self.shared.tasks.find(&owner, id);
        let Some(asking) = found.and_then(|task| Asking::new(session, task, outlet)) else {
            return invalid("there is no task of this id");
        };
        asking.task.touch();
        match method {
            TaskMethod::Get => asking.get().await,
            TaskMethod::Update => asking.update(params).await,
            TaskMethod::Result => asking.result().await,
            TaskMethod::Cancel | TaskMethod::List => asking.cancel().await,
        }
    }

    /// Lists the client's tasks, a page at a time, each as its server tells of it now. One that its server does not know
    /// any more is left out.
    async fn list_tasks(
        &self,
        session: &Arc<ClientSession>,
        owner: &Owner,
        params: &Object,
        outlet: Option<&Outlet>,
    ) -> Reply {
        let after = match params.get("cursor") {
            None | Some(Value::Null) => 0,
            Some(cursor) => match cursor.as_str().and_then(|cursor| cursor.parse::<u64>().ok()) {
                Some(after) => after,
                None => return invalid("this cursor is not known"),
            },
        };
        let tasks: Vec<_> = self.shared.tasks.of(owner).into_iter().filter(|task| task.number > after).collect();
        let page = tasks.iter().take(PAGE);
        let next = page.clone().next_back().filter(|_| tasks.len() > PAGE).map(|task| task.number.to_string());
        let mut told: Vec<Value> = Vec::new();
        for asking in page.filter_map(|task| Asking::new(session, Arc::clone(task), outlet)) {
            if let Reply::Cleared(message) = asking.get().await
                && message.get().kind == ResultKind::Result
            {
                told.push(message.get().document.clone());
            }
        }
        let mut result = object! { "tasks" => told };
        if let Some(next) = next {
            result.insert("nextCursor", next);
        }
        Reply::Own(result.into())
    }
}

impl<'a> Asking<'a> {
    /// Prepares a request; nothing where the servers of the task are gone.
    fn new(session: &'a Arc<ClientSession>, task: Arc<Task>, outlet: Option<&'a Outlet>) -> Option<Self> {
        let fleet = task.fleet.upgrade()?;
        let context = fleet.context(session, &task.server, outlet);
        Some(Self { fleet, session, task, context, outlet })
    }

    /// Asks the server. What is no result is the reply, through the gate.
    async fn ask(&self, method: TaskMethod, mut params: Object, limit: Option<Duration>) -> Result<Value, Reply> {
        let (server, own_id) = (&self.task.server, &self.task.own_id);
        let begun = self.fleet.begin(server, self.session.number, self.outlet).await;
        let Some((connected, _running)) = begun else {
            return Err(unavailable(server, false));
        };
        params.insert("taskId", own_id.as_str());
        let answer = match limit {
            Some(limit) => connected.link.ask_for(method.as_str(), params.into(), limit).await,
            None => connected.link.ask(method.as_str(), params.into()).await,
        };
        match answer {
            Ok(Ok(mut document)) => {
                server.answers.fetch_add(1, Ordering::Relaxed);
                rename(&mut document, own_id, &self.task.id);
                Ok(document)
            }
            Ok(Err(error)) => Err(self.sanitize(Err(error)).await),
            Err(error) => Err(failure(server, &error, false)),
        }
    }

    async fn sanitize(&self, answer: Result<Value, ErrorObject>) -> Reply {
        let Self { fleet, task, context, .. } = self;
        fleet.sanitize(context, &task.server, &task.tool, false, answer).await
    }

    /// Tells how the task is doing.
    async fn get(&self) -> Reply {
        match self.ask(TaskMethod::Get, Object::new(), None).await {
            Ok(document) => self.tell(document).await,
            Err(reply) => reply,
        }
    }

    /// Passes on what a server tells of a task: what it asks through the request gate, all else through the result gate.
    async fn tell(&self, mut document: Value) -> Reply {
        let Some(told) = renamed(&document, &self.task) else {
            return invalid("the server answered with something that is no task");
        };
        self.task.note(&told);
        let requests = document.as_object_mut().and_then(|document| document.remove("inputRequests"));
        let mut shown = Object::new();
        if let (Some(Value::Object(requests)), Status::InputRequired) = (requests, told.status) {
            shown = asked(&self.fleet, self.session, &self.task, requests).await;
        }
        let is_extension = self.session.is_stateless();
        if let (Some(error), Some(document)) = (self.task.failed(), document.as_object_mut()) {
            document.insert("status", "failed");
            document.remove("result");
            if is_extension {
                document.insert("error", error);
            }
            shown = Object::new();
        } else if let (Some(document), true, true, Status::InputRequired) =
            (document.as_object_mut(), is_extension, shown.is_empty(), told.status)
        {
            // The client can do nothing now: its questions are being judged, or were answered a moment ago.
            document.insert("status", "working");
        }
        let reply = self.sanitize(Ok(document)).await;
        match reply {
            Reply::Cleared(message) if !shown.is_empty() && message.get().kind == ResultKind::Result => {
                let mut document = message.get().document.as_object().cloned().unwrap_or_default();
                document.insert("inputRequests", shown);
                Reply::Own(document.into())
            }
            other @ (Reply::Cleared(_) | Reply::Shared(_) | Reply::Own(_) | Reply::Error(_) | Reply::Dressed(..)) => {
                other
            }
        }
    }

    /// Passes answers of the client on.
    async fn update(&self, params: &Object) -> Reply {
        let Some(responses) = params.get("inputResponses").and_then(Value::as_object) else {
            return invalid("`inputResponses` is missing");
        };
        let answers = match answered(&self.task, responses) {
            Ok(answers) => answers,
            Err(error) => return Reply::Error(error),
        };
        match self.ask(TaskMethod::Update, object! { "inputResponses" => answers.clone() }, None).await {
            Ok(document) => {
                note_answered(&self.task, &answers);
                self.sanitize(Ok(document)).await
            }
            Err(reply) => reply,
        }
    }

    /// Waits for what comes of the task.
    async fn result(&self) -> Reply {
        match self.ask(TaskMethod::Result, Object::new(), Some(LONGEST_RESULT)).await {
            Ok(document) => {
                let Self { fleet, task, context, .. } = self;
                fleet.sanitize(context, &task.server, &task.tool, true, Ok(document)).await
            }
            Err(reply) => reply,
        }
    }

    async fn cancel(&self) -> Reply {
        match self.ask(TaskMethod::Cancel, Object::new(), None).await {
            Ok(document) => {
                if let Some(told) = renamed(&document, &self.task) {
                    self.task.note(&told);
                }
                self.sanitize(Ok(document)).await
            }
            Err(reply) => reply,
        }
    }
}

/// Reads what a server tells of this very task.
fn renamed(document: &Value, task: &Task) -> Option<Told> {
    Told::read(document).filter(|told| told.id == task.id)
}
