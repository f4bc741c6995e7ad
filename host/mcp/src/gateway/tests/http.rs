//! Clients over HTTP, byte by byte.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use portcullis_door::{Clock, DoorSettings, FrontDoor, PublicUrl, TrustedProxies};
use portcullis_model::Secret;
use portcullis_model::json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::support::{Running, SOON, json};
use crate::{HttpOptions, serve_http};

/// A door that is open until it is dropped.
pub(super) struct Open {
    pub(super) address: SocketAddr,
    pub(super) running: Running,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<tokio::task::JoinHandle<()>>,
}

impl Open {
    pub(super) async fn new(running: Running, options: HttpOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let gateway = Arc::clone(&running.gateway);
        let serving = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serve_http(gateway, listener, options, stopped).await.unwrap();
        });
        Self { address, running, stop: Some(stop), serving: Some(serving) }
    }

    /// A request of a client that does everything right.
    pub(super) fn request(&self, method: &str, path: &str) -> Outgoing {
        let head = [("Host", self.address.to_string()), ("Accept", "application/json, text/event-stream".to_owned())];
        let headers = head.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Outgoing { address: self.address, line: format!("{method} {path} HTTP/1.1"), headers, body: Vec::new() }
    }

    pub(super) fn post(&self, body: &str) -> Outgoing {
        self.request("POST", "/mcp").with("Content-Type", "application/json").body(body)
    }

    /// Opens a session and returns a client that speaks in it.
    pub(super) async fn introduce(&self, revision: &str, capabilities: &str) -> Client<'_> {
        self.introduce_at("/mcp", revision, capabilities).await
    }

    pub(super) async fn introduce_at(&self, path: &'static str, revision: &str, capabilities: &str) -> Client<'_> {
        let params = format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"1"}}}}"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
        let request = self.request("POST", path).with("Content-Type", "application/json").body(body);
        let answer = request.whole().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), "application/json");
        let session = answer.header("mcp-session-id").to_owned();
        let client = Client { door: self, path, session };
        let accepted = client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).whole().await;
        assert_eq!((accepted.status, accepted.body.as_slice()), (202, &[][..]));
        client
    }

    /// Closes the door and waits until nothing of it is left.
    pub(super) async fn close(mut self) {
        drop(self.stop.take());
        self.serving.take().unwrap().await.unwrap();
    }
}

/// A client of one session.
pub(super) struct Client<'a> {
    door: &'a Open,
    path: &'static str,
    pub(super) session: String,
}

impl Client<'_> {
    pub(super) fn request(&self, method: &str) -> Outgoing {
        self.door.request(method, self.path).with("Mcp-Session-Id", &self.session)
    }

    pub(super) fn post(&self, body: &str) -> Outgoing {
        self.request("POST").with("Content-Type", "application/json").body(body)
    }

    /// Posts a request.
    pub(super) fn ask(&self, id: u64, method: &str, params: &str) -> Outgoing {
        self.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
    }

    pub(super) fn call(&self, id: u64, tool: &str) -> Outgoing {
        self.ask(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#))
    }

    /// As [`Client::call`], with a wish for progress.
    pub(super) fn call_with_token(&self, id: u64, tool: &str) -> Outgoing {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"p{id}"}}}}"#);
        self.ask(id, "tools/call", &params)
    }

    pub(super) async fn listen(&self) -> Incoming {
        let incoming = self.request("GET").send().await;
        assert_eq!((incoming.status, incoming.header("content-type")), (200, "text/event-stream"));
        incoming
    }

    pub(super) async fn resume(&self, event: &str) -> Incoming {
        self.request("GET").with("Last-Event-ID", event).send().await
    }
}

/// A request that is not sent yet.
#[derive(Clone)]
pub(super) struct Outgoing {
    address: SocketAddr,
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Outgoing {
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    /// Replaces a header.
    pub(super) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(super) fn written(&self) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        let has_length = self.headers.iter().any(|(name, _)| name == "Content-Length" || name == "Transfer-Encoding");
        if !has_length && !self.line.starts_with("GET") {
            write!(text, "Content-Length: {}\r\n", self.body.len()).unwrap();
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a connection of its own, and reads the head of the answer.
    pub(super) async fn send(&self) -> Incoming {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may answer and close before all is sent.
        let _ = stream.write_all(&self.written()).await;
        Incoming::read(stream).await
    }

    /// Sends it and reads the whole answer.
    pub(super) async fn whole(&self) -> Whole {
        self.send().await.whole().await
    }
}

/// An answer whose head was read.
pub(super) struct Incoming {
    pub(super) status: u16,
    headers: HashMap<String, String>,
    stream: BufReader<TcpStream>,
    /// Bytes of a chunk that are still to come.
    chunk: usize,
    ended: bool,
    buffered: String,
}

/// An event of a stream.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
    pub(super) data: String,
}

impl Event {
    pub(super) fn json(&self) -> Value {
        json(&self.data)
    }

