//! The server's process.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;

use nix::sys::signal::SigSet;
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getpid, setsid};

use crate::control::Launch;

/// Starts the server in a session and group of its own, with the standard streams of this process.
pub(super) fn start(command: &OsStr, arguments: impl Iterator<Item = OsString>, launch: &Launch) -> io::Result<Pid> {
    let mut process = std::process::Command::new(&launch.file);
    // Programs that act by their name, such as shims of version managers, must see the name that was written.
    process.arg0(command).args(arguments).env_clear();
    process.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    if !launch.working_directory.is_empty() {
        process.current_dir(&launch.working_directory);
    }
    let supervisor = getpid();
    let mut confine = confinement(&launch.sandbox)?;
    let prepare = move || prepare(supervisor).and_then(|()| confine());
    // SAFETY: the closure runs between fork and exec. It makes only system calls (sigprocmask, setsid, prctl, getppid,
    // landlock_restrict_self, seccomp). What little it allocates, on failure, is safe as well: this process has a single
    // thread, so no lock can be held by another.
    #[expect(unsafe_code, reason = "std has no safe way to start a session or to set the parent-death signal")]
    unsafe {
        process.pre_exec(prepare)
    };
    let child = process.spawn()?;
    // Process ids are positive 32-bit numbers on every Unix. The handle is dropped on purpose: waiting is done by id.
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// Returns what confines the calling process, opened and compiled already.
#[cfg(target_os = "linux")]
fn confinement(rules: &[OsString]) -> io::Result<impl FnMut() -> io::Result<()> + Send + Sync + 'static> {
    use crate::sandbox::{Plan, Restriction};

    let mut restriction = if rules.is_empty() {
        None
    } else {
        let plan = Plan::decode(rules).ok_or(io::ErrorKind::InvalidData)?;
        Some(Restriction::prepare(&plan)?)
    };
    Ok(move || restriction.as_mut().map_or(Ok(()), Restriction::set))
}

/// Elsewhere nothing is confined: a plan says so, and one that must confine is never made.
#[cfg(not(target_os = "linux"))]
fn confinement(_rules: &[OsString]) -> io::Result<impl FnMut() -> io::Result<()> + Send + Sync + 'static> {
    Ok(|| Ok(()))
}

fn prepare(supervisor: Pid) -> io::Result<()> {
    // The supervisor blocks the signals that it polls for; a server starts with none blocked.
    SigSet::empty().thread_set_mask()?;
    setsid()?;
    die_with(supervisor)
}

/// Has the kernel kill the server where the supervisor is killed itself: braces to the belt.
#[cfg(target_os = "linux")]
fn die_with(supervisor: Pid) -> io::Result<()> {
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;

    set_pdeathsig(Signal::SIGKILL)?;
    // It may have died before the call.
    if nix::unistd::getppid() == supervisor { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_supervisor: Pid) -> io::Result<()> {
    Ok(())
}

/// Puts the null device in the place of this process's copies of the server's streams.
pub(super) fn forget_streams() {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else {
        // Without a null device they are closed; this process writes nothing afterwards.
        for number in 0..=2 {
            let _ = nix::unistd::close(number);
        }
        return;
    };
    let _ = dup2_stdin(&null);
    let _ = dup2_stdout(&null);
    let _ = dup2_stderr(&null);
}
