//! A client on the other end of two pipes.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::connection::Connection;
use super::{Lines, Outbox};
use crate::gateway::Gateway;

/// Once a client sends no more, its running requests have this long to end: enough for one that was piped in with its
/// requests and reads the answers, too short to keep an orphan alive.
const LINGER: Duration = Duration::from_secs(10);

/// The client's pipe broke.
#[derive(Debug, thiserror::Error)]
#[error("the pipe from or to the client broke")]
pub struct ServeError(#[source] std::io::Error);

/// Serves one client until it closes its end, then ends its requests and its session. The servers keep running: that is
/// up to [`Gateway::shutdown`].
pub async fn serve_stdio<R, W>(gateway: Arc<Gateway>, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let outbox = Arc::new(Outbox::default());
    let connection = Arc::new(Connection::new(gateway, Arc::clone(&outbox)));
    let mut writing = tokio::spawn({
        let outbox = Arc::clone(&outbox);
        async move { outbox.drain(writer).await }
    });
    let telling = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move { connection.tell_changes().await }
    });
    let mut lines = Lines::new(reader);
    let outcome = loop {
        tokio::select! {
            // Reading first: the writer ends only when the client is gone.
            biased;
            line = lines.next() => match line {
                Ok(Some(incoming)) => connection.take(incoming).await,
                Ok(None) => {
                    let _ = tokio::time::timeout(LINGER, connection.idle()).await;
                    break Ok(());
                }
                Err(error) => break Err(ServeError(error)),
            },
            written = &mut writing => {
                connection.close();
                telling.abort();
                return written.unwrap_or(Ok(())).map_err(ServeError);
            }
        }
    };
    connection.close();
    telling.abort();
    if outbox.dropped() > 0 {
        tracing::warn!(dropped = outbox.dropped(), "notifications were dropped: the client did not read them");
    }
    // What was written last is on its way; a client that does not read it is not waited for.
    let _ = tokio::time::timeout(Duration::from_secs(2), &mut writing).await;
    writing.abort();
    outcome
}
