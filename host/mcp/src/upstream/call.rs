//! One request and its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_gates::Call;
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, object};
use reqwest::header::HeaderMap;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::era::{self, Stateless};
use super::headers::headers;
use super::pending::Answer;
use super::shared::Shared;
use super::{CallError, CallOptions, Outcome, rounds};
use crate::jsonrpc::{Id, Rewrite, write_request};
use crate::transport::http::HttpFailure;

/// A call that shows progress, or during which the server asks for something, may take so many times its limit in all.
const MOST_EXTENSIONS: u32 = 4;
/// … and so much on top, which is how long people are given to answer.
const LONGEST_PAUSE: Duration = Duration::from_mins(10);
/// While the clock stands still it is looked at this often.
const PAUSE_ROUND: Duration = Duration::from_millis(250);
/// So long the cancellation of a request may take to be written.
const CANCEL_WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Returns the method of a kind of call.
pub(super) fn method_of(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Tool => "tools/call",
        CallKind::Prompt => "prompts/get",
        CallKind::Resource => "resources/read",
        CallKind::Completion => "completion/complete",
    }
}

/// Returns true for methods that only a cleared call may use.
pub(super) fn is_gated(method: &str) -> bool {
    [CallKind::Tool, CallKind::Prompt, CallKind::Resource, CallKind::Completion]
        .into_iter()
        .any(|kind| method_of(kind) == method)
}

pub(super) async fn call(shared: &Arc<Shared>, call: &Call, options: CallOptions) -> Result<Outcome, CallError> {
    if let Some(era) = shared.era() {
        return rounds::call(shared, era, call, options).await;
    }
    // The name that was judged is the name that is sent, whatever the parameters say.
    let name = Value::from(call.name.as_str());
    // Whoever takes no task must not be given one by a parameter that it did not mean.
    let wanted = call.params.get("task").filter(|task| task.as_object().is_some());
    let bare = Value::from(Object::new());
    let task = options.takes_task.then(|| wanted.unwrap_or(&bare));
    let members: &[(&str, Option<&Value>)] = match call.kind {
        CallKind::Tool => &[("name", Some(&name)), ("task", task)],
        CallKind::Prompt => &[("name", Some(&name))],
        CallKind::Resource => &[("uri", Some(&name))],
        CallKind::Completion => &[],
    };
    let (method, params) = (method_of(call.kind), Some(&call.params));
    exchange(
        shared,
        Outgoing { method, params, name: None, members, options, cancellable: true, lasting: false, era: None },
    )
    .await
}

pub(super) async fn request(
    shared: &Arc<Shared>,
    method: &str,
    params: Option<&Value>,
    options: CallOptions,
) -> Result<Outcome, CallError> {
    let era = shared.era();
    // Only who declares the tasks extension may use its methods, and their name is the task's id.
    let is_of_task = method.starts_with("tasks/");
    let name = params.filter(|_| is_of_task).and_then(|params| params.get("taskId")).and_then(Value::as_str);
    let options = CallOptions { takes_task: is_of_task, ..options };
    let outgoing = Outgoing { method, params, name, members: &[], options, cancellable: true, lasting: false, era };
    let outcome = exchange(shared, outgoing).await?;
    if era.is_some() { era::complete(outcome) } else { Ok(outcome) }
}

/// Like [`request`], but the server is not told where it is given up: `initialize` must not be cancelled, and servers exist
/// that end when they are told of a cancelled `server/discover`. The era is that which is tried.
pub(super) async fn handshake(
    shared: &Arc<Shared>,
    method: &str,
    params: Option<&Value>,
    era: Option<&Stateless>,
) -> Result<Outcome, CallError> {
    let options = CallOptions::default();
    exchange(
        shared,
        Outgoing { method, params, name: None, members: &[], options, cancellable: false, lasting: false, era },
    )
    .await
}

/// Listens to what the server tells by itself, until that is over.
pub(super) async fn listen(shared: &Arc<Shared>, params: &Value, era: &Stateless) -> Result<Outcome, CallError> {
    // Only who declares the tasks extension may listen for tasks.
    let takes_task = params.pointer("/notifications/taskIds").is_some();
    let options = CallOptions { takes_task, ..CallOptions::default() };
    let (method, params, era) = ("subscriptions/listen", Some(params), Some(era));
    let outgoing =
        Outgoing { method, params, name: None, members: &[], options, cancellable: true, lasting: true, era };
    exchange(shared, outgoing).await
}

/// A request as it is about to be sent.
pub(super) struct Outgoing<'a> {
    pub(super) method: &'a str,
    pub(super) params: Option<&'a Value>,
    /// The name of what is called, where the stateless era repeats it in a header.
    pub(super) name: Option<&'a str>,
    /// Members of the parameters that are set or left out.
    pub(super) members: &'a [(&'a str, Option<&'a Value>)],
    pub(super) options: CallOptions,
    /// True where the server is told when nobody waits any more.
    pub(super) cancellable: bool,
    /// True where the answer comes when all is over, whenever that is.
    pub(super) lasting: bool,
    /// Nothing for the era with `initialize`.
    pub(super) era: Option<&'a Stateless>,
}

