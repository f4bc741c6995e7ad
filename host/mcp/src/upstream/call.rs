//! One request and its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_gates::Call;
use portcullis_model::json::Value;
use portcullis_model::{CallKind, object};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::pending::Answer;
use super::shared::Shared;
use super::{CallError, CallOptions, Outcome};
use crate::jsonrpc::{Id, Rewrite, write_request};

/// A call that shows progress, or during which the server asks for something, may take so many times its limit in all.
const MOST_EXTENSIONS: u32 = 4;
/// … and so much on top, which is how long people are given to answer.
const LONGEST_PAUSE: Duration = Duration::from_mins(10);
/// While the clock stands still it is looked at this often.
const PAUSE_ROUND: Duration = Duration::from_millis(250);
/// So long the cancellation of a request may take to be written.
const CANCEL_WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Returns the method of a kind of call.
fn method_of(kind: CallKind) -> &'static str {
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
    // The name that was judged is the name that is sent, whatever the parameters say.
    let name = Value::from(call.name.as_str());
    let members: &[(&str, &Value)] = match call.kind {
        CallKind::Tool | CallKind::Prompt => &[("name", &name)],
        CallKind::Resource => &[("uri", &name)],
        CallKind::Completion => &[],
    };
    exchange(shared, method_of(call.kind), Some(&call.params), members, options, true).await
}

pub(super) async fn request(
    shared: &Arc<Shared>,
    method: &str,
    params: Option<&Value>,
    options: CallOptions,
) -> Result<Outcome, CallError> {
    exchange(shared, method, params, &[], options, true).await
}

/// Like [`request`], but the server is not told where it is given up: `initialize` must not be cancelled.
pub(super) async fn handshake(shared: &Arc<Shared>, method: &str, params: &Value) -> Result<Outcome, CallError> {
    exchange(shared, method, Some(params), &[], CallOptions::default(), false).await
}

async fn exchange(
    shared: &Arc<Shared>,
    method: &str,
    params: Option<&Value>,
    members: &[(&str, &Value)],
    options: CallOptions,
    cancellable: bool,
) -> Result<Outcome, CallError> {
    let limit = options.timeout.unwrap_or(shared.call_timeout);
    let wants_progress = options.progress_token.is_some();
    let (id, mut answer) = shared.pending().add(options.progress_token)?;
    let mut waiting = Waiting { shared, id, cancel: cancellable.then_some("the client went away") };
    let token = Value::from(id);
    let rewrite = Rewrite { members, meta: &[("progressToken", wants_progress.then_some(&token))] };
    let mut text = Vec::with_capacity(256);
    write_request(&mut text, &Id::from(id), method, params, rewrite);

    let outcome = tokio::select! {
        biased;
        sent = timeout(limit, shared.wire().send(shared, text, Some(id))) => match sent {
            Ok(Ok(())) => wait(shared, id, &mut answer, limit).await,
            // Where the connection is closed for a reason that says more, that one counts.
            Ok(Err(error)) => Err(shared.closed().map_or(error, CallError::Closed)),
            Err(_) => Err(CallError::Timeout(limit)),
        },
        answered = &mut answer => received(shared, answered),
    };
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

async fn wait(
    shared: &Shared,
    id: u64,
    answer: &mut oneshot::Receiver<Answer>,
    limit: Duration,
) -> Result<Outcome, CallError> {
    let started = Instant::now();
    let longest = limit * MOST_EXTENSIONS + LONGEST_PAUSE;
    let mut left = limit;
    loop {
        if let Ok(answered) = timeout(left, &mut *answer).await {
            return received(shared, answered);
        }
        let most = longest.saturating_sub(started.elapsed());
        match shared.pending().left(id, limit) {
            Some(more) if !most.is_zero() => left = more.max(PAUSE_ROUND).min(most),
            _ => return Err(CallError::Timeout(limit)),
        }
    }
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
