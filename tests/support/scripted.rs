//! A server whose every message the test writes, and which keeps every message it got.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value, parse};
use portcullis_model::object;

/// Waiting longer means that the message does not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// The key under which a message says to which `subscriptions/listen` it belongs (MCP 2026-07-28).
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What the server is to do, and what it saw.
#[derive(Debug, Default)]
pub struct Script {
    /// Whether it speaks the stateless era, instead of the one with a handshake.
    pub is_stateless: bool,
    /// The tools it lists.
    pub tools: Vec<Value>,
    /// What it sends before it answers a call: requests of its own (with an id) and notifications. Where the params hold
    /// a `progressToken`, the token of the call takes its place.
    pub before: Vec<Value>,
    /// The answer to a call: `{"result": …}` or `{"error": …}`.
    pub answer: Object,
    /// What it asks before it answers a call in the stateless era: the request, as it stands in `inputRequests`.
    pub question: Option<Value>,
    /// Where it is there, calls of clients that take one become a task, and this is what is told of it beside its id: once
    /// it is asked for; in the era with a handshake [`Script::answer`] is what comes of it. To be set before the gateway
    /// connects.
    pub task: Option<Object>,
    /// The parameters of the calls it got.
    pub calls: Vec<Value>,
    /// The answers to its own requests.
    pub replies: Vec<Value>,
    /// Under which id it is to tell of changes in the stateless era.
    listening: Option<Value>,
}

#[derive(Debug, Default)]
struct Shared {
    script: Mutex<Script>,
    /// The way to the gateway, once it connected.
    out: Mutex<Option<TcpStream>>,
    connected: Condvar,
}

/// A scripted server: it is reached through a small program that the gateway starts.
#[derive(Clone, Debug)]
pub struct Scripted {
    port: u16,
    shared: Arc<Shared>,
}

impl Scripted {
    /// The id that it gives to every task.
    pub const TASK: &str = "a task of the server's own";

    /// Listens on a free port of loopback.
    ///
    /// # Panics
    /// Where there is none.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&served);
                std::thread::spawn(move || serve(&shared, stream));
            }
        });
        Self { port, shared }
    }

    /// Returns its entry in a config.
    pub fn entry(&self) -> Object {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/relay.py");
        object! { "command" => "python3", "args" => vec![script.into(), self.port.to_string().into()] }
    }

    /// Returns the script, to read or change.
    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the gateway that the list of tools changed.
    ///
    /// # Panics
    /// Where the gateway does not connect, or does not want to be told.
    pub fn tell_of_change(&self) {
        let mut message = object! { "jsonrpc" => "2.0", "method" => "notifications/tools/list_changed" };
        if self.script().is_stateless {
            let deadline = Instant::now() + PATIENCE;
            while self.script().listening.is_none() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            let id = self.script().listening.clone().expect("the gateway listens for changes");
            message.insert("params", object! { "_meta" => object! { SUBSCRIPTION => id } });
        }
        self.send(&message.into());
    }

    /// Sends any message to the gateway, waiting for it to connect.
    ///
    /// # Panics
    /// Where it does not.
    pub fn send(&self, message: &Value) {
        let out = self.shared.out.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.connected.wait_timeout_while(out, PATIENCE, |out| out.is_none());
        let (mut out, _) = waited.unwrap_or_else(PoisonError::into_inner);
        write(out.as_mut().expect("the gateway connected"), message);
    }
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

fn write(mut stream: &TcpStream, message: &Value) {
    let mut line = message.to_json().into_bytes();
    line.push(b'\n');
    // A gateway that went away reads nothing more; the test notices by what it misses.
    drop(stream.write_all(&line));
}

