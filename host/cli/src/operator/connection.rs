//! A command's connection to one gateway.

use std::io;
use std::path::Path;

use portcullis_gates::{Constraint, Scope};
use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use tokio::io::{BufReader, ReadHalf, WriteHalf};
use tokio::net::UnixStream;

use super::line::{self, LineError};
use super::status::MOST_LINES;
use super::{LONGEST_ANSWER, PATIENCE, Shown, proof};

/// A gateway could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConnectionError {
    /// It ended without removing its socket.
    #[error("the gateway has ended")]
    Gone,
    /// The socket belongs to another user.
    #[error("another user listens on the socket")]
    Foreign,
    /// It ended the connection.
    #[error("the gateway ended the connection")]
    Ended,
    /// What it said is no message.
    #[error("the gateway cannot be understood")]
    Line(#[from] LineError),
    /// The connection failed.
    #[error("the gateway cannot be reached")]
    Io(#[from] io::Error),
}

/// A connection to one gateway.
#[derive(Debug)]
pub(crate) struct Connection {
    reader: BufReader<ReadHalf<UnixStream>>,
    writer: WriteHalf<UnixStream>,
}

/// An answer as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRequest {
    pub(crate) id: String,
    pub(crate) allow: bool,
    pub(crate) scope: Option<Scope>,
    pub(crate) constraint: Constraint,
    pub(crate) passphrase: Option<String>,
}

/// What a gateway made of an answer: what it did, or the code and the text of why not.
pub(crate) type Outcome = Result<String, (String, String)>;

impl Connection {
    /// Connects to the gateway that listens on a socket.
    pub(crate) async fn open(path: &Path) -> Result<Self, ConnectionError> {
        let stream = match tokio::time::timeout(PATIENCE, UnixStream::connect(path)).await {
            Err(_) => return Err(LineError::TimedOut.into()),
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
                return Err(ConnectionError::Gone);
            }
            Ok(Err(error)) => return Err(error.into()),
        };
        if !proof::is_same_user(&stream)? {
            return Err(ConnectionError::Foreign);
        }
        let (reader, writer) = tokio::io::split(stream);
        Ok(Self { reader: BufReader::new(reader), writer })
    }

    /// Returns all questions.
    pub(crate) async fn list(&mut self) -> Result<Vec<Shown>, ConnectionError> {
        self.send(object! { "do" => "list" }).await?;
        self.next_list(true).await
    }

    /// Asks to be told of every change; then [`Connection::next`] returns the questions at once, and after each change.
    pub(crate) async fn watch(&mut self) -> Result<(), ConnectionError> {
        self.send(object! { "do" => "watch" }).await
    }

    /// Returns the questions after the next change.
    pub(crate) async fn next(&mut self) -> Result<Vec<Shown>, ConnectionError> {
        self.next_list(false).await
    }

    /// Answers a question.
    pub(crate) async fn answer(&mut self, answer: &AnswerRequest) -> Result<Outcome, ConnectionError> {
        let mut request = object! { "do" => "answer", "id" => answer.id.as_str(), "allow" => answer.allow };
        if let Some(scope) = answer.scope {
            request.insert("for", scope.as_str());
        }
        if !answer.constraint.clauses().is_empty() {
            request.insert("constrain", answer.constraint.to_value());
        }
        if let Some(passphrase) = &answer.passphrase {
            request.insert("passphrase", passphrase.as_str());
        }
        self.send(request).await?;
        self.outcome().await
    }

    /// Returns what the gateway tells of itself: its lines by what they are about, in their order.
    pub(crate) async fn status(&mut self) -> Result<Vec<(String, Value)>, ConnectionError> {
        self.send(object! { "do" => "status" }).await?;
        let mut lines = Vec::new();
        loop {
            let message = self.receive(true).await?;
            let Some((what, value)) = message.iter().next().filter(|(what, _)| *what != "end") else {
                return Ok(lines);
            };
            // One that does not know the request says so; one that goes on for ever is none of ours.
            if what == "error" || lines.len() >= MOST_LINES {
                return Err(LineError::Malformed.into());
            }
            lines.push((what.to_owned(), value.clone()));
        }
    }

    /// Has the gateway look at its config, and at whether servers are stopped.
    pub(crate) async fn look(&mut self) -> Result<Outcome, ConnectionError> {
        self.send(object! { "do" => "look" }).await?;
        self.outcome().await
    }

    /// Has the gateway judge again what stands on approvals.
    pub(crate) async fn rejudge(&mut self) -> Result<Outcome, ConnectionError> {
        self.send(object! { "do" => "rejudge" }).await?;
        self.outcome().await
    }

    /// Sends a request that is answered by one message.
    pub(crate) async fn request(&mut self, request: Object) -> Result<Object, ConnectionError> {
        self.send(request).await?;
        self.receive(true).await
    }

    async fn outcome(&mut self) -> Result<Outcome, ConnectionError> {
        let answer = Value::from(self.receive(true).await?);
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(if answer.get("error").is_some() { Err((text("error"), text("message"))) } else { Ok(text("done")) })
    }

    async fn next_list(&mut self, at_once: bool) -> Result<Vec<Shown>, ConnectionError> {
        let mut list = Vec::new();
        loop {
            let message = self.receive(at_once || !list.is_empty()).await?;
            match message.get("pending") {
                Some(pending) => list.push(Shown::read(pending)),
                None => return Ok(list),
            }
        }
    }

    async fn send(&mut self, message: Object) -> Result<(), ConnectionError> {
        Ok(line::write(&mut self.writer, message).await?)
    }

    async fn receive(&mut self, at_once: bool) -> Result<Object, ConnectionError> {
        let reading = line::read(&mut self.reader, LONGEST_ANSWER);
        let message = if at_once {
            tokio::time::timeout(PATIENCE, reading).await.map_err(|_| LineError::TimedOut)??
        } else {
            reading.await?
        };
        message.ok_or(ConnectionError::Ended)
    }
}
