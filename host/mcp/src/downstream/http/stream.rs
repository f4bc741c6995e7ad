//! What answers one HTTP request: one message, or a stream of them that the client may come back to.
//!
//! A stream begins undecided. Where the answer is the first thing that comes, it is sent as plain JSON, which costs
//! both sides the least. Where anything comes before it (progress, a log message, a question to the client), the answer
//! becomes a stream of server-sent events. Events have numbers, and stay for a while after they were sent: a client whose
//! connection broke names the last one that it got, and goes on from there.

mod name;
mod reader;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use hyper::body::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::super::outbox::Gone;

pub(super) use name::StreamName;
pub(crate) use reader::Reader;
pub(super) use reader::{Event, First, join};

/// Above this many bytes that the client has not taken, requests to it wait.
const HIGH_WATER: usize = 4 * 1024 * 1024;
/// Above this, notifications are dropped: a client that does not read them misses nothing by it.
const NOTIFICATION_WATER: usize = 1024 * 1024;
/// So many bytes and events that were sent stay for a client that comes back; the last one always does, as it is the
/// answer that the client waits for.
const KEPT_BYTES: usize = 1024 * 1024;
const KEPT_EVENTS: usize = 256;
/// All streams together keep so many bytes that were sent; beyond, they go as soon as they are sent.
const KEPT_BY_ALL: usize = 64 * 1024 * 1024;

/// What all streams of a door keep together, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Kept(AtomicUsize);

impl Kept {
    fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) > KEPT_BY_ALL
    }
}

/// What answers one HTTP request.
#[derive(Debug)]
pub(crate) struct Stream {
    name: StreamName,
    /// True where a client may come back to it.
    resumable: bool,
    state: Mutex<State>,
    taken: Notify,
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct State {
    /// Messages from the number `oldest` on. An empty one is there for its number alone.
    events: VecDeque<Bytes>,
    oldest: u64,
    /// The number of the message that the reader gets next.
    next: u64,
    /// Bytes that no reader got yet.
    unsent: usize,
    /// Bytes of all messages that are here.
    bytes: usize,
    /// Responses that are still to come; when there are none, the stream ends.
    awaited: usize,
    /// True while nothing but responses came.
    only_answers: bool,
    begun: bool,
    /// Which reader counts; an earlier one that is still there has lost its place.
    reader: u64,
    attached: bool,
    ended: Option<Instant>,
    waker: Option<Waker>,
    /// What the request takes up of the door, until it is answered.
    hold: Option<Hold>,
}

/// What a request takes up of a door; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Its place among the requests that run at once.
    pub(super) _place: OwnedSemaphorePermit,
    /// Its place among those of its principal.
    pub(super) _share: Option<OwnedSemaphorePermit>,
    /// The memory that its body takes, where that is much.
    pub(super) _memory: Option<OwnedSemaphorePermit>,
}

impl Stream {
    /// Opens a stream that ends after so many responses, or never by itself where none is awaited.
    pub(super) fn new(name: StreamName, awaited: usize, resumable: bool, hold: Option<Hold>, kept: Arc<Kept>) -> Self {
        let state = State {
            events: VecDeque::new(),
            oldest: 0,
            next: 0,
            unsent: 0,
            bytes: 0,
            awaited,
            only_answers: true,
            begun: false,
            reader: 0,
            attached: false,
            ended: None,
            waker: None,
            hold,
        };
        Self { name, resumable, state: Mutex::new(state), taken: Notify::new(), kept }
    }

    pub(super) fn name(&self) -> StreamName {
        self.name
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message that must not be lost. Waits while the client does not read.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), Gone> {
        loop {
            let taken = self.taken.notified();
            {
                let mut state = self.state();
                if !state.is_open() {
                    return Err(Gone);
                }
                if state.unsent < HIGH_WATER {
                    state.only_answers = false;
                    self.push(&mut state, message);
                    return Ok(());
                }
            }
            taken.await;
        }
    }

    /// Sends a notification, or drops it where the client does not read. Returns false where the stream is closed.
    pub(crate) fn offer(&self, message: Vec<u8>) -> bool {
        let mut state = self.state();
        if !state.is_open() {
            return false;
        }
        if state.unsent < NOTIFICATION_WATER {
            state.only_answers = false;
            self.push(&mut state, message);
        }
        true
    }

