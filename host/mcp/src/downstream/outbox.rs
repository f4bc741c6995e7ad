//! What waits to be written to a client.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

/// Above this, responses wait for the client to read: twice the largest message.
const HIGH_WATER: usize = 32 * 1024 * 1024;
/// Above this, notifications are dropped and counted: a client that does not read them misses nothing by it.
const NOTIFICATION_WATER: usize = 1024 * 1024;

/// Messages on their way to a client, in order, written by one task in as few writes as possible.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pending: Mutex<Vec<u8>>,
    filled: Notify,
    emptied: Notify,
    closed: AtomicBool,
    dropped: AtomicU64,
}

/// The client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub(crate) struct Gone;

impl Outbox {
    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Appends one message by letting `write` append its bytes; the line end is added here. Waits while the client
    /// does not read.
    pub(crate) async fn send(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Gone> {
        loop {
            let emptied = self.emptied.notified();
            if self.closed.load(Ordering::Acquire) {
                return Err(Gone);
            }
            {
                let mut pending = self.pending();
                if pending.len() < HIGH_WATER {
                    append(&mut pending, write);
                    break;
                }
            }
            emptied.await;
        }
        self.filled.notify_one();
        Ok(())
    }

    /// Appends one notification, or drops and counts it where the client does not read.
    pub(crate) fn offer(&self, write: impl FnOnce(&mut Vec<u8>)) {
        {
            let mut pending = self.pending();
            if pending.len() >= NOTIFICATION_WATER || self.closed.load(Ordering::Acquire) {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            append(&mut pending, write);
        }
        self.filled.notify_one();
    }

    /// Returns how many notifications were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Ends the writer once everything is written.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.filled.notify_one();
        self.emptied.notify_waiters();
    }

    /// Writes until the outbox is closed and empty, or the client is gone.
    pub(crate) async fn drain<W: AsyncWrite + Unpin>(&self, mut writer: W) -> std::io::Result<()> {
        let mut batch = Vec::new();
        loop {
            std::mem::swap(&mut batch, &mut *self.pending());
            if batch.is_empty() {
                if self.closed.load(Ordering::Acquire) {
                    return writer.shutdown().await;
                }
                self.filled.notified().await;
                continue;
            }
            self.emptied.notify_waiters();
            let written = async {
                writer.write_all(&batch).await?;
                writer.flush().await
            }
            .await;
            if let Err(error) = written {
                self.close();
                return Err(error);
            }
            batch.clear();
            // One huge message must not keep its memory for good.
            batch.shrink_to(NOTIFICATION_WATER);
        }
    }
}

fn append(pending: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    write(pending);
    pending.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn messages_are_written_in_order_one_a_line() {
        let outbox = Arc::new(Outbox::default());
        let (writer, mut reader) = tokio::io::duplex(64);
        let drained = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.drain(writer).await }
        });
        for number in 0..100_u64 {
            outbox.send(|bytes| bytes.extend_from_slice(number.to_string().as_bytes())).await.unwrap();
        }
        outbox.close();
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        let expected: Vec<String> = (0..100_u64).map(|number| number.to_string()).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        drained.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn notifications_are_dropped_and_counted_where_the_client_does_not_read() {
        let outbox = Outbox::default();
        let big = vec![b'x'; NOTIFICATION_WATER];
        outbox.offer(|bytes| bytes.extend_from_slice(&big));
        outbox.offer(|bytes| bytes.extend_from_slice(b"late"));
        assert_eq!(outbox.dropped(), 1);
    }

    #[tokio::test]
    async fn nothing_is_accepted_once_the_client_is_gone() {
        let outbox = Arc::new(Outbox::default());
        let (writer, reader) = tokio::io::duplex(4);
        drop(reader);
        outbox.send(|bytes| bytes.extend_from_slice(b"hello")).await.unwrap();
        assert!(outbox.drain(writer).await.is_err());
        assert_eq!(outbox.send(|_| ()).await, Err(Gone));
    }
}
