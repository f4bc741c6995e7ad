//! Starting a server and reaching it on two pipes.

use std::sync::Arc;
use std::time::Duration;

use portcullis_config::Protocol;
use portcullis_gates::{Cleared, Environment, Launching};
use portcullis_model::{Launch, Secret};
use portcullis_supervisor::sandbox::Sandbox;
use portcullis_supervisor::{Command, Launcher};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use super::super::eras::{Found, Key};
use super::super::shared::Shared;
use super::super::wire::Wire;
use super::super::{CloseReason, ConnectOptions, Hello, Peer, Upstream};
use super::negotiate::{Handshake, on_pipes};
use super::{ConnectError, ConnectFailure, Tasks};
use crate::jsonrpc::{Incoming, MalformedReason};
use crate::transport::read_text;
use crate::transport::stdio::{
    Ending, LINE_LIMIT, Line, LineReader, LineWriter, Process, Stderr, StderrSink, Streams, Tail,
};

/// The folder for temporary files in the home of a server in a sandbox.
pub(crate) const TEMPORARY: &str = "tmp";

/// What an ended server left in its pipe is read for so long. All of it is there already, unless a descendant writes on.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);
/// After a failed start the last lines of standard error are waited for so long.
const STDERR_LIMIT: Duration = Duration::from_millis(200);
/// A server that is started again is waited for so long: what it held, such as a port or a lock, should be free.
const GONE_LIMIT: Duration = Duration::from_secs(3);

pub(super) async fn connect(
    launching: &Cleared<Launching>,
    environment: Option<&Cleared<Environment>>,
    options: ConnectOptions,
    peer: Arc<dyn Peer>,
) -> Result<Upstream, ConnectError> {
    let key = Key::of(&launching.get().entry.launch);
    let found = options.eras.get(&key);
    let tail = Tail::default();
    let start =
        Start { launching: launching.get(), environment: environment.map(Cleared::get), options: &options, tail };
    let mut tasks = Tasks::default();
    let limit = options.connect_timeout;
    let result = timeout(limit, start.negotiate(peer, found, &mut tasks)).await;
    match result.unwrap_or(Err(ConnectFailure::Timeout(limit))) {
        Ok((shared, hello, process)) => {
            let found = if shared.era().is_some() { Found::Stateless } else { Found::Initialize };
            options.eras.note(key, found);
            tasks.follow(&shared, &hello);
            Ok(Upstream { shared, hello, process: Some(process), _tasks: tasks })
        }
        Err(failure) => {
            options.eras.forget(&key);
            // The task of standard error ends with the server; what a dying server said is worth a moment.
            if let Some(stderr) = tasks.0.first_mut() {
                let _ = timeout(STDERR_LIMIT, stderr).await;
            }
            Err(ConnectError { failure, stderr: start.tail.lines() })
        }
    }
}

/// A server that is about to be started.
struct Start<'a> {
    launching: &'a Launching,
    environment: Option<&'a Environment>,
    options: &'a ConnectOptions,
    tail: Tail,
}