    /// Sends a response that was awaited. Never waits: each request has one.
    pub(crate) fn answer(&self, message: Vec<u8>) {
        let mut state = self.state();
        // A client that went away and cannot come back, or comes back to too much, does not get it any more.
        if state.is_open() && (state.attached || !self.kept.is_full()) {
            self.push(&mut state, message);
        }
        state.count_down();
    }

    /// Says that a response that was awaited will not come.
    pub(crate) fn withdraw(&self) {
        self.state().count_down();
    }

    /// Ends the stream.
    pub(crate) fn end(&self) {
        self.state().end();
        self.taken.notify_waiters();
    }

    /// Waits until nobody reads it any more.
    pub(super) async fn abandoned(&self) {
        loop {
            let taken = self.taken.notified();
            if !self.state().attached {
                return;
            }
            taken.await;
        }
    }

    /// Returns since when it has ended.
    pub(super) fn ended(&self) -> Option<Instant> {
        self.state().ended
    }

    /// Returns true while a client reads it.
    pub(super) fn is_attached(&self) -> bool {
        self.state().attached
    }

    /// Takes what no reader got yet, to be sent another way.
    pub(super) fn take_unsent(&self) -> Vec<Bytes> {
        let mut state = self.state();
        let keep = usize::try_from(state.next.saturating_sub(state.oldest)).unwrap_or(usize::MAX);
        let keep = keep.min(state.events.len());
        let rest = state.events.split_off(keep);
        let bytes = rest.iter().map(Bytes::len).sum::<usize>();
        state.bytes -= bytes;
        state.unsent = 0;
        self.kept.0.fetch_sub(bytes, Ordering::Relaxed);
        rest.into_iter().filter(|data| !data.is_empty()).collect()
    }

    fn push(&self, state: &mut State, message: Vec<u8>) {
        let size = message.len();
        state.events.push_back(message.into());
        state.unsent += size;
        state.bytes += size;
        self.kept.0.fetch_add(size, Ordering::Relaxed);
        state.wake();
    }

    /// Begins to read it. Whoever read it before has lost its place.
    pub(super) fn attach(self: &Arc<Self>) -> Reader {
        let mut state = self.state();
        state.reader += 1;
        state.attached = true;
        state.wake();
        let number = state.reader;
        drop(state);
        Reader { stream: Arc::clone(self), number }
    }

    /// Begins to read it from behind the event of that number, as far as it is still there.
    pub(super) fn resume(self: &Arc<Self>, after: u64) -> Reader {
        let reader = self.attach();
        let mut state = self.state();
        let end = state.oldest + state.events.len() as u64;
        state.next = after.saturating_add(1).clamp(state.oldest, end);
        let skip = usize::try_from(state.next - state.oldest).unwrap_or(usize::MAX);
        state.unsent = state.events.iter().skip(skip).map(Bytes::len).sum();
        drop(state);
        reader
    }

    /// Lets go of what was sent and need not be kept.
    fn trim(&self, state: &mut State) {
        while state.next > state.oldest {
            let sent = state.bytes - state.unsent;
            let is_last = state.events.len() == 1;
            let many = !is_last && (sent > KEPT_BYTES || state.next - state.oldest > KEPT_EVENTS as u64);
            if self.resumable && !many && !self.kept.is_full() {
                return;
            }
            let Some(event) = state.events.pop_front() else { return };
            state.oldest += 1;
            state.bytes -= event.len();
            self.kept.0.fetch_sub(event.len(), Ordering::Relaxed);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let bytes = self.state().bytes;
        self.kept.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl State {
    /// Returns true where a message that is put in can still reach the client.
    fn is_open(&self) -> bool {
        self.ended.is_none() && (self.attached || self.begun)
    }

    fn count_down(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
        if self.awaited == 0 {
            self.end();
        }
    }

    fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
        self.hold = None;
        self.wake();
    }

    fn await_change(&mut self, context: &Context<'_>) {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            self.waker = Some(context.waker().clone());
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
