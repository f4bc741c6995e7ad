//! How fast the head of a request has to come.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// What a connection waits for: the head of a request where the number is even, the end of an answer where it is odd.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace(Arc<AtomicU64>);

impl Pace {
    /// Notes that a request is there, whose answer lasts until the returned value is dropped.
    pub(super) fn begin(&self) -> Answering {
        self.0.fetch_add(1, Ordering::Relaxed);
        Answering(Self::clone(self))
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering(Pace);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of an answer, which ends with it.
#[derive(Debug)]
pub(super) struct Answered<B> {
    pub(super) body: B,
    pub(super) _answering: Answering,
}

impl<B: Body + Unpin> Body for Answered<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that breaks where the head of a request, once begun, does not come to its end in time. HTTP/1 of `hyper` has
/// one limit for that and for connections on which nothing comes.
#[derive(Debug)]
pub(super) struct Paced<S> {
    stream: S,
    pace: Pace,
    limit: Duration,
    /// What was waited for when it was read last.
    seen: u64,
    /// When the head has to be there, where it has begun.
    due: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    /// Wraps a connection; its first head has begun.
    pub(super) fn new(stream: S, pace: Pace, limit: Duration) -> Self {
        Self { stream, pace, limit, seen: 0, due: Some(Box::pin(sleep(limit))) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        let now = self.pace.0.load(Ordering::Relaxed);
        if now != self.seen {
            (self.seen, self.due) = (now, None);
        }
        let limit = self.limit;
        match outcome {
            _ if now % 2 == 1 => outcome,
            Poll::Ready(Ok(())) if buffer.filled().len() > before => {
                self.due.get_or_insert_with(|| Box::pin(sleep(limit)));
                outcome
            }
            Poll::Ready(_) => outcome,
            Poll::Pending => {
                let is_due = self.due.as_mut().is_some_and(|due| due.as_mut().poll(context).is_ready());
                if is_due { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { Poll::Pending }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_is_due_and_a_connection_without_one_is_not() {
        let (mut client, server) = duplex(64);
        let pace = Pace::default();
        let mut server = Paced::new(server, pace.clone(), LIMIT);
        let mut bytes = [0; 8];
        client.write_all(b"GET").await.unwrap();
        server.read_exact(&mut bytes[..3]).await.unwrap();
        drop(pace.begin());
        let idle = tokio::time::timeout(LIMIT * 10, server.read(&mut bytes));
        assert!(idle.await.is_err(), "that head came to its end, and no other one has begun");
        let answering = pace.begin();
        let body = tokio::time::timeout(LIMIT * 10, server.read(&mut bytes));
        assert!(body.await.is_err(), "a body has a limit of its own");
        drop(answering);
        client.write_all(b"G").await.unwrap();
        server.read_exact(&mut bytes[..1]).await.unwrap();
        let begun = tokio::time::Instant::now();
        let error = server.read(&mut bytes).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_nothing_ever_comes_is_given_up() {
        let (_client, server) = duplex(64);
        let mut server = Paced::new(server, Pace::default(), LIMIT);
        assert_eq!(server.read(&mut [0; 8]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
