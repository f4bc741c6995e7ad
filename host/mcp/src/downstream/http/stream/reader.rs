//! Who reads a stream, and what it gets.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::Bytes;

use super::Stream;

/// How a request is answered.
pub(in super::super) enum First {
    /// By the responses that were awaited, and nothing else.
    Answers(Vec<Bytes>),
    /// By a stream.
    Events,
}

/// An event on its way to the client.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Event {
    /// Its id; nothing where the client cannot come back.
    pub(in super::super) id: Option<String>,
    /// Its message; empty for an event that is there for its id alone.
    pub(in super::super) data: Bytes,
}

/// Who reads a stream: the answer to one HTTP request. Dropping it leaves the stream to whoever comes back.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(super) stream: Arc<Stream>,
    pub(super) number: u64,
}

impl Reader {
    pub(in super::super) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Waits until it is clear how the request is answered.
    pub(in super::super) async fn first(&self) -> First {
        poll_fn(|context| {
            let mut state = self.stream.state();
            if !state.only_answers {
                return Poll::Ready(First::Events);
            }
            if state.ended.is_some() {
                let events = std::mem::take(&mut state.events);
                self.stream.kept.0.fetch_sub(state.bytes, Ordering::Relaxed);
                (state.bytes, state.unsent) = (0, 0);
                return Poll::Ready(First::Answers(events.into()));
            }
            state.await_change(context);
            Poll::Pending
        })
        .await
    }

    /// Makes it a stream of events, with a first one that is there for its id alone where `primed`: so a client can come
    /// back before anything was said.
    pub(in super::super) fn begin(&self, primed: bool) {
        let mut state = self.stream.state();
        state.begun = true;
        if primed && self.stream.resumable {
            state.events.push_front(Bytes::new());
        }
    }

    /// Returns the next event; nothing once there will be no more for this reader.
    pub(in super::super) fn poll_event(&self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let stream = &self.stream;
        let mut state = stream.state();
        if state.reader != self.number {
            return Poll::Ready(None);
        }
        let place = usize::try_from(state.next - state.oldest).unwrap_or(usize::MAX);
        if let Some(data) = state.events.get(place).cloned() {
            let id = stream.resumable.then(|| stream.name.event_id(state.next));
            state.next += 1;
            state.unsent -= data.len();
            stream.trim(&mut state);
            drop(state);
            stream.taken.notify_waiters();
            return Poll::Ready(Some(Event { id, data }));
        }
        if state.ended.is_some() {
            return Poll::Ready(None);
        }
        state.await_change(context);
        Poll::Pending
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        if state.reader == self.number {
            state.attached = false;
            state.waker = None;
        }
        drop(state);
        // Whoever waits for the client to read must not wait for one that is gone.
        self.stream.taken.notify_waiters();
    }
}

/// Joins the responses to a batch (MCP 2025-03-26), or returns the only one.
pub(in super::super) fn join(mut answers: Vec<Bytes>, batch: bool) -> Full<Bytes> {
    if !batch {
        return Full::new(answers.pop().unwrap_or_default());
    }
    let mut joined = Vec::with_capacity(answers.iter().map(|answer| answer.len() + 1).sum::<usize>() + 1);
    joined.push(b'[');
    for (index, answer) in answers.iter().enumerate() {
        if index > 0 {
            joined.push(b',');
        }
        joined.extend_from_slice(answer);
    }
    joined.push(b']');
    Full::new(joined.into())
}
