//! A client on the other end of two pipes.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use super::{Connection, Entrance, Lines, Outbox, Outlet, Schemas};
use crate::gateway::Gateway;

/// Once a client sends no more, its running requests have this long to end: enough for one that was piped in with its
/// requests and reads the answers, too short to keep an orphan alive.
const LINGER: Duration = Duration::from_secs(10);

/// So long a client is given to read what was written last.
const FLUSH: Duration = Duration::from_secs(2);

/// The client's pipe broke.
#[derive(Debug, thiserror::Error)]
#[error("the pipe from or to the client broke")]
pub struct ServeError(#[source] std::io::Error);

/// Serves one client until it closes its end, then ends its requests and its session. The servers keep running: that is
/// up to [`Gateway::shutdown`]. Dropping the future cuts the client off.
pub async fn serve_stdio<R, W>(gateway: Arc<Gateway>, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_stdio_with(gateway, Schemas::Listed, reader, writer).await
}

/// Serves one client as [`serve_stdio`] does, and shows it the schemas of tools in that form.
pub async fn serve_stdio_with<R, W>(
    gateway: Arc<Gateway>,
    schemas: Schemas,
    reader: R,
    writer: W,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // A task of its own: where this future is driven by the main thread, each message would cost a wake-up between it
    // and the workers.
    let mut serving = OnDrop(tokio::spawn(serve(gateway, Entrance::stdio(schemas), reader, writer)));
    match (&mut serving.0).await {
        Ok(outcome) => outcome,
        Err(broken) => {
            let kind = if broken.is_panic() { "serving the client broke" } else { "serving the client was ended" };
            Err(ServeError(std::io::Error::other(kind)))
        }
    }
}

/// Ends a task when it is dropped.
struct OnDrop<T>(JoinHandle<T>);

impl<T> Drop for OnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Ends everything of a client when it is dropped, however serving it ends.
struct Client(Arc<Connection>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn serve<R, W>(gateway: Arc<Gateway>, entrance: Entrance, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let outbox = Arc::new(Outbox::default());
    let outlet = Outlet::Pipe(Arc::clone(&outbox));
    let connection = Arc::new(Connection::new(gateway, entrance, outlet.clone()));
    let client = Client(Arc::clone(&connection));
    let mut writing = OnDrop(tokio::spawn({
        let outbox = Arc::clone(&outbox);
        async move { outbox.drain(writer).await }
    }));
    let _telling = OnDrop(tokio::spawn({
        let connection = Arc::clone(&connection);
        async move { connection.tell_changes().await }
    }));
    let mut lines = Lines::new(reader);
    let outcome = loop {
        tokio::select! {
            // Reading first: the writer ends only when the client is gone.
            biased;
            line = lines.next() => match line {
                Ok(Some(incoming)) => connection.take(incoming, &outlet).await,
                Ok(None) => {
                    let _ = tokio::time::timeout(LINGER, connection.idle()).await;
                    break Ok(());
                }
                Err(error) => break unless_gone(Err(error)),
            },
            written = &mut writing.0 => return unless_gone(written.unwrap_or(Ok(()))),
        }
    };
    drop(client);
    if outbox.dropped() > 0 {
        tracing::warn!(dropped = outbox.dropped(), "notifications were dropped: the client did not read them");
    }
    // What was written last is on its way; a client that does not read it is not waited for.
    let _ = tokio::time::timeout(FLUSH, &mut writing.0).await;
    outcome
}

/// A client that is gone ended its session, which is no error of ours.
fn unless_gone(outcome: std::io::Result<()>) -> Result<(), ServeError> {
    match outcome {
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
        other => other.map_err(ServeError),
    }
}
