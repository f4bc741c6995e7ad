//! The streams of one session: those that answer what was posted, and those that the client listens on.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;

use super::super::outbox::Gone;
use super::stream::{Hold, Kept, Reader, Stream, StreamName};

/// So much waits for a client that does not listen now; older notifications go first. It is told of changed lists and of
/// what servers log, and can ask for either.
const MOST_WAITING: usize = 256;
const WAITING_BYTES: usize = 1024 * 1024;
/// So many streams of a session are kept for a client that comes back; the oldest that have ended go first. As many
/// requests of one session may run at once.
const MOST_KEPT: usize = 512;

/// The streams of one session.
#[derive(Debug)]
pub(crate) struct Streams {
    inner: Mutex<Inner>,
    next: AtomicU64,
    listeners: usize,
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Inner {
    posted: VecDeque<Arc<Stream>>,
    listening: VecDeque<Arc<Stream>>,
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    closed: bool,
}

/// A client came back to a stream that is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forgotten;

impl Streams {
    /// Prepares the streams of a session that may listen on so many at once.
    pub(super) fn new(listeners: usize, kept: Arc<Kept>) -> Self {
        Self { inner: Mutex::default(), next: AtomicU64::new(1), listeners, kept }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a stream for so many responses to what was posted.
    pub(super) fn post(&self, awaited: usize, hold: Hold) -> Reader {
        let name = StreamName::Posted(self.number());
        Arc::new(Stream::new(name, awaited, true, Some(hold), Arc::clone(&self.kept))).attach()
    }

    /// Keeps a posted stream that has begun, so that the client can come back to it.
    pub(super) fn keep(&self, reader: &Reader) {
        let mut inner = self.inner();
        if inner.closed {
            reader.stream().end();
            return;
        }
        while inner.posted.len() >= MOST_KEPT {
            let oldest = inner.posted.iter().position(|stream| stream.ended().is_some()).unwrap_or(0);
            inner.posted.remove(oldest);
        }
        inner.posted.push_back(Arc::clone(reader.stream()));
    }

    /// Opens a stream to listen on, which gets what nobody listened to so far.
    pub(super) fn listen(&self, primed: bool) -> Reader {
        let mut inner = self.inner();
        let name = StreamName::Listening(self.number());
        let stream = Arc::new(Stream::new(name, 0, true, None, Arc::clone(&self.kept)));
        let reader = stream.attach();
        reader.begin(primed);
        if inner.closed {
            stream.end();
            return reader;
        }
        while inner.listening.len() >= self.listeners {
            if let Some(oldest) = inner.listening.pop_front() {
                oldest.end();
            }
        }
        let missed: Vec<Bytes> = inner
            .listening
            .iter()
            .filter(|stream| !stream.is_attached())
            .flat_map(|stream| stream.take_unsent())
            .collect();
        for message in missed {
            stream.offer(message.into());
        }
        inner.listening.push_back(Arc::clone(&stream));
        inner.flush(&stream);
        reader
    }

    /// Goes on with a stream behind the event of that id.
    pub(super) fn resume(&self, id: &str) -> Result<Reader, Forgotten> {
        let (name, number) = StreamName::parse_event_id(id).ok_or(Forgotten)?;
        let mut inner = self.inner();
        let all = inner.posted.iter().chain(&inner.listening);
        let stream = all.into_iter().find(|stream| stream.name() == name).cloned().ok_or(Forgotten)?;
        let reader = stream.resume(number);
        if matches!(name, StreamName::Listening(_)) {
            inner.flush(&stream);
        }
        Ok(reader)
    }

    /// Sends what belongs to no request: on the newest stream that the client listens on, else once it does.
    pub(crate) fn send(&self, message: Vec<u8>) -> Result<(), Gone> {
        let mut inner = self.inner();
        if inner.closed {
            return Err(Gone);
        }
        if let Some(stream) = inner.listening.iter().rev().find(|stream| stream.is_attached()) {
            stream.offer(message);
        } else {
            inner.wait(message.into());
        }
        Ok(())
    }

    /// As [`Streams::send`], for what may be lost.
    pub(crate) fn offer(&self, message: Vec<u8>) {
        let _ = self.send(message);
    }

    /// Returns true while the client reads any stream, or waits for one to answer.
    pub(super) fn is_in_use(&self) -> bool {
        let inner = self.inner();
        inner.posted.iter().chain(&inner.listening).any(|stream| stream.is_attached())
    }

    /// Forgets streams that ended so long ago.
    pub(super) fn forget(&self, age: Duration, now: Instant) {
        let is_recent = |stream: &Arc<Stream>| {
            stream.is_attached() || stream.ended().is_none_or(|ended| now.saturating_duration_since(ended) < age)
        };
        let mut inner = self.inner();
        inner.posted.retain(is_recent);
        inner.listening.retain(is_recent);
    }

    /// Ends all streams for good.
    pub(crate) fn close(&self) {
        let inner = {
            let mut inner = self.inner();
            let closed = Inner { closed: true, ..Inner::default() };
            std::mem::replace(&mut *inner, closed)
        };
        inner.posted.iter().chain(&inner.listening).for_each(|stream| stream.end());
    }
}

impl Inner {
    fn wait(&mut self, message: Bytes) {
        self.waiting_bytes += message.len();
        self.waiting.push_back(message);
        while self.waiting.len() > MOST_WAITING || (self.waiting_bytes > WAITING_BYTES && self.waiting.len() > 1) {
            if let Some(oldest) = self.waiting.pop_front() {
                self.waiting_bytes -= oldest.len();
            }
        }
    }

    fn flush(&mut self, stream: &Stream) {
        self.waiting_bytes = 0;
        for message in self.waiting.drain(..) {
            stream.offer(message.into());
        }
    }
}