impl Start<'_> {
    /// Starts the server and shakes hands. One that does not live through the question for the stateless era is started
    /// again without it.
    async fn negotiate(
        &self,
        peer: Arc<dyn Peer>,
        found: Option<Found>,
        tasks: &mut Tasks,
    ) -> Result<(Arc<Shared>, Hello, Arc<Process>), ConnectFailure> {
        let (mut shared, mut process) = self.spawn(Arc::clone(&peer), tasks).await?;
        let mut shaken = on_pipes(&shared, self.options, found).await?;
        if let Handshake::Died(error) = shaken {
            let started = !matches!(error, super::CallError::Closed(CloseReason::Ended(Ending::NotStarted(_))));
            if self.options.protocol != Protocol::Auto || !started {
                return Err(ConnectFailure::Handshake(error));
            }
            tracing::debug!("a server ended when it was asked for the stateless era; it is started again without");
            let _ = timeout(GONE_LIMIT, process.gone()).await;
            *tasks = Tasks::default();
            (shared, process) = self.spawn(peer, tasks).await?;
            shaken = on_pipes(&shared, self.options, Some(Found::Initialize)).await?;
        }
        match shaken {
            Handshake::Done(hello, era) => {
                shared.establish(era).map_err(ConnectFailure::Handshake)?;
                Ok((shared, hello, process))
            }
            Handshake::Died(error) => Err(ConnectFailure::Handshake(error)),
        }
    }

    async fn spawn(
        &self,
        peer: Arc<dyn Peer>,
        tasks: &mut Tasks,
    ) -> Result<(Arc<Shared>, Arc<Process>), ConnectFailure> {
        let command = command(self.launching, self.environment, self.options.sandbox.as_ref())?;
        let launcher = match &self.options.launcher {
            Some(launcher) => launcher.clone(),
            None => Launcher::this_program().map_err(ConnectFailure::Launcher)?,
        };
        let (process, streams) = Process::spawn(&command, &launcher).await?;
        let process = Arc::new(process);
        let Streams { stdin, stdout, stderr } = streams;
        let mut sinks: Vec<Arc<dyn StderrSink>> = vec![Arc::new(ToPeer(Arc::clone(&peer)))];
        sinks.extend(self.options.log.clone());
        let stderr = Stderr::new(sinks, self.tail.clone(), own_variables(self.launching)).read(stderr);
        tasks.0.push(tokio::spawn(stderr));
        let shared = Arc::new(Shared::new(Wire::Stdio(LineWriter::new(stdin)), peer, self.options.call_timeout));
        tasks.0.push(tokio::spawn(pump(LineReader::new(stdout), Arc::clone(&shared), Arc::clone(&process))));
        Ok((shared, process))
    }
}

/// Builds the command: the entry's own variables over what the gate left, and over both of a sandbox.
fn command(
    launching: &Launching,
    environment: Option<&Environment>,
    sandbox: Option<&Sandbox>,
) -> Result<Command, ConnectFailure> {
    let Launch::Stdio { command, arguments, working_directory, environment: own } = &launching.entry.launch else {
        return Err(ConnectFailure::Unsupported("the entry is not one of a stdio server"));
    };
    if environment.is_some_and(|environment| environment.entry != launching.entry) {
        return Err(ConnectFailure::Unsupported("the environment was selected for another entry"));
    }
    let selected = environment.map(|environment| environment.variables.as_slice()).unwrap_or_default();
    let kept = selected.iter().filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
    // Folders of the user are out of reach in a sandbox: what programs keep under them goes into its own.
    let kept = kept.filter(|(name, _)| sandbox.is_none() || !leads_home(name));
    let at_home = sandbox.into_iter().flat_map(|sandbox| home(&sandbox.own));
    let at_home = at_home.filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
    let expose = |(name, value): &(String, Secret)| (name.clone(), value.expose().to_owned());
    Ok(Command {
        command: command.clone(),
        arguments: arguments.clone(),
        environment: kept.chain(own).map(expose).chain(at_home).collect(),
        working_directory: working_directory.as_ref().map(Into::into).or(sandbox.map(|sandbox| sandbox.own.clone())),
        sandbox: sandbox.cloned(),
    })
}

/// Returns true for variables that name folders of the user.
fn leads_home(name: &str) -> bool {
    name.starts_with("XDG_") || matches!(name, "HOME" | "TMPDIR" | "TMP" | "TEMP")
}

/// Returns the variables by which programs find their home and a place for temporary files.
fn home(own: &std::path::Path) -> [(String, String); 2] {
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    [("HOME".to_owned(), text(own.to_owned())), ("TMPDIR".to_owned(), text(own.join(TEMPORARY)))]
}

/// Returns the entry's own variables: keys and passwords come this way.
fn own_variables(launching: &Launching) -> Vec<(String, Secret)> {
    match &launching.entry.launch {
        Launch::Stdio { environment, .. } => environment.clone(),
        Launch::Http { .. } => Vec::new(),
    }
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
