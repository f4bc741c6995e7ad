//! What the tasks of a connection share: who waits, and what becomes of what comes in.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use portcullis_model::json::{Object, Value};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::era::Stateless;
use super::pending::{Answer, Pending, Stage};
use super::subscriptions::untag;
use super::wire::Wire;
use super::{CallError, CallerId, CloseReason, Peer};
use crate::jsonrpc::{
    ErrorObject, Id, Incoming, Malformed, Message, Notification, Request, Side, code, write_error, write_notification,
    write_result,
};

/// So many requests of one server are answered at once; further ones are refused. Sampling and elicitation take a model
/// or a person, so more would only be a flood.
const MOST_ANSWERING: usize = 16;
/// So long an answer or a notification may take to be written. A server that does not read cannot hold a task for ever.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// Counts of what a server did wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Lines that were no messages.
    pub noise: u64,
    /// Messages that could not be used.
    pub malformed: u64,
    /// Answers to something that nobody asked, or that was answered before.
    pub unexpected: u64,
    /// Requests refused because too many were being answered, or because the era has none.
    pub refused: u64,
}

#[derive(Default)]
struct Counts {
    noise: AtomicU64,
    malformed: AtomicU64,
    unexpected: AtomicU64,
    refused: AtomicU64,
}

pub(super) struct Shared {
    pending: Mutex<Pending>,
    /// Requests of the server that are being answered, by their id as it was written.
    answering: Mutex<HashMap<Id, AbortHandle>>,
    wire: Wire,
    /// Empty during the handshake and in the era with `initialize`.
    era: OnceLock<Stateless>,
    peer: Arc<dyn Peer>,
    counts: Counts,
    pub(super) call_timeout: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds one of these; if it did, the maps would still be whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Shared {
    pub(super) fn new(wire: Wire, peer: Arc<dyn Peer>, call_timeout: Duration) -> Self {
        Self {
            pending: Mutex::default(),
            answering: Mutex::default(),
            wire,
            era: OnceLock::new(),
            peer,
            counts: Counts::default(),
            call_timeout,
        }
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }

    pub(super) fn peer(&self) -> &dyn Peer {
        &*self.peer
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Returns what the stateless era says with every request, where it is spoken.
    pub(super) fn era(&self) -> Option<&Stateless> {
        self.era.get()
    }

    /// Ends the handshake: the peer hears of the connection's end from now on. Fails where that has come already.
    pub(super) fn establish(&self, era: Option<Stateless>) -> Result<(), CallError> {
        if let Some(era) = era {
            // A connection is established once.
            let _ = self.era.set(era);
        }
        self.pending().establish().map_err(CallError::Closed)
    }

    pub(super) fn closed(&self) -> Option<CloseReason> {
        self.pending().closed()
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            noise: read(&self.counts.noise),
            malformed: read(&self.counts.malformed),
            unexpected: read(&self.counts.unexpected),
            refused: read(&self.counts.refused),
        }
    }

    /// Closes the connection: everybody who waits is told, and nothing of the server is answered any more.
    pub(super) fn close(&self, reason: CloseReason) {
        let was = self.pending().close(&reason);
        if was != Stage::Closed {
            lock(&self.answering).values().for_each(AbortHandle::abort);
        }
        // Whoever shakes hands sees the end by that; and it may be about to try again.
        if was == Stage::Established {
            self.peer.closed(reason);
        }
    }

    pub(super) async fn notify(self: &Arc<Self>, method: &str, params: Option<&Value>) -> Result<(), CallError> {
        if let Some(reason) = self.closed() {
            return Err(CallError::Closed(reason));
        }
        let mut text = Vec::with_capacity(128);
        write_notification(&mut text, method, params);
        match timeout(WRITE_LIMIT, self.wire.send(self, text, None, None)).await {
            Ok(sent) => sent,
            Err(_) => Err(CallError::Timeout(WRITE_LIMIT)),
        }
    }

    /// Deals with something that came in.
    pub(super) fn receive(self: &Arc<Self>, incoming: Incoming) {
        self.receive_for(None, incoming);
    }

    /// Deals with something that came in on the stream of the answer to a request.
    pub(super) fn receive_for(self: &Arc<Self>, request: Option<u64>, incoming: Incoming) {
        let caller = || request.and_then(|id| self.pending().caller(id));
        match incoming {
            Incoming::Message(Message::Response(response)) => match response.id.as_counter() {
                Some(id) => self.settle(id, Ok(response.outcome)),
                None => count(&self.counts.unexpected),
            },
            Incoming::Message(Message::Notification(notification)) => self.notification(notification, caller()),
            Incoming::Message(Message::Request(request)) => self.request(request, caller()),
            Incoming::Batch(elements) => elements.into_iter().for_each(|element| self.receive_for(request, element)),
            Incoming::Unattributed(_) => {
                count(&self.counts.malformed);
                // With a single request under way there is no doubt whose error it is.
                let mut pending = self.pending();
                if let Some(id) = pending.only() {
                    pending.settle(id, Err(CallError::Unattributed));
                }
            }
            Incoming::Malformed(malformed) => self.malformed(malformed),
            Incoming::Noise => count(&self.counts.noise),
        }
    }

    fn settle(&self, id: u64, answer: Answer) {
        if !self.pending().settle(id, answer) {
            count(&self.counts.unexpected);
        }
    }

    fn malformed(self: &Arc<Self>, malformed: Malformed) {
        count(&self.counts.malformed);
        match (malformed.side, malformed.id) {
            (Side::Request, Some(_)) if self.era().is_some() => {}
            (Side::Request, Some(id)) => {
                let error = ErrorObject::new(code::INVALID_REQUEST, malformed.reason.describe());
                self.answer(id, async move { Err(error) });
            }
            (Side::Response | Side::Unknown, Some(id)) => {
                if let Some(id) = id.as_counter() {
                    self.settle(id, Err(CallError::Malformed(malformed.reason)));
                }
            }
            // A refused text without an id: an error about it would be one more message that nobody can place.
            (_, None) => {}
        }
    }

    fn notification(&self, Notification { method, params }: Notification, caller: Option<CallerId>) {
        match (method.as_str(), params) {
            ("notifications/progress", Some(Value::Object(params))) => self.progress(method, params),
            ("notifications/cancelled", Some(params)) => self.cancelled(&params),
            ("notifications/subscriptions/acknowledged", _) => match self.era() {
                Some(era) => era.subscriptions().acknowledge(),
                None => count(&self.counts.unexpected),
            },
            (_, mut params) => {
                if let (Some(_), Some(params)) = (self.era(), &mut params) {
                    untag(params);
                }
                match caller {
                    Some(caller) => self.peer.notification_of(caller, method, params),
                    None => self.peer.notification(method, params),
                }
            }
        }
    }

    fn progress(&self, method: String, mut params: Object) {
        let id = params.get("progressToken").cloned().and_then(Id::from_value).and_then(|id| id.as_counter());
        let token = id.and_then(|id| self.pending().progress(id));
        match (token, params.get_mut("progressToken")) {
            (Some(token), Some(place)) => {
                *place = token;
                self.peer.notification(method, Some(Value::Object(params)));
            }
            _ => count(&self.counts.unexpected),
        }
    }

    fn cancelled(&self, params: &Value) {
        let Some(id) = params.get("requestId").cloned().and_then(Id::from_value) else {
            return count(&self.counts.malformed);
        };
        let task = {
            let mut answering = lock(&self.answering);
            let key = answering.keys().find(|key| key.matches(&id)).cloned();
            key.and_then(|key| answering.remove(&key))
        };
        if let Some(task) = task {
            return task.abort();
        }
        // No revision lets a server cancel the client's requests, but servers do; waiting on would be in vain.
        match id.as_counter() {
            Some(id) => self.settle(id, Err(CallError::Cancelled)),
            None => count(&self.counts.unexpected),
        }
    }

    fn request(self: &Arc<Self>, Request { id, method, params }: Request, caller: Option<CallerId>) {
        if self.era().is_some() {
            // The era has neither requests of servers nor answers of clients.
            return count(&self.counts.refused);
        }
        if method == "ping" {
            return self.answer(id, async { Ok(Value::Object(Object::new())) });
        }
        let shared = Arc::clone(self);
        self.answer(id, async move {
            let _paused = Paused::new(&shared);
            match caller {
                Some(caller) => shared.peer.request_of(Some(caller), method, params, None).await,
                None => shared.peer.request(method, params, None).await,
            }
        });
    }

    /// Answers a request of the server in a task of its own.
    fn answer(self: &Arc<Self>, id: Id, outcome: impl Future<Output = Result<Value, ErrorObject>> + Send + 'static) {
        let mut answering = lock(&self.answering);
        // An id that is being answered already cannot be told from that one. And a flood is not worth an answer each:
        // that would need a task each.
        if answering.len() >= MOST_ANSWERING || answering.contains_key(&id) {
            return count(&self.counts.refused);
        }
        let shared = Arc::clone(self);
        let key = id.clone();
        let task = tokio::spawn(async move {
            let entry = Entry { shared: &shared, id: &id };
            let mut text = Vec::with_capacity(128);
            match outcome.await {
                Ok(result) => write_result(&mut text, &id, &result),
                Err(error) => write_error(&mut text, Some(&id), &error),
            }
            let _ = timeout(WRITE_LIMIT, shared.wire.send(&shared, text, None, None)).await;
            drop(entry);
        });
        answering.insert(key, task.abort_handle());
    }
}

/// The entry of a request that is being answered; gone with its task.
struct Entry<'a> {
    shared: &'a Shared,
    id: &'a Id,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        lock(&self.shared.answering).remove(self.id);
    }
}

/// While it lives, the time limits of calls stand still.
struct Paused<'a>(&'a Shared);

impl<'a> Paused<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.pending().begin_answer();
        Self(shared)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.pending().end_answer();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