fn serve(shared: &Shared, stream: TcpStream) {
    let out = stream.try_clone().expect("a second handle");
    *shared.out.lock().unwrap_or_else(PoisonError::into_inner) = stream.try_clone().ok();
    shared.connected.notify_all();
    // The call that waits for replies to requests of the server.
    let mut waiting: Option<(Value, usize)> = None;
    for line in BufReader::new(stream).split(b'\n') {
        let Ok(message) = line.map_err(drop).and_then(|line| parse(&line).map_err(drop)) else { return };
        let mut script = shared.script.lock().unwrap_or_else(PoisonError::into_inner);
        let id = message.get("id").cloned();
        let params = message.get("params").cloned().unwrap_or_else(|| Object::new().into());
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("server/discover"), Some(id)) if script.is_stateless => {
                reply(&out, id, &object! { "result" => discovered(script.task.is_some()) });
            }
            (Some("subscriptions/listen"), Some(id)) if script.is_stateless => {
                let meta = object! { SUBSCRIPTION => id.clone() };
                let wanted = params.get("notifications").cloned().unwrap_or(Value::Null);
                let params = object! { "notifications" => wanted, "_meta" => meta };
                let method = "notifications/subscriptions/acknowledged";
                write(&out, &object! { "jsonrpc" => "2.0", "method" => method, "params" => params }.into());
                script.listening = Some(id);
            }
            (Some("initialize"), Some(id)) if !script.is_stateless => {
                reply(&out, id, &object! { "result" => hello(script.task.is_some()) });
            }
            (Some("ping"), Some(id)) => reply(&out, id, &object! { "result" => object! {} }),
            (Some("tools/list"), Some(id)) => {
                let mut result = object! { "tools" => script.tools.clone() };
                if script.is_stateless {
                    for (key, value) in cacheable().iter() {
                        result.insert(key, value.clone());
                    }
                }
                reply(&out, id, &object! { "result" => result });
            }
            (Some("tools/call"), Some(id)) if script.question.is_some() && params.get("inputResponses").is_none() => {
                let requests = object! { "question" => script.question.clone().unwrap_or(Value::Null) };
                let result = object! { "resultType" => "input_required", "inputRequests" => requests };
                reply(&out, id, &object! { "result" => result });
            }
            (Some("tools/call"), Some(id)) if script.task.is_some() && takes_task(&params) => {
                let mut task = object! { "taskId" => Scripted::TASK, "status" => "working" };
                let result = if script.is_stateless {
                    task.insert("resultType", "task");
                    task.insert("ttlMs", Value::Null);
                    task
                } else {
                    task.insert("ttl", Value::Null);
                    object! { "task" => task }
                };
                reply(&out, id, &object! { "result" => result });
            }
            (Some("tasks/get"), Some(id)) => {
                let mut told = object! { "taskId" => Scripted::TASK };
                for (key, value) in script.task.iter().flat_map(Object::iter) {
                    told.insert(key, value.clone());
                }
                reply(&out, id, &object! { "result" => told });
            }
            (Some("tasks/result"), Some(id)) => reply(&out, id, &script.answer),
            (Some("tools/call"), Some(id)) => {
                let requests = script.before.iter().filter(|message| message.get("id").is_some()).count();
                for message in &script.before {
                    write(&out, &with_token(message, &params));
                }
                script.calls.push(params);
                if requests == 0 { reply(&out, id, &script.answer) } else { waiting = Some((id, requests)) }
            }
            (Some(_), Some(id)) => {
                let error = object! { "code" => -32601_i64, "message" => "Method not found" };
                reply(&out, id, &object! { "error" => error });
            }
            (Some(_) | None, None) => {}
            (None, Some(_)) => {
                script.replies.push(message);
                waiting = match waiting.take() {
                    Some((id, 1)) => {
                        reply(&out, id, &script.answer);
                        None
                    }
                    other => other.map(|(id, open)| (id, open - 1)),
                };
            }
        }
    }
}

fn reply(out: &TcpStream, id: Value, answer: &Object) {
    let mut message = object! { "jsonrpc" => "2.0", "id" => id };
    for (key, value) in answer.iter() {
        message.insert(key, value.clone());
    }
    write(out, &message.into());
}

fn cacheable() -> Object {
    object! { "resultType" => "complete", "ttlMs" => 0_u64, "cacheScope" => "private" }
}

/// Returns true where whoever sent these parameters of a call takes a task for an answer.
fn takes_task(params: &Value) -> bool {
    let extension = "/_meta/io.modelcontextprotocol~1clientCapabilities/extensions/io.modelcontextprotocol~1tasks";
    params.get("task").is_some() || params.pointer(extension).is_some()
}

fn discovered(makes_tasks: bool) -> Value {
    let mut result = cacheable();
    result.insert("supportedVersions", vec![Value::from("2026-07-28")]);
    let mut capabilities = object! { "tools" => object! { "listChanged" => true }, "logging" => object! {} };
    if makes_tasks {
        capabilities.insert("extensions", object! { "io.modelcontextprotocol/tasks" => object! {} });
    }
    result.insert("capabilities", capabilities);
    result.into()
}

fn hello(makes_tasks: bool) -> Value {
    let mut capabilities = object! { "tools" => object! { "listChanged" => true }, "logging" => object! {} };
    if makes_tasks {
        let calls = object! { "tools" => object! { "call" => object! {} } };
        capabilities.insert("tasks", object! { "requests" => calls, "list" => object! {} });
    }
    object! {
        "protocolVersion" => "2025-11-25", "capabilities" => capabilities,
        "serverInfo" => object! { "name" => "scripted", "version" => "1" },
    }
    .into()
}

fn with_token(message: &Value, call: &Value) -> Value {
    let mut message = message.clone();
    let token = call.pointer("/_meta/progressToken").cloned();
    if let (Some(place), Some(token)) = (message.pointer_mut("/params/progressToken"), token) {
        *place = token;
    }
    message
}
