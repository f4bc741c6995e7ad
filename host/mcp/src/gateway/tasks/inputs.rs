//! What a task asks of the client (tasks extension of 2026-07-28): every question passes the request gate once, however
//! often the task is asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portcullis_gates::ServerRequest;
use portcullis_model::json::{Object, Value};
use portcullis_model::{Digest, object};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::begin::cancel;
use super::book::Task;
use crate::downstream::{ClientSession, check_answer, own_code};
use crate::gateway::{Fleet, TaskForm, ask};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::{ServerMethod, TaskMethod};

/// So many questions one task asks at once; so many are asked during one call as well.
pub(super) const MOST_INPUTS: usize = 16;
/// So many questions one task asks in its life.
const MOST_IN_LIFE: usize = 64;
/// A question may be so long: a form for a person has a few hundred bytes, and they are kept for as long as the task.
const LONGEST_INPUT: usize = 16 * 1024;
/// So long an answer to `tasks/get` waits for the gate. A question that an approver decides comes with a later answer.
const JUDGING: Duration = Duration::from_secs(2);

/// What became of a question.
enum Judged {
    /// The gate has not answered yet.
    Waiting(AbortHandle),
    /// The client is shown it, as it stands here.
    Shown(Value),
    /// It was answered, by the client or in its place.
    Settled,
}

/// The questions of one task, by the server's keys, which are its own for the life of the task.
#[derive(Default)]
pub(crate) struct Inputs {
    judged: Mutex<BTreeMap<String, (Digest, Judged)>>,
    changed: Notify,
}

impl Drop for Inputs {
    fn drop(&mut self) {
        for (_, judged) in self.judged().values() {
            if let Judged::Waiting(judging) = judged {
                judging.abort();
            }
        }
    }
}

impl Inputs {
    fn judged(&self) -> MutexGuard<'_, BTreeMap<String, (Digest, Judged)>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, key: &str, outcome: Judged) {
        if let Some((_, judged)) = self.judged().get_mut(key) {
            *judged = outcome;
        }
        self.changed.notify_waiters();
    }

    fn is_judging(&self) -> bool {
        self.judged().values().any(|(_, judged)| matches!(judged, Judged::Waiting(_)))
    }

    /// Returns the questions among `requests` that the client is shown.
    fn shown(&self, requests: &Object) -> Object {
        let judged = self.judged();
        let mut shown = Object::new();
        for (key, _) in requests.iter() {
            if let Some((_, Judged::Shown(request))) = judged.get(key) {
                shown.insert(key, request.clone());
            }
        }
        shown
    }
}

/// Returns what the client is asked of what a task asks. Waits a moment for the gate.
pub(super) async fn asked(
    fleet: &Arc<Fleet>,
    session: &Arc<ClientSession>,
    task: &Arc<Task>,
    requests: Object,
) -> Object {
    for (key, request) in requests.iter().take(MOST_INPUTS) {
        take(fleet, session, task, key, request);
    }
    let until = Instant::now() + JUDGING;
    loop {
        let changed = task.inputs.changed.notified();
        if !task.inputs.is_judging() || timeout_at(until, changed).await.is_err() {
            return task.inputs.shown(&requests);
        }
    }
}

/// Has a question judged unless it is known.
fn take(fleet: &Arc<Fleet>, session: &Arc<ClientSession>, task: &Arc<Task>, key: &str, request: &Value) {
    let text = request.to_canonical();
    let digest = Digest::of(text.as_bytes());
    let mut judged = task.inputs.judged();
    if judged.get(key).is_some_and(|(known, _)| *known == digest) {
        return;
    }
    let is_new = !judged.contains_key(key);
    if text.len() > LONGEST_INPUT || is_new && judged.len() >= MOST_IN_LIFE {
        drop(judged);
        let error = ErrorObject::new(own_code::TOO_MANY, "the task asks too much of the client");
        return give_up(fleet, task, &error);
    }
    // Held over the spawn: the judgement finds its question in the map.
    let judging = tokio::spawn({
        let (fleet, session, task) = (Arc::clone(fleet), Arc::clone(session), Arc::downgrade(task));
        let (key, request) = (key.to_owned(), request.clone());
        async move {
            let Some((server, tool)) = task.upgrade().map(|task| (Arc::clone(&task.server), task.tool.clone())) else {
                return;
            };
            let outcome = judge(&fleet, &session, &server, request).await;
            let Some(task) = task.upgrade() else {
                return;
            };
            match outcome {
                Ok(Verdict::Show(request)) => task.inputs.settle(&key, Judged::Shown(request)),
                Ok(Verdict::Decline) => {
                    tracing::info!(server = %server.name(), tool, "a question of a task was declined");
                    task.inputs.settle(&key, Judged::Settled);
                    let params = object! {
                        "taskId" => task.own_id.as_str(),
                        "inputResponses" => object! { key => ask::declined() },
                    };
                    if let Some(connected) = server.connected() {
                        let _ = connected.link.ask(TaskMethod::Update.as_str(), params.into()).await;
                    }
                }
                Err(error) => {
                    task.inputs.settle(&key, Judged::Settled);
                    give_up(&fleet, &task, &error);
                }
            }
        }
    });
    let former = judged.insert(key.to_owned(), (digest, Judged::Waiting(judging.abort_handle())));
    if let Some((_, Judged::Waiting(former))) = former {
        former.abort();
    }
}

