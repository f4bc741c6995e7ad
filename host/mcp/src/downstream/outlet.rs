//! Where messages to a client go: a pipe has one way for all, HTTP one for each request and one for the rest.

use std::sync::Arc;

use super::http::{Stream, Streams};
use super::outbox::{Gone, Outbox};

/// Where messages to a client go.
#[derive(Clone, Debug)]
pub(crate) enum Outlet {
    /// The one pipe that everything goes into.
    Pipe(Arc<Outbox>),
    /// The answer to one HTTP request, and what precedes it.
    Stream(Arc<Stream>),
    /// What belongs to no request of an HTTP session.
    Session(Arc<Streams>),
}

impl Outlet {
    /// Sends one message by letting `write` append its bytes. Waits while the client does not read.
    pub(crate) async fn send(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Gone> {
        match self {
            Self::Pipe(outbox) => outbox.send(write).await,
            Self::Stream(stream) => stream.send(written(write)).await,
            Self::Session(streams) => streams.send(written(write)),
        }
    }

    /// Sends the response to a request. Nothing of that request may follow.
    pub(crate) async fn reply(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Gone> {
        match self {
            Self::Pipe(outbox) => outbox.send(write).await,
            Self::Stream(stream) => {
                stream.answer(written(write));
                Ok(())
            }
            Self::Session(streams) => streams.send(written(write)),
        }
    }

    /// As [`Outlet::reply`], for where nobody can wait: a client that does not read loses it.
    pub(crate) fn reply_at_once(&self, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Stream(stream) => stream.answer(written(write)),
            Self::Pipe(_) | Self::Session(_) => {
                self.offer(write);
            }
        }
    }

    /// Says that a request will get no response: it was cancelled.
    pub(crate) fn withdraw(&self) {
        if let Self::Stream(stream) = self {
            stream.withdraw();
        }
    }

    /// Sends one notification, or drops it where the client does not read. Returns false where the way is closed: it
    /// may then go another one.
    pub(crate) fn offer(&self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self {
            Self::Pipe(outbox) => {
                outbox.offer(write);
                true
            }
            Self::Stream(stream) => stream.offer(written(write)),
            Self::Session(streams) => {
                streams.offer(written(write));
                true
            }
        }
    }

    /// Closes the way for good.
    pub(crate) fn close(&self) {
        match self {
            Self::Pipe(outbox) => outbox.close(),
            Self::Stream(stream) => stream.end(),
            Self::Session(streams) => streams.close(),
        }
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}