    pub(super) fn method(&self) -> String {
        self.json().get("method").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Incoming {
    pub(super) async fn read(stream: TcpStream) -> Self {
        tokio::time::timeout(SOON, Self::read_head(BufReader::new(stream))).await.expect("an answer in time")
    }

    async fn read_head(mut stream: BufReader<TcpStream>) -> Self {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("a status line: {line:?}")).parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Self { status, headers, stream, chunk: 0, ended: false, buffered: String::new() }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(super) async fn whole(mut self) -> Whole {
        let body = tokio::time::timeout(SOON, async {
            match self.headers.get("content-length") {
                Some(length) => {
                    let mut body = vec![0; length.parse().unwrap()];
                    self.stream.read_exact(&mut body).await.unwrap();
                    body
                }
                None if self.status == 204 => Vec::new(),
                None => {
                    let mut body = Vec::new();
                    while let Some(piece) = self.piece().await {
                        body.extend_from_slice(&piece);
                    }
                    body
                }
            }
        });
        let body = body.await.expect("a whole answer in time");
        Whole { status: self.status, headers: self.headers, body }
    }

    /// Reads a piece of a body in chunks.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        if self.chunk == 0 {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
            self.chunk = usize::from_str_radix(line.trim_end(), 16).unwrap();
            if self.chunk == 0 {
                self.ended = true;
                self.stream.read_line(&mut line).await.unwrap();
                return None;
            }
        }
        let mut piece = vec![0; self.chunk];
        self.stream.read_exact(&mut piece).await.ok()?;
        self.chunk = 0;
        let mut end = [0; 2];
        self.stream.read_exact(&mut end).await.ok()?;
        Some(piece)
    }

    /// Returns the next event, comments passed over; nothing at the end.
    pub(super) async fn event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            let mut event = Event { id: None, retry: None, data: String::new() };
            let mut is_event = false;
            for line in block.lines() {
                let (name, value) = line.split_once(':').unwrap();
                let value = value.trim_start().to_owned();
                is_event |= !name.is_empty();
                match name {
                    "id" => event.id = Some(value),
                    "retry" => event.retry = Some(value.parse().unwrap()),
                    "data" => event.data.push_str(&value),
                    "" => {}
                    other => panic!("a field: {other}"),
                }
            }
            if is_event {
                return Some(event);
            }
        }
    }

    /// Returns the next text up to an empty line, a comment included.
    pub(super) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.buffered.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.buffered = rest;
                return Some(block);
            }
            let piece = tokio::time::timeout(SOON, self.piece()).await.expect("an event in time")?;
            self.buffered.push_str(&String::from_utf8(piece).unwrap());
        }
    }

    /// Returns true where nothing comes within a moment.
    pub(super) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(200), self.event()).await.is_err()
    }
}

/// A whole answer.
pub(super) struct Whole {
    pub(super) status: u16,
    headers: HashMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Whole {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(super) fn json(&self) -> Value {
        json(&self.text())
    }

    /// Returns the code of the error that it is.
    pub(super) fn code(&self) -> Option<i64> {
        self.json().get("error")?.get("code")?.as_i64()
    }
}

/// What the front door of the tests lets in. It acts for `local`.
pub(super) fn token() -> String {
    "made-up-".repeat(5)
}

/// A front door with its state in a folder of its own, which is left to the system to clear away.
pub(super) fn front_door() -> Arc<FrontDoor> {
    let settings = DoorSettings {
        folder: tempfile::tempdir().unwrap().keep(),
        public_url: PublicUrl::parse("https://gateway.example").unwrap(),
        proxies: TrustedProxies::default(),
        installation: Some(Secret::new(token())),
        environment: None,
        key: [42; 32],
        authorization: None,
        clock: Clock::default(),
    };
    Arc::new(FrontDoor::open(settings).unwrap())
}
