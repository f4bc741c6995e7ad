//! A server of HTTP+SSE that behaves as the path of its stream says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use portcullis_model::json::{Value, parse};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::http_server::{Seen, request, response};

/// The server; it ends with the runtime of its test.
pub(crate) struct SseServer {
    address: String,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
}

/// Where the events of each open stream go, by its number.
type Streams = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<String>>>>;

impl SseServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, streams) = (Arc::clone(&seen), Streams::default());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&all), Arc::clone(&streams)));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self, method: &str) -> Vec<Seen> {
        self.seen.lock().unwrap().iter().filter(|seen| seen.method == method).cloned().collect()
    }
}

async fn serve(stream: TcpStream, all: Arc<Mutex<Vec<Seen>>>, streams: Streams) {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = request(&mut stream).await {
        all.lock().unwrap().push(seen.clone());
        if seen.method == "GET" {
            let note = || all.lock().unwrap().push(Seen { method: "CLOSED".to_owned(), ..seen.clone() });
            return tell(stream, &seen, &streams, note).await;
        }
        for piece in post(&seen, &streams) {
            if stream.write_all(piece.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Writes the events of a stream until the client goes, or until it is said to end.
async fn tell(mut stream: BufReader<TcpStream>, seen: &Seen, streams: &Streams, note: impl Fn()) {
    let number = streams.lock().unwrap().len().to_string();
    let (sender, mut events) = mpsc::unbounded_channel();
    streams.lock().unwrap().insert(number.clone(), sender);
    let endpoint = match seen.path.as_str() {
        "/elsewhere" => "http://localhost:9/messages".to_owned(),
        "/no-url" => "http://[".to_owned(),
        "/absolute" => format!("http://{}/messages?n={number}", seen.headers["host"]),
        _ => format!("/messages?n={number}"),
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hi\n\n";
    let first = format!("{head}event: endpoint\ndata: {endpoint}\n\n");
    if seen.path == "/plain" {
        let _ = stream.write_all(response("200 OK", "Content-Type: text/plain\r\n", "hello").concat().as_bytes()).await;
        return;
    }
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut byte = [0];
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(event) if event == "end" => return,
                Some(event) => stream.write_all(format!("event: message\r\ndata: {event}\r\n\r\n").as_bytes()).await.unwrap(),
                None => return,
            },
            _ = stream.read(&mut byte) => return note(),
        }
    }
}

fn post(seen: &Seen, streams: &Streams) -> Vec<String> {
    let Some((_, number)) = seen.path.split_once("?n=") else {
        return response(
            "405 Method Not Allowed",
            "Content-Type: application/json\r\n",
            r#"{"detail":"Method Not Allowed"}"#,
        );
    };
    let tell = |event: String| streams.lock().unwrap()[number].send(event).unwrap();
    let message = parse(seen.body.as_bytes()).unwrap();
    let Some(id) = message.get("id").map(Value::to_json) else {
        return response("202 Accepted", "", "Accepted");
    };
    let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    match (message.get("method").and_then(Value::as_str), message.pointer("/params/name").and_then(Value::as_str)) {
        (Some("initialize"), _) => tell(answer(
            r#"{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"sse","version":"1"}}"#,
        )),
        (_, Some("asks")) => {
            tell(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#.to_owned());
            tell(answer(r#"{"asked":true}"#));
        }
        (_, Some("ends")) => tell("end".to_owned()),
        (_, Some("fails")) => return response("500 Internal Server Error", "", ""),
        (_, Some("in-the-body")) => {
            return response("200 OK", "Content-Type: application/json\r\n", &answer(r#"{"body":true}"#));
        }
        (_, Some("in-words")) => {
            tell(answer("{}"));
            return response("200 OK", "Content-Type: text/plain\r\n", "Accepted");
        }
        // An answer to something that this server asked.
        (None, _) => {}
        _ => tell(answer(r#"{"n":1.0}"#)),
    }
    response("202 Accepted", "", "Accepted")
}