impl Outgoing<'_> {
    fn text(&self, id: u64, wants_progress: bool) -> Vec<u8> {
        let token = Value::from(id);
        let token = wants_progress.then_some(&token);
        let level = self.era.map(Stateless::level);
        let takes_task = self.options.takes_task;
        let own = self.options.capabilities.as_ref().filter(|_| self.era.is_some());
        let own_with_tasks = own.filter(|_| takes_task).map(era::with_tasks);
        let capabilities = own_with_tasks.as_ref().or(own).or_else(|| self.era.map(|era| era.capabilities(takes_task)));
        let meta = era::meta(self.era, capabilities, token, level.as_ref().and_then(|level| level.as_deref()));
        // Whoever wishes a level for this very request has it.
        let wishes_level = self.era.is_some() && era::wishes_level(self.params);
        let meta = if wishes_level { meta.get(1..).unwrap_or_default() } else { meta.as_slice() };
        let mut text = Vec::with_capacity(if self.era.is_some() { 512 } else { 256 });
        write_request(&mut text, &Id::from(id), self.method, self.params, Rewrite { members: self.members, meta });
        text
    }

    /// Returns what the stateless era repeats in headers.
    fn headers(&self) -> Option<Box<HeaderMap>> {
        let is_tool = self.method == method_of(CallKind::Tool);
        let bindings = self.name.filter(|_| is_tool).and_then(|name| self.era?.bindings_of(name));
        let bindings = bindings.as_deref().unwrap_or_default();
        self.era.map(|_| Box::new(headers(self.method, self.name, self.params, bindings)))
    }
}

/// Sends a request and waits for its answer, of whichever kind.
pub(super) async fn exchange(shared: &Arc<Shared>, mut outgoing: Outgoing<'_>) -> Result<Outcome, CallError> {
    let limit = (!outgoing.lasting).then(|| outgoing.options.timeout.unwrap_or(shared.call_timeout));
    let wants_progress = outgoing.options.progress_token.is_some();
    let (id, answer) = shared.pending().add(outgoing.options.progress_token.take(), outgoing.lasting)?;
    if let Some(caller) = outgoing.options.caller {
        shared.pending().belongs_to(id, caller);
    }
    let cancellable = outgoing.cancellable && shared.wire().takes_cancellations(outgoing.era.is_some());
    let mut waiting = Waiting { shared, id, cancel: cancellable.then_some("the client went away") };
    let text = outgoing.text(id, wants_progress);
    let headers = if shared.wire().has_headers() { outgoing.headers() } else { None };
    let outcome = wait(shared, id, shared.wire().send(shared, text, Some(id), headers), answer, limit).await;
    match &outcome {
        Err(CallError::Timeout(_)) => waiting.cancel = waiting.cancel.and(Some("the time limit is reached")),
        _ => waiting.cancel = None,
    }
    outcome
}

fn received(shared: &Shared, answer: Result<Answer, oneshot::error::RecvError>) -> Answer {
    // Slots are dropped without an answer only by their own caller, so the connection must have gone.
    answer.unwrap_or_else(|_| Err(CallError::Closed(shared.closed().unwrap_or(super::CloseReason::Shutdown))))
}

/// Sends and waits. Over HTTP the sending lasts until the answer is there, so that both have the one limit.
async fn wait(
    shared: &Shared,
    id: u64,
    sending: impl Future<Output = Result<(), CallError>>,
    mut answer: oneshot::Receiver<Answer>,
    limit: Option<Duration>,
) -> Result<Outcome, CallError> {
    let mut sending = std::pin::pin!(sending);
    let mut is_sent = false;
    let started = Instant::now();
    let mut left = limit;
    loop {
        let turn = async {
            tokio::select! {
                biased;
                sent = &mut sending, if !is_sent => Turn::Sent(sent),
                answered = &mut answer => Turn::Answered(answered),
            }
        };
        let turn = match left {
            Some(left) => timeout(left, turn).await.unwrap_or(Turn::TimeIsUp),
            None => turn.await,
        };
        match (turn, limit) {
            (Turn::Answered(answered), _) => return received(shared, answered),
            (Turn::Sent(Ok(())), _) => is_sent = true,
            // The server refused to take this very request: it did nothing, which is told of no other that was waiting.
            (Turn::Sent(Err(error @ CallError::Http(HttpFailure::SessionExpired))), _) => return Err(error),
            // Where the connection is closed for a reason that says more, that one counts.
            (Turn::Sent(Err(error)), _) => return Err(shared.closed().map_or(error, CallError::Closed)),
            (Turn::TimeIsUp, None) => left = None,
            (Turn::TimeIsUp, Some(limit)) => {
                let most = (limit * MOST_EXTENSIONS + LONGEST_PAUSE).saturating_sub(started.elapsed());
                match shared.pending().left(id, limit) {
                    Some(more) if !most.is_zero() => left = Some(more.max(PAUSE_ROUND).min(most)),
                    _ => return Err(CallError::Timeout(limit)),
                }
            }
        }
    }
}

/// What happened first.
enum Turn {
    Sent(Result<(), CallError>),
    Answered(Result<Answer, oneshot::error::RecvError>),
    TimeIsUp,
}

/// A request that waits. When it is dropped before its answer came, the server is told.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    /// Why the server would be told; nothing where it would not.
    cancel: Option<&'static str>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.shared.pending().remove(self.id) {
            return;
        }
        if let (Some(reason), Ok(runtime)) = (self.cancel, tokio::runtime::Handle::try_current()) {
            let (shared, id) = (Arc::clone(self.shared), self.id);
            runtime.spawn(async move {
                let params = Value::from(object! { "requestId" => id, "reason" => reason });
                let _ = timeout(CANCEL_WRITE_LIMIT, shared.notify("notifications/cancelled", Some(&params))).await;
            });
        }
    }
}
