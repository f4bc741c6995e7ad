//! A raw MCP client over the standard streams of a process: it sees every member of every message.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value, parse};
use portcullis_model::object;

/// A test that waits longer has found a hang.
const PATIENCE: Duration = Duration::from_mins(1);

/// So long a real server takes to start at most, on a machine that does much else.
const SLOWEST_START: Duration = Duration::from_mins(5);

/// A raw MCP client. The process ends with it.
#[derive(Debug)]
pub struct Client {
    program: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    next_id: u64,
    /// What every request carries in the stateless era.
    stateless: Option<Object>,
    /// What came that was no reply to the request waited for, in order.
    pub others: VecDeque<Value>,
}

/// A reply with the time it took.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The whole message.
    pub message: Value,
    /// From sending to receiving.
    pub elapsed: Duration,
}

impl Reply {
    /// Returns the result.
    ///
    /// # Panics
    /// Where the reply is an error.
    pub fn result(&self) -> &Value {
        self.message.get("result").unwrap_or_else(|| panic!("an error came: {}", self.message.to_json()))
    }

    /// Returns the code of the error, if it is one.
    pub fn error_code(&self) -> Option<i64> {
        self.message.pointer("/error/code").and_then(Value::as_i64)
    }

    /// Returns all text blocks of a tool result, joined by newlines.
    pub fn text(&self) -> String {
        let blocks = self.result().get("content").and_then(Value::as_array).unwrap_or_default();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        texts.join("\n")
    }
}

impl Client {
    /// Starts the process.
    ///
    /// # Panics
    /// Where it can't be started.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} did not start: {error}", command.get_program().display()));
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("the output was piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) if sender.send(line).is_err() => break,
                    Ok(_) => {}
                }
            }
        });
        let program = command.get_program().display().to_string();
        Self { program, child, input, lines, next_id: 1, stateless: None, others: VecDeque::new() }
    }

    /// Starts the process and shakes hands, declaring the given capabilities.
    ///
    /// # Panics
    /// Where the handshake fails.
    pub fn connect(command: &mut Command, capabilities: Value) -> Self {
        let mut client = Self::start(command);
        let params = object! {
            "protocolVersion" => "2025-11-25",
            "capabilities" => capabilities,
            "clientInfo" => object! { "name" => "raw-test-client", "version" => "1" },
        };
        client.request("initialize", params.into()).result();
        client.send(&object! { "jsonrpc" => "2.0", "method" => "notifications/initialized" }.into());
        client
    }

    /// Starts the process and speaks the stateless era to it, declaring the given capabilities with every request. Returns
    /// nothing where it does not speak that era.
    ///
    /// # Panics
    /// Where it does not answer.
    pub fn connect_stateless(command: &mut Command, capabilities: Value) -> Option<Self> {
        let mut client = Self::start(command);
        client.stateless = Some(object! {
            "io.modelcontextprotocol/protocolVersion" => "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities" => capabilities,
            "io.modelcontextprotocol/clientInfo" => object! { "name" => "raw-test-client", "version" => "1" },
        });
        let answer = client.request("server/discover", object! {}.into()).message;
        let versions = answer.pointer("/result/supportedVersions").and_then(Value::as_array).unwrap_or_default();
        versions.iter().any(|version| version.as_str() == Some("2026-07-28")).then_some(client)
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends any value as one line.
    ///
    /// # Panics
    /// Where the process no longer reads.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(message.to_json().as_bytes());
    }

    /// Sends any bytes as one line.
    ///
    /// # Panics
    /// Where the process no longer reads.
    pub fn send_raw(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input
            .write_all(line)
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush())
            .expect("the process reads");
    }

    /// Sends a request and returns its id without waiting.
    pub fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let (Some(own), Some(params)) = (&self.stateless, params.as_object_mut()) {
            let mut meta = own.clone();
            for (key, value) in params.get("_meta").and_then(Value::as_object).into_iter().flat_map(Object::iter) {
                meta.insert(key, value.clone());
            }
            params.insert("_meta", meta);
        }
        self.send(&object! { "jsonrpc" => "2.0", "id" => id, "method" => method, "params" => params }.into());
        id
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Panics
    /// Where none comes in a minute.
    pub fn request(&mut self, method: &str, params: Value) -> Reply {
        let start = Instant::now();
        let id = self.begin(method, params);
        let message = self.reply_to(id);
        Reply { message, elapsed: start.elapsed() }
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.request("tools/call", object! { "name" => tool, "arguments" => arguments }.into())
    }

    /// Returns the listed tools.
    ///
    /// # Panics
    /// Where the list is malformed.
    pub fn tools(&mut self) -> Vec<Value> {
        let reply = self.request("tools/list", object! {}.into());
        reply.result().get("tools").and_then(Value::as_array).expect("a list of tools").to_vec()
    }

    /// Returns the listed tools once they are as wanted: what starts slowly is missing in the first lists of a gateway.
    /// After some minutes they are returned as they are.
    ///
    /// # Panics
    /// Where the list is malformed.
    pub fn tools_once(&mut self, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + SLOWEST_START;
        loop {
            let tools = self.tools();
            if wanted(&tools) || Instant::now() > end {
                return tools;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Returns the names of the listed tools.
    pub fn tool_names(&mut self) -> Vec<String> {
        self.tools().iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect()
    }

    /// Waits for the reply to an id; all else is kept in [`Self::others`].
    ///
    /// # Panics
    /// Where none comes in a minute.
    pub fn reply_to(&mut self, id: u64) -> Value {
        let is_reply =
            |message: &Value| message.get("method").is_none() && message.get("id").and_then(Value::as_u64) == Some(id);
        self.wait_for(PATIENCE, is_reply).unwrap_or_else(|| {
            let state = self.child.try_wait().ok().flatten();
            let state = state.map_or_else(|| "which still runs".to_owned(), |status| format!("which ended: {status}"));
            panic!("no reply to {id} from {}, {state}; others: {:?}", self.program, self.others)
        })
    }

    /// Waits for a message; those before it are kept in [`Self::others`]. Returns nothing where time runs out.
    pub fn wait_for(&mut self, patience: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(position) = self.others.iter().position(&wanted) {
            return self.others.remove(position);
        }
        let end = Instant::now() + patience;
        loop {
            let message = self.receive(end.saturating_duration_since(Instant::now()))?;
            if wanted(&message) {
                return Some(message);
            }
            self.others.push_back(message);
        }
    }

    /// Returns the next message, or nothing where time runs out or the process ended.
    ///
    /// # Panics
    /// Where the process writes something that is no JSON: its output is the protocol's alone.
    pub fn receive(&mut self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                Some(parse(line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line))))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Closes the input and waits for the end. Returns true where it ended in time.
    pub fn close(&mut self, patience: Duration) -> bool {
        self.input = None;
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.close(Duration::from_secs(5)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}
