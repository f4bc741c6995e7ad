//! The agent's end of its session: JSON-RPC over a pipe within the process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_mcp::{Gateway, Schemas, serve_stdio_with};
use portcullis_model::json::{Object, Value, parse};
use portcullis_model::object;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Bytes on their way in each direction: a few plain messages. Larger ones go through in pieces.
const PIPE: usize = 64 * 1024;

/// Messages of the agent that wait to be written; a further one waits with its caller.
const MOST_UNWRITTEN: usize = 64;

/// The gateway's messages are bounded by its own limit of 16 MiB for each side's content, and by escapes of control
/// characters that make a text six times as long at most.
const LONGEST_MESSAGE: u64 = 128 * 1024 * 1024;

/// JSON-RPC 2.0 §5.1: the method is not known.
const METHOD_NOT_FOUND: i64 = -32_601;

/// A request was not answered by a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    /// It was answered by an error.
    #[error("{message}")]
    Refused {
        /// The message of the error.
        message: String,
    },
    /// The gateway has ended.
    #[error("the gateway has ended")]
    Ended,
}

type Answer = Result<Value, RequestError>;

/// Requests that wait for their answers.
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Answer>>>>;

/// A session with the gateway.
#[derive(Debug)]
pub(super) struct Client {
    writing: mpsc::Sender<Object>,
    waiting: Waiting,
    next: AtomicU64,
    changes: watch::Sender<u64>,
    serving: Task,
    reading: Task,
    writer: Task,
}

impl Client {
    /// Connects. Call it inside a tokio runtime.
    pub(super) fn connect(gateway: Arc<Gateway>, schemas: Schemas) -> Self {
        let (near, far) = duplex(PIPE);
        let (from_client, to_client) = tokio::io::split(far);
        let (reader, writer) = tokio::io::split(near);
        let serving = tokio::spawn(async move {
            if let Err(error) = serve_stdio_with(gateway, schemas, from_client, to_client).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the embedded session ended");
            }
        });
        let (sender, unwritten) = mpsc::channel(MOST_UNWRITTEN);
        let waiting = Waiting::default();
        let changes = watch::Sender::new(0);
        let heard = Heard { waiting: Arc::clone(&waiting), changes: changes.clone(), writing: sender.clone() };
        Self {
            writing: sender,
            waiting,
            next: AtomicU64::new(1),
            changes,
            serving: Task(serving),
            reading: Task(tokio::spawn(heard.read(reader))),
            writer: Task(tokio::spawn(write(unwritten, writer))),
        }
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    pub(super) async fn request(&self, method: &str, params: Value) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        locked(&self.waiting).insert(id, sender);
        let begun = Begun { client: self, id };
        let message = object! { "jsonrpc" => "2.0", "id" => id, "method" => method, "params" => params };
        self.writing.send(message).await.map_err(|_| RequestError::Ended)?;
        let answer = answer.await.unwrap_or(Err(RequestError::Ended));
        drop(begun);
        answer
    }

    /// Sends a notification without parameters. One that finds the queue full is left out: nothing waits for it.
    pub(super) fn tell(&self, method: &str) {
        let _full = self.writing.try_send(object! { "jsonrpc" => "2.0", "method" => method });
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Closes the agent's end and waits until the gateway has let go of the session.
    pub(super) async fn close(self) {
        let Self { mut serving, reading, writer, .. } = self;
        drop((reading, writer));
        // What runs of the session's requests has a while to end: the gateway knows how long.
        let _broken = (&mut serving.0).await;
    }
}

/// A task that ends with its value.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A request that was begun. Where nobody waits for it any more, the gateway is told.
struct Begun<'a> {
    client: &'a Client,
    id: u64,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if locked(&self.client.waiting).remove(&self.id).is_some() {
            let params = object! { "requestId" => self.id, "reason" => "nobody waits for the answer any more" };
            let message = object! { "jsonrpc" => "2.0", "method" => "notifications/cancelled", "params" => params };
            let _full = self.client.writing.try_send(message);
        }
    }
}

fn locked(waiting: &Waiting) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn write(mut unwritten: mpsc::Receiver<Object>, mut writer: WriteHalf<DuplexStream>) {
    while let Some(message) = unwritten.recv().await {
        let mut line = Vec::new();
        Value::from(message).write_to(&mut line);
        line.push(b'\n');
        if writer.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// What messages of the gateway reach.
struct Heard {
    waiting: Waiting,
    changes: watch::Sender<u64>,
    writing: mpsc::Sender<Object>,
}

impl Heard {
    async fn read(self, reader: ReadHalf<DuplexStream>) {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut reader).take(LONGEST_MESSAGE).read_until(b'\n', &mut line).await {
                Ok(count) if count > 0 => match parse(&line) {
                    Ok(message) => self.take(&message),
                    Err(error) => tracing::error!(%error, "the gateway wrote what is no message"),
                },
                Ok(_) | Err(_) => break,
            }
        }
        // Whoever waits is told that it ended.
        locked(&self.waiting).clear();
    }

    fn take(&self, message: &Value) {
        let id = message.get("id");
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("notifications/tools/list_changed"), _) => self.changes.send_modify(|count| *count += 1),
            (Some("ping"), Some(id)) => self.reply(id, "result", Object::new().into()),
            (Some(_), Some(id)) => {
                let error =
                    object! { "code" => METHOD_NOT_FOUND, "message" => "the agent offers nothing of this kind" };
                self.reply(id, "error", error.into());
            }
            (Some(_), None) => {}
            (None, id) => {
                let waiting = id.and_then(Value::as_u64).and_then(|id| locked(&self.waiting).remove(&id));
                if let Some(waiting) = waiting {
                    let _gone = waiting.send(answer(message));
                }
            }
        }
    }

    fn reply(&self, id: &Value, member: &str, value: Value) {
        let _full = self.writing.try_send(object! { "jsonrpc" => "2.0", "id" => id.clone(), member => value });
    }
}

fn answer(message: &Value) -> Answer {
    if let Some(result) = message.get("result") {
        return Ok(result.clone());
    }
    let text = message.pointer("/error/message").and_then(Value::as_str).unwrap_or("it failed");
    Err(RequestError::Refused { message: text.to_owned() })
}
