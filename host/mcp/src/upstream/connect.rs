//! Reaching a server and shaking hands.

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::{Cleared, Environment, Launching};
use portcullis_model::json::Value;
use portcullis_model::{Launch, Secret, object};
use portcullis_supervisor::{Command, Launcher};
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::call::handshake;
use super::shared::Shared;
use super::wire::{Wire, listen};
use super::{CallError, CloseReason, ConnectOptions, Hello, Peer, Upstream};
use crate::jsonrpc::{ErrorObject, Incoming, MalformedReason};
use crate::transport::http::{HttpClient, HttpSetupError};
use crate::transport::read_text;
use crate::transport::stdio::{
    LINE_LIMIT, Line, LineReader, LineWriter, Process, SpawnError, Stderr, StderrSink, Streams, Tail,
};

/// What an ended server left in its pipe is read for so long. All of it is there already, unless a descendant writes on.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);
/// After a failed start the last lines of standard error are waited for so long.
const STDERR_LIMIT: Duration = Duration::from_millis(200);

/// A server could not be connected.
#[derive(Debug, thiserror::Error)]
#[error("the server could not be connected")]
pub struct ConnectError {
    /// Why.
    #[source]
    pub failure: ConnectFailure,
    /// The last lines of the server's standard error, oldest first: foreign text, to be escaped where it is shown.
    pub stderr: Vec<String>,
}

