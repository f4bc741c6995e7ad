//! A client of the demo: what stands in for the agent.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value, parse_str};
use portcullis_model::object;

/// Longest wait for one answer: a first start compiles the bundle, which takes a busy machine a minute.
const PATIENCE: Duration = Duration::from_mins(3);

/// Messages that wait to be looked at; the client looks at all while it waits for an answer.
const MOST_WAITING: usize = 1_024;

/// What the demo could not do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The gateway could not be started.
    #[error("the gateway could not be started")]
    Start(#[source] std::io::Error),
    /// Its pipes broke.
    #[error("the gateway does not listen any more")]
    Write(#[source] std::io::Error),
    /// It ended or closed its output.
    #[error("the gateway ended")]
    Ended,
    /// It did not answer.
    #[error("the gateway did not answer `{0}` in time")]
    TimedOut(&'static str),
}

/// A gateway with the demo as its client.
pub(crate) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: u64,
    /// How often the client's model was asked.
    pub(crate) sampled: usize,
    /// How often the gateway said that its tools changed.
    pub(crate) changes: usize,
}

impl Client {
    /// Starts `run` of this very program in a home folder.
    pub(crate) fn start(home: &Path) -> Result<Self, ClientError> {
        let program = std::env::current_exe().map_err(ClientError::Start)?;
        let log = std::fs::File::create(home.join("stderr.log")).map_err(ClientError::Start)?;
        let mut process = Command::new(program)
            .arg("run")
            .arg("--home")
            .arg(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(ClientError::Start)?;
        let (sender, messages) = sync_channel(MOST_WAITING);
        let output = process.stdout.take();
        std::thread::spawn(move || {
            let Some(output) = output else { return };
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(message) = parse_str(&line)
                    && sender.send(message).is_err()
                {
                    return;
                }
            }
        });
        let input = process.stdin.take();
        Ok(Self { process, input, messages, next: 1, sampled: 0, changes: 0 })
    }

    /// Introduces itself as a client that has a model to ask, and nobody to approve anything.
    pub(crate) fn initialize(&mut self) -> Result<(), ClientError> {
        let params = object! {
            "protocolVersion" => "2025-06-18",
            "capabilities" => object! { "sampling" => object! {} },
            "clientInfo" => object! { "name" => "portcullis-demo", "version" => env!("CARGO_PKG_VERSION") },
        };
        self.request("initialize", params)?;
        self.send(object! { "jsonrpc" => "2.0", "method" => "notifications/initialized" })
    }

    /// Returns the names of the tools that the model sees.
    pub(crate) fn tools(&mut self) -> Result<Vec<String>, ClientError> {
        let answer = self.request("tools/list", object! {})?;
        let tools = answer.pointer("/result/tools").and_then(Value::as_array).unwrap_or_default();
        Ok(tools.iter().filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned)).collect())
    }

    /// Calls a tool. Returns the whole answer, as the model's side gets it.
    pub(crate) fn call(&mut self, name: &str, arguments: Object) -> Result<Value, ClientError> {
        self.request("tools/call", object! { "name" => name, "arguments" => arguments })
    }

    /// Closes its end and waits until the gateway is gone. Nothing where it had to be killed.
    pub(crate) fn close(mut self) -> Option<ExitStatus> {
        drop(self.input.take());
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn request(&mut self, method: &'static str, params: Object) -> Result<Value, ClientError> {
        let id = self.next;
        self.next += 1;
        self.send(object! { "jsonrpc" => "2.0", "id" => id, "method" => method, "params" => params })?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Err(ClientError::TimedOut(method)),
                Err(RecvTimeoutError::Disconnected) => return Err(ClientError::Ended),
            };
            match message.get("method").and_then(Value::as_str).map(str::to_owned) {
                None if message.get("id").and_then(Value::as_u64) == Some(id) => return Ok(message),
                None => {}
                Some(asked) => self.asked(&asked, &message)?,
            }
        }
    }

    /// Answers what the gateway asks.
    fn asked(&mut self, method: &str, message: &Value) -> Result<(), ClientError> {
        if method == "notifications/tools/list_changed" {
            self.changes += 1;
        }
        let Some(id) = message.get("id").cloned() else { return Ok(()) };
        let answer = match method {
            "sampling/createMessage" => {
                self.sampled += 1;
                let content = object! { "type" => "text", "text" => "milk" };
                Ok(object! { "role" => "assistant", "content" => content, "model" => "demo" })
            }
            "ping" => Ok(object! {}),
            _ => Err(object! { "code" => -32601_i64, "message" => "method not found" }),
        };
        self.send(match answer {
            Ok(result) => object! { "jsonrpc" => "2.0", "id" => id, "result" => result },
            Err(error) => object! { "jsonrpc" => "2.0", "id" => id, "error" => error },
        })
    }

    fn send(&mut self, message: Object) -> Result<(), ClientError> {
        let input = self.input.as_mut().ok_or(ClientError::Ended)?;
        let mut line = Value::from(message).to_json();
        line.push('\n');
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(ClientError::Write)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Only reached with a process that runs where something failed before.
        if let Ok(None) = self.process.try_wait() {
            let _gone = self.process.kill();
            let _reaped = self.process.wait();
        }
    }
}
