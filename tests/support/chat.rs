//! An endpoint of chat completions on this machine, which answers as it is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_model::json::{Object, Value, parse};
use portcullis_model::object;

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Asked {
    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of the last message.
    pub fn prompt(&self) -> String {
        let messages = self.body.get("messages").and_then(Value::as_array).unwrap_or_default();
        let last = messages.last().and_then(|message| message.get("content")).and_then(Value::as_str);
        last.unwrap_or_default().to_owned()
    }
}

/// An endpoint of chat completions. It ends with the process; each connection has one request.
#[derive(Clone, Debug)]
pub struct ChatEndpoint {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ChatEndpoint {
    /// Starts an endpoint that answers each request by a function of it: a status and a body. Nothing keeps it waiting: the
    /// connection stays open without an answer.
    ///
    /// # Panics
    /// Where no port is free.
    pub fn start(answer: impl Fn(&Asked) -> Option<(u16, Value)> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (answer, noted) = (Arc::new(answer), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                std::thread::spawn(move || serve(&stream, &*answer, &noted));
            }
        });
        Self { port, asked }
    }

    /// Starts an endpoint that answers with the prompt in capital letters.
    pub fn shouting() -> Self {
        Self::start(|asked| Some((200, completion(&asked.prompt().to_uppercase()))))
    }

    /// Returns its base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Returns what it was asked so far.
    pub fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the body of an answer with that text.
pub fn completion(text: &str) -> Value {
    let message = object! { "role" => "assistant", "content" => text };
    let choice: Value = object! { "index" => 0_u64, "message" => message, "finish_reason" => "stop" }.into();
    let usage = object! { "total_tokens" => 7_u64 };
    object! { "model" => "stub-1", "choices" => vec![choice], "usage" => usage }.into()
}

fn serve(mut stream: &TcpStream, answer: &dyn Fn(&Asked) -> Option<(u16, Value)>, noted: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream);
    let Some(asked) = read(&mut reader) else {
        return;
    };
    noted.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
    let Some((status, body)) = answer(&asked) else {
        // Until the other side goes away.
        let _end = reader.read(&mut [0]);
        return;
    };
    let body = body.to_json();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _gone = stream.write_all(format!("{head}{body}").as_bytes());
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = parse(&body).unwrap_or_else(|_| Object::new().into());
    Some(Asked { path, headers, body })
}
