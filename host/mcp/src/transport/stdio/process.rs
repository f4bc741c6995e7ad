//! A server's process, under its supervisor.

use std::fmt;
use std::io;
use std::time::Duration;

use portcullis_supervisor::control::{Event, STOP};
use portcullis_supervisor::sandbox::Confinement;
use portcullis_supervisor::{Command, Launcher, PrepareError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{Mutex, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// So long a server may take to end by itself once its input is closed, before it is told to.
const INPUT_CLOSED_GRACE: Duration = Duration::from_secs(2);
/// So long the supervisor may take to end everybody: 3 s after TERM, 5 s after KILL, and some to be scheduled.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be started at all; the operating system's error number.
    NotStarted(i32),
    /// Nobody knows: its supervisor went away.
    Unknown,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "the server ended with exit code {code}"),
            Self::Signal(signal) => write!(formatter, "the server was ended by signal {signal}"),
            Self::NotStarted(number) => {
                write!(formatter, "the server could not be started: {}", io::Error::from_raw_os_error(*number))
            }
            Self::Unknown => formatter.write_str("the server's supervisor went away"),
        }
    }
}

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It is being started.
    Starting,
    /// It runs, under this process id.
    Running(i32),
    /// It ended; descendants of it may still be running.
    Ended(Ending),
    /// It ended, and so did all that came from it.
    Gone(Ending),
}

impl ProcessState {
    fn ending(self) -> Option<Ending> {
        match self {
            Self::Ended(ending) | Self::Gone(ending) => Some(ending),
            Self::Starting | Self::Running(_) => None,
        }
    }
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The command cannot be run.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The supervisor could not be started.
    #[error("the supervisor could not be started")]
    Supervisor(#[source] io::Error),
}

/// A server's process. When it is dropped, the server and all that came from it are ended.
#[derive(Debug)]
pub struct Process {
    control: Mutex<OwnedWriteHalf>,
    state: watch::Receiver<ProcessState>,
    watcher: AbortHandle,
    confinement: Option<Confinement>,
}

/// The gateway's ends of a server's standard streams.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Process {
    /// Starts a server.
    pub(crate) async fn spawn(command: &Command, launcher: &Launcher) -> Result<(Self, Streams), SpawnError> {
        let prepared = command.prepare(launcher)?;
        let control = UnixStream::from_std(prepared.control).map_err(SpawnError::Supervisor)?;
        let mut process = tokio::process::Command::from(prepared.process);
        let mut child = process.spawn().map_err(SpawnError::Supervisor)?;
        // The prepared command owns the supervisor's end of the socket; as long as we have it too there is no end of file.
        drop(process);
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(SpawnError::Supervisor(io::ErrorKind::BrokenPipe.into()));
        };
        let (events, mut control) = control.into_split();
        control.write_all(&prepared.launch).await.map_err(SpawnError::Supervisor)?;
        let (sender, state) = watch::channel(ProcessState::Starting);
        let watcher = tokio::spawn(follow(events, child, sender)).abort_handle();
        let confinement = prepared.confinement;
        Ok((Self { control: Mutex::new(control), state, watcher, confinement }, Streams { stdin, stdout, stderr }))
    }

    /// Returns what of it is confined and what is not, where it has a sandbox.
    pub fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }

    /// Returns where it is in its life.
    pub fn state(&self) -> ProcessState {
        *self.state.borrow()
    }

    /// Waits until the server itself has ended; descendants may still be running.
    pub async fn ended(&self) -> Ending {
        self.wait(ProcessState::ending).await
    }

    /// Waits until the server and all that came from it have ended.
    pub async fn gone(&self) -> Ending {
        self.wait(|state| if let ProcessState::Gone(ending) = state { Some(ending) } else { None }).await
    }

    async fn wait(&self, found: impl Fn(ProcessState) -> Option<Ending>) -> Ending {
        let mut state = self.state.clone();
        match state.wait_for(|state| found(*state).is_some()).await {
            Ok(state) => found(*state).unwrap_or(Ending::Unknown),
            Err(_) => Ending::Unknown,
        }
    }

    /// Ends the server and all that came from it. Its input must be closed already: polite servers end by that.
    pub async fn stop(&self) -> Ending {
        if let Ok(ending) = timeout(INPUT_CLOSED_GRACE, self.gone()).await {
            return ending;
        }
        // It fails only where the supervisor is gone already.
        let _ = self.control.lock().await.write_all(&[STOP]).await;
        timeout(LAST_WAIT, self.gone()).await.unwrap_or(Ending::Unknown)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // With both halves of the socket gone the supervisor sees its end and cleans up; tokio reaps it.
        self.watcher.abort();
    }
}

async fn follow(mut events: OwnedReadHalf, mut supervisor: Child, state: watch::Sender<ProcessState>) {
    let mut ending = Ending::Unknown;
    let mut bytes = [0; Event::LENGTH];
    while events.read_exact(&mut bytes).await.is_ok() {
        let next = match Event::decode(bytes) {
            Some(Event::Started(pid)) => ProcessState::Running(pid),
            Some(Event::Failed(number)) => ProcessState::Ended(Ending::NotStarted(number)),
            Some(Event::Exited(code)) => ProcessState::Ended(Ending::Code(code)),
            Some(Event::Killed(signal)) => ProcessState::Ended(Ending::Signal(signal)),
            None => break,
        };
        ending = next.ending().unwrap_or(ending);
        state.send_replace(next);
    }
    let _ = supervisor.wait().await;
    state.send_replace(ProcessState::Gone(ending));
}
