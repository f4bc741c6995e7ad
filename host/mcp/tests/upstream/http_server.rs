//! An HTTP server that behaves as the path of its endpoint says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use portcullis_model::json::{Value, parse};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::stateless_http;

/// As a piece of an answer: nothing more is sent, and the end of the connection is noted.
pub(crate) const UNTIL_CLOSED: &str = "until closed";

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// The server; it ends with the runtime of its test.
pub(crate) struct HttpServer {
    pub(crate) address: String,
    scheme: &'static str,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
}

impl HttpServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts it, with TLS where something is given that speaks it.
    pub(crate) async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (all, tls) = (Arc::clone(&all), tls.clone());
                tokio::spawn(async move {
                    let Some(tls) = tls else { return serve(stream, all).await };
                    // It fails where the client does not believe it, or it the client.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, all).await;
                    }
                });
            }
        });
        Self { address, scheme, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    pub(crate) fn seen(&self, method: &str) -> Vec<Seen> {
        self.seen.lock().unwrap().iter().filter(|seen| seen.method == method).cloned().collect()
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, all: Arc<Mutex<Vec<Seen>>>) {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = request(&mut stream).await {
        all.lock().unwrap().push(seen.clone());
        let earlier = all.lock().unwrap().clone();
        let stateless = seen.path.starts_with("/stateless");
        let pieces = if stateless { stateless_http::answer(&seen, &earlier) } else { answer(&seen, &earlier) };
        for piece in pieces {
            if piece == UNTIL_CLOSED {
                let rest = request(&mut stream).await;
                let end = if rest.is_none() { "CLOSED" } else { "WENT-ON" };
                return all.lock().unwrap().push(Seen { method: end.to_owned(), ..seen });
            }
            if piece.is_empty() {
                return;
            }
            if stream.write_all(piece.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

pub(crate) async fn request(stream: &mut BufReader<impl AsyncRead + Unpin>) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Seen { method, path, headers, body: String::from_utf8(body).unwrap() })
}

pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<String> {
    vec![format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())]
}

pub(crate) fn json(body: &str) -> Vec<String> {
    response("200 OK", "Content-Type: application/json; charset=utf-8\r\n", body)
}

/// A stream of events; the connection closes behind it. An empty piece closes it at once.
pub(crate) fn events(events: &[&str]) -> Vec<String> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".to_owned();
    std::iter::once(head).chain(events.iter().map(|&event| event.to_owned())).chain([String::new()]).collect()
}

fn hello(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"http","version":"1"}}}}}}"#
    )
}

fn answer(seen: &Seen, earlier: &[Seen]) -> Vec<String> {
    match seen.method.as_str() {
        "GET" => return get(seen),
        "DELETE" => return response("405 Method Not Allowed", "", ""),
        _ => {}
    }
    let message = parse(seen.body.as_bytes()).unwrap();
    let Some(id) = message.get("id").map(Value::to_json) else {
        return response("202 Accepted", "", "");
    };
    match message.get("method").and_then(Value::as_str) {
        // As servers on the TypeScript SDK do.
        Some("server/discover") if seen.path == "/strict" => response(
            "400 Bad Request",
            "Content-Type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#,
        ),
        Some("server/discover") if seen.path == "/terse" => response("400 Bad Request", "", "what?"),
        Some("server/discover") if seen.path == "/locked" => initialize(seen, &id),
        Some("initialize") => initialize(seen, &id),
        Some("tools/call") => {
            let name = message.pointer("/params/name").and_then(Value::as_str).unwrap();
            call(seen, &id, name, earlier)
        }
        // An answer to something that this server asked.
        None => response("202 Accepted", "", ""),
        Some(_) => json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)),
    }
}

fn initialize(seen: &Seen, id: &str) -> Vec<String> {
    let path = seen.path.as_str();
    if let Some((scheme, address)) = path.strip_prefix("/to/").and_then(|target| target.split_once('/')) {
        let location = format!("Location: {scheme}://{address}/mcp\r\n");
        return response("307 Temporary Redirect", &location, "");
    }
    match path {
        "/html" => response("200 OK", "Content-Type: text/html\r\n", "<html></html>"),
        "/locked" => response("401 Unauthorized", "WWW-Authenticate: Bearer realm=\"x\"\r\n", ""),
        "/moved" => response("307 Temporary Redirect", "Location: /mcp\r\n", ""),
        "/moved-as-get" => response("302 Found", "Location: /mcp\r\n", ""),
        "/elsewhere" => response("307 Temporary Redirect", "Location: http://localhost:9/mcp\r\n", ""),
        "/round" => response("307 Temporary Redirect", "Location: /round\r\n", ""),
        "/refuses" => response(
            "400 Bad Request",
            "Content-Type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported"}}"#,
        ),
        "/broken" => response("500 Internal Server Error", "", "oops"),
        "/events" => events(&["event: message\r\ndata: ", &hello(id), "\r\n\r\n"]),
        _ => response("200 OK", "Content-Type: application/json\r\nMcp-Session-Id: session-1\r\n", &hello(id)),
    }
}

fn get(seen: &Seen) -> Vec<String> {
    match (seen.path.as_str(), seen.headers.get("last-event-id").map(String::as_str)) {
        ("/mcp", Some("e1")) => {
            // The id of the call is what the client counted to: the handshake was the first.
            events(&["id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resumed\":true}}\n\n"])
        }
        ("/mcp", Some("e9")) => response("404 Not Found", "", ""),
        ("/talks", None) => {
            events(&["id: t1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"])
        }
        _ => response("405 Method Not Allowed", "", ""),
    }
}

fn call(seen: &Seen, id: &str, name: &str, earlier: &[Seen]) -> Vec<String> {
    let ok = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":1.0}}}}"#);
    match name {
        "json" => json(&ok),
        "events" => events(&[
            ": hi\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}}\n\n",
            "data: ",
            &ok,
            "\n\n",
        ]),
        "asks" => {
            events(&["data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n", "data: ", &ok, "\n\n"])
        }
        "resumes" => events(&["retry: 10\nid: e1\ndata\n\n"]),
        "resumes-in-vain" => events(&["retry: 10\nid: e9\ndata\n\n"]),
        "ends" => events(&["data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"]),
        "closes" => vec![String::new()],
        "expired" => response("404 Not Found", "", ""),
        "accepted" => response("202 Accepted", "", ""),
        "duplicate-keys" => json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#)),
        "not-json" => json("surprise"),
        "big" => json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "x".repeat(17 * 1024 * 1024))),
        "big-event" => {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "x".repeat(17 * 1024 * 1024));
            events(&["data: ", &text, "\n\n"])
        }
        "error-status" => response(
            "400 Bad Request",
            "Content-Type: application/json\r\n",
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#),
        ),
        "headers" => {
            let names = ["mcp-session-id", "mcp-protocol-version", "authorization", "accept", "content-type"];
            let texts: Vec<_> =
                names.map(|name| format!("{name}={}", seen.headers.get(name).map_or("", String::as_str))).to_vec();
            json(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"t":"{}","n":{}}}}}"#,
                texts.join(";"),
                earlier.len()
            ))
        }
        other => panic!("no such tool: {other}"),
    }
}
