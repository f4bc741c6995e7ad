//! The start of a server, as the gateway sees it.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use crate::control::Launch;
use crate::sandbox::{Confinement, Plan, Sandbox, SandboxError, Support};
use crate::{LookupError, find};

/// How the supervisor itself is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program that calls [`run()`](crate::run()).
    pub program: PathBuf,
    /// What comes before the supervisor's own arguments: the name of the subcommand.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// Starts this very program with the subcommand `supervise`.
    pub fn this_program() -> io::Result<Self> {
        // The link works even after the file was replaced by an upgrade, and can't start another version.
        let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
        Ok(Self { program, arguments: vec!["supervise".into()] })
    }
}

/// A server that is to be started under a supervisor.
#[derive(Clone, Debug)]
pub struct Command {
    /// The command: a path, or a bare name that is looked up on the `PATH` of `environment`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment; nothing else is inherited.
    pub environment: Vec<(String, String)>,
    /// Its working directory, if not the gateway's.
    pub working_directory: Option<PathBuf>,
    /// What it may reach; whatever the gateway may where nothing is said.
    pub sandbox: Option<Sandbox>,
}

/// What is needed to start a supervisor.
#[derive(Debug)]
pub struct Prepared {
    /// The supervisor's process, ready to be spawned. Its three standard streams are pipes and become the server's.
    pub process: std::process::Command,
    /// The gateway's end of the control socket, non-blocking. The server is ended when it is dropped.
    pub control: UnixStream,
    /// What has to be written to the control socket first.
    pub launch: Vec<u8>,
    /// What of the server is confined and what is not, where it has a sandbox.
    pub confinement: Option<Confinement>,
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The command cannot be run.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A text has a NUL, or all of them are too long.
    #[error("an argument or a variable has a NUL in it, or they are too long together")]
    Unfit,
    /// The server cannot be confined as it should be.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The operating system refused something.
    #[error("the supervisor cannot be prepared")]
    System(#[source] io::Error),
}

impl Command {
    /// Finds the command's file and prepares the supervisor.
    pub fn prepare(&self, launcher: &Launcher) -> Result<Prepared, PrepareError> {
        // Where a name stands twice, the later one is what the server will see.
        let path = self.environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let file = find(&self.command, path, self.working_directory.as_deref())?;
        let plan = self.sandbox.as_ref().map(|sandbox| sandbox.plan(Support::probe(), &file)).transpose()?;
        let launch = Launch {
            sandbox: plan.as_ref().map(Plan::encode).unwrap_or_default(),
            file: file.into(),
            working_directory: self.working_directory.clone().unwrap_or_default().into(),
            environment: self.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        };
        let launch = launch.encode().ok_or(PrepareError::Unfit)?;
        if self.arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(PrepareError::Unfit);
        }
        let (control, theirs) = UnixStream::pair().map_err(PrepareError::System)?;
        control.set_nonblocking(true).map_err(PrepareError::System)?;
        let confinement = plan.as_ref().map(Plan::confinement);
        Ok(Prepared { process: self.process(launcher, theirs), control, launch, confinement })
    }

    fn process(&self, launcher: &Launcher, theirs: UnixStream) -> std::process::Command {
        let mut process = std::process::Command::new(&launcher.program);
        process
            .args(&launcher.arguments)
            .arg(format!("--control={}", theirs.as_raw_fd()))
            .arg("--")
            .arg(&self.command)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let inherit = move || {
            // Every descriptor of ours closes on exec; this one, and only in this child, must not.
            fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty())).map(drop).map_err(io::Error::from)
        };
        // SAFETY: the closure runs between fork and exec, where only async-signal-safe functions may be called. It makes
        // one `fcntl` call, allocates nothing and takes no lock. It owns the socket, so the descriptor is valid.
        #[expect(unsafe_code, reason = "std has no safe way to hand one descriptor to a child")]
        unsafe {
            process.pre_exec(inherit)
        };
        process
    }
}