/// Ends a task that asks what it may not: there is no answer that would say so.
fn give_up(fleet: &Fleet, task: &Task, error: &ErrorObject) {
    tracing::info!(server = %task.server.name(), tool = task.tool, "a task was cancelled for what it asks");
    task.fail(error.clone().into_value());
    if let Some(connected) = task.server.connected() {
        cancel(Arc::clone(&connected.link), &task.own_id, Some(TaskForm::Extension));
    }
    fleet.note_use();
}

enum Verdict {
    /// The client is asked.
    Show(Value),
    /// The server is told that the user declined.
    Decline,
}

/// Has the request gate judge a question.
async fn judge(
    fleet: &Fleet,
    session: &ClientSession,
    server: &crate::gateway::server::Server,
    request: Value,
) -> Result<Verdict, ErrorObject> {
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
    let params = request.get("params").filter(|params| params.as_object().is_some());
    let params = params.cloned().unwrap_or_else(|| Object::new().into());
    let kind = ServerMethod::parse(method);
    let is_form = kind == ServerMethod::Elicit;
    let refused = |text: &str| {
        if is_form { Ok(Verdict::Decline) } else { Err(ErrorObject::new(own_code::REFUSED, text)) }
    };
    let is_declared = kind.lacks(&session.capabilities, &params).is_none();
    let Some(what) = ask::request_kind(kind, &params).filter(|_| is_declared) else {
        let text = "the task needs something of the client that the client did not declare";
        return Err(ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, text));
    };
    if !ask::is_enabled(&server.options(), kind) {
        return refused("the config does not let this server ask");
    }
    let context = fleet.context(session, server, None);
    let asked = ServerRequest { server: server.name().clone(), kind: what, document: params };
    match fleet.gates().request(&context, asked).await {
        Ok((cleared, limits)) => {
            let mut shown = request.as_object().cloned().unwrap_or_default();
            shown.insert("params", ask::envelope(cleared.get(), &limits));
            Ok(Verdict::Show(shown.into()))
        }
        Err(refusal) => {
            tracing::info!(
                server = %server.name(), method, code = refusal.code.as_str(), detail = refusal.detail,
                "a question of a task was refused"
            );
            refused(&format!("refused by the gateway (code: {})", refusal.code.as_str()))
        }
    }
}

/// Returns those of the client's answers that are to a question which it was shown. Where one has not the form of an
/// answer, none of them counts.
pub(super) fn answered(task: &Task, responses: &Object) -> Result<Object, ErrorObject> {
    let judged = task.inputs.judged();
    let mut answers = Object::new();
    for (key, answer) in responses.iter() {
        let Some((_, Judged::Shown(request))) = judged.get(key) else {
            continue;
        };
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = request.get("params").unwrap_or(&Value::Null);
        check_answer(method, params, answer)?;
        if ServerMethod::parse(method) == ServerMethod::CreateMessage {
            ask::count_rounds(&task.server.tool_rounds, Some(answer));
        }
        answers.insert(key, answer.clone());
    }
    Ok(answers)
}

/// Notes that answers reached the server: their questions are not shown any more.
pub(super) fn note_answered(task: &Task, answers: &Object) {
    for (key, _) in answers.iter() {
        task.inputs.settle(key, Judged::Settled);
    }
}