/// Why a server could not be connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// Its process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The gateway's own program could not be found.
    #[error("the gateway's own program cannot be found")]
    Launcher(#[source] std::io::Error),
    /// Start and handshake took too long.
    #[error("the handshake took longer than {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The handshake has no outcome.
    #[error(transparent)]
    Handshake(CallError),
    /// The server refused the handshake. Its message is foreign text.
    #[error("the server refused the handshake with code {}", .0.code())]
    Refused(ErrorObject),
    /// The server speaks no version that the gateway speaks.
    #[error("the server offers the protocol version {0:?}, which is not supported")]
    Version(String),
    /// The entry does not make an HTTP client.
    #[error(transparent)]
    Http(#[from] HttpSetupError),
    /// The entry's transport is not supported.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// Tasks that end with the connection.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Upstream {
    /// Starts or reaches a server and shakes hands.
    ///
    /// The environment is that of a stdio server, as its gate left it; the entry's own variables are laid over it here.
    pub async fn connect(
        launching: Cleared<Launching>,
        environment: Option<Cleared<Environment>>,
        options: ConnectOptions,
        peer: Arc<dyn Peer>,
    ) -> Result<Arc<Self>, ConnectError> {
        match &launching.get().entry.launch {
            Launch::Stdio { .. } => stdio(&launching, environment.as_ref(), options, peer).await.map(Arc::new),
            Launch::Http { url, headers, legacy_sse: false } => http(url, headers, options, peer)
                .await
                .map(Arc::new)
                .map_err(|failure| ConnectError { failure, stderr: Vec::new() }),
            Launch::Http { legacy_sse: true, .. } => {
                let failure = ConnectFailure::Unsupported("the HTTP+SSE transport of 2024-11-05 is not supported");
                Err(ConnectError { failure, stderr: Vec::new() })
            }
        }
    }
}

async fn http(
    url: &str,
    headers: &[(String, Secret)],
    options: ConnectOptions,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectFailure> {
    let client = HttpClient::new(url, headers)?;
    let shared = Arc::new(Shared::new(Wire::Http(client), peer, options.call_timeout));
    let limit = options.connect_timeout;
    let handshake = timeout(limit, initialize(&shared, &options)).await;
    let hello = match handshake.unwrap_or(Err(ConnectFailure::Timeout(limit))) {
        Ok(hello) => hello,
        Err(failure) => {
            // The server may have begun a session, which nobody will use.
            shared.wire().close().await;
            return Err(failure);
        }
    };
    let tasks = Tasks(vec![tokio::spawn(listen(Arc::clone(&shared)))]);
    Ok(Upstream { shared, hello, process: None, _tasks: tasks })
}

async fn stdio(
    launching: &Cleared<Launching>,
    environment: Option<&Cleared<Environment>>,
    options: ConnectOptions,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectError> {
    let tail = Tail::default();
    let mut tasks = Tasks::default();
    let limit = options.connect_timeout;
    let result = timeout(limit, stdio_within(launching, environment, &options, peer, &tail, &mut tasks)).await;
    match result.unwrap_or(Err(ConnectFailure::Timeout(limit))) {
        Ok((shared, hello, process)) => Ok(Upstream { shared, hello, process: Some(process), _tasks: tasks }),
        Err(failure) => {
            // The task of standard error ends with the server; what a dying server said is worth a moment.
            if let Some(stderr) = tasks.0.first_mut() {
                let _ = timeout(STDERR_LIMIT, stderr).await;
            }
            Err(ConnectError { failure, stderr: tail.lines() })
        }
    }
}

async fn stdio_within(
    launching: &Cleared<Launching>,
    environment: Option<&Cleared<Environment>>,
    options: &ConnectOptions,
    peer: Arc<dyn Peer>,
    tail: &Tail,
    tasks: &mut Tasks,
) -> Result<(Arc<Shared>, Hello, Arc<Process>), ConnectFailure> {
    let command = command(launching.get(), environment.map(Cleared::get))?;
    let launcher = match &options.launcher {
        Some(launcher) => launcher.clone(),
        None => Launcher::this_program().map_err(ConnectFailure::Launcher)?,
    };
    let (process, streams) = Process::spawn(&command, &launcher).await?;
    let process = Arc::new(process);
    let Streams { stdin, stdout, stderr } = streams;
    let mut sinks: Vec<Arc<dyn StderrSink>> = vec![Arc::new(ToPeer(Arc::clone(&peer)))];
    sinks.extend(options.log.clone());
    tasks.0.push(tokio::spawn(Stderr::new(sinks, tail.clone(), own_variables(launching.get())).read(stderr)));
    let shared = Arc::new(Shared::new(Wire::Stdio(LineWriter::new(stdin)), peer, options.call_timeout));
    tasks.0.push(tokio::spawn(pump(LineReader::new(stdout), Arc::clone(&shared), Arc::clone(&process))));
    let hello = initialize(&shared, options).await?;
    Ok((shared, hello, process))
}

/// Builds the command: the entry's own variables over what the gate left.
fn command(launching: &Launching, environment: Option<&Environment>) -> Result<Command, ConnectFailure> {
    let Launch::Stdio { command, arguments, working_directory, environment: own } = &launching.entry.launch else {
        return Err(ConnectFailure::Unsupported("the entry is not one of a stdio server"));
    };
    if environment.is_some_and(|environment| environment.entry != launching.entry) {
        return Err(ConnectFailure::Unsupported("the environment was selected for another entry"));
    }
    let selected = environment.map(|environment| environment.variables.as_slice()).unwrap_or_default();
    let kept = selected.iter().filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
    let expose = |(name, value): &(String, Secret)| (name.clone(), value.expose().to_owned());
    Ok(Command {
        command: command.clone(),
        arguments: arguments.clone(),
        environment: kept.chain(own).map(expose).collect(),
        working_directory: working_directory.as_ref().map(Into::into),
    })
}

/// Returns the entry's own variables: keys and passwords come this way.
fn own_variables(launching: &Launching) -> Vec<(String, Secret)> {
    match &launching.entry.launch {
        Launch::Stdio { environment, .. } => environment.clone(),
        Launch::Http { .. } => Vec::new(),
    }
}

pub(super) async fn initialize(shared: &Arc<Shared>, options: &ConnectOptions) -> Result<Hello, ConnectFailure> {
    let params = Value::from(object! {
        "protocolVersion" => options.protocol_version.as_str(),
        "capabilities" => options.capabilities.clone(),
        "clientInfo" => options.client_info.clone(),
    });
    let outcome = handshake(shared, "initialize", &params).await.map_err(ConnectFailure::Handshake)?;
    let result = outcome.map_err(ConnectFailure::Refused)?;
    let hello = Hello::from_result(result).map_err(ConnectFailure::Version)?;
    shared.wire().set_version(&hello.protocol_version);
    shared.notify("notifications/initialized", None).await.map_err(ConnectFailure::Handshake)?;
    Ok(hello)
}

/// Reads what a server says until it ends.
async fn pump(mut lines: LineReader<ChildStdout>, shared: Arc<Shared>, process: Arc<Process>) {
    let reason = {
        let ended = process.ended();
        let mut ended = std::pin::pin!(ended);
        loop {
            tokio::select! {
                biased;
                line = lines.next() => {
                    if let Err(reason) = take(line, &shared) {
                        break reason;
                    }
                }
                ending = &mut ended => break CloseReason::Ended(ending),
            }
        }
    };
    let reason = if let CloseReason::Ended(_) = reason {
        let drain = async { while take(lines.next().await, &shared).is_ok() {} };
        let _ = timeout(DRAIN_LIMIT, drain).await;
        reason
    } else if reason == CloseReason::OutputClosed {
        // The end of the output is mostly that of the server; how it ended says more.
        timeout(DRAIN_LIMIT, process.ended()).await.map_or(reason, CloseReason::Ended)
    } else {
        reason
    };
    shared.close(reason);
    // A server that cannot be heard is of no use: its input ends, and it with it.
    shared.wire().close().await;
    process.stop().await;
}

fn take(line: std::io::Result<Option<Line<'_>>>, shared: &Arc<Shared>) -> Result<(), CloseReason> {
    let incoming = match line {
        Ok(Some(Line::Text(text))) => read_text(text),
        Ok(Some(Line::Oversize(recovered))) => recovered.into_incoming(MalformedReason::Oversize { limit: LINE_LIMIT }),
        Ok(None) => return Err(CloseReason::OutputClosed),
        Err(error) => return Err(CloseReason::Unreadable(error.kind().to_string())),
    };
    if incoming == Incoming::Noise {
        tracing::debug!("a server wrote something to its output that is no message");
    }
    shared.receive(incoming);
    Ok(())
}

/// Hands lines of standard error to the peer.
struct ToPeer(Arc<dyn Peer>);

impl std::fmt::Debug for ToPeer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("ToPeer").finish_non_exhaustive()
    }
}

impl StderrSink for ToPeer {
    fn line(&self, line: &str) {
        self.0.stderr(line.to_owned());
    }

    fn dropped(&self, count: u64) {
        self.0.stderr(format!("[{count} lines were dropped: too many at once]"));
    }
}
