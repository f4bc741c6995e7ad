//! The supervisor process.

mod child;
mod family;
mod wake;
mod watch;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::{close, setsid};

use crate::control::{Event, LARGEST_LAUNCH, Launch};

/// Exit code where there was nothing to supervise; `env` and container runtimes use it for their own failures too.
const OWN_FAILURE: u8 = 125;
/// Exit code where the server could not be started, as shells have it.
const NOT_STARTED: u8 = 127;

/// Supervises the server that the arguments name, and returns its exit code (128 + signal where one ended it).
///
/// Takes what follows the name of the subcommand: `--control=N -- COMMAND ARGUMENTS…`, as
/// [`Command::prepare`](crate::Command::prepare) writes it. It must be called first thing in a process that has one
/// thread and has opened nothing: it closes every descriptor that it does not know.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match supervise(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            // Nobody else can be told: the streams are still the server's, and the gateway keeps its standard error.
            let _ = writeln!(std::io::stderr(), "portcullis supervise: {problem}");
            ExitCode::from(OWN_FAILURE)
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("this command is internal: the gateway starts it")]
    Arguments,
    #[error("the gateway sent no launch block")]
    Launch,
    #[error("a system call failed: {0}")]
    System(#[from] Errno),
}

fn supervise(arguments: impl IntoIterator<Item = OsString>) -> Result<u8, Problem> {
    let mut arguments = arguments.into_iter();
    let number = arguments.next().and_then(|first| first.to_str()?.strip_prefix("--control=")?.parse::<RawFd>().ok());
    let number = number.filter(|number| *number > 2).ok_or(Problem::Arguments)?;
    if arguments.next().is_none_or(|separator| separator != "--") {
        return Err(Problem::Arguments);
    }
    let command = arguments.next().ok_or(Problem::Arguments)?;
    let mut control = take_control(number)?;
    // Out of the gateway's group: a signal for that group must not end the one that has to clean up after it.
    // It fails only where this process leads a group already, which is as good.
    let _ = setsid();
    let wake = wake::Wake::new()?;
    family::adopt()?;

    let launch = read_launch(&mut control).ok_or(Problem::Launch)?;
    let child = match child::start(&command, arguments, &launch) {
        Ok(child) => child,
        Err(error) => {
            // The number alone says little where a sandbox cannot be set; standard error reaches the operator.
            if error.raw_os_error().is_none() {
                let _ = writeln!(std::io::stderr(), "portcullis supervise: the sandbox cannot be set: {error}");
            }
            let _ = control.write_all(&Event::Failed(error.raw_os_error().unwrap_or(Errno::EIO as i32)).encode());
            return Ok(NOT_STARTED);
        }
    };
    drop(launch);
    // The streams are the child's alone from here on, so that end of file reaches both sides.
    child::forget_streams();
    let _ = control.set_nonblocking(true);
    let _ = control.write_all(&Event::Started(child.as_raw()).encode());
    Ok(watch::Watch::new(child, control, wake).until_all_ended())
}

/// Takes the control socket and closes everything else that was inherited by mistake.
fn take_control(number: RawFd) -> Result<UnixStream, Problem> {
    let inherited: Vec<RawFd> = std::fs::read_dir("/dev/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|other| *other > 2 && *other != number)
        .collect();
    for other in inherited {
        // The listing's own descriptor is among them and closed by now; that one fails, harmlessly.
        let _ = close(other);
    }
    // SAFETY: the process has just started and opened nothing, so no other object of it owns this descriptor. Where the
    // number is not open at all, the next call fails and the process ends.
    #[expect(unsafe_code, reason = "an inherited descriptor is only known by its number")]
    let control = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl(&control, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(control.into())
}

fn read_launch(control: &mut UnixStream) -> Option<Launch> {
    let mut length = [0; 4];
    control.read_exact(&mut length).ok()?;
    let length = usize::try_from(u32::from_le_bytes(length)).ok().filter(|length| *length <= LARGEST_LAUNCH)?;
    let mut body = vec![0; length];
    control.read_exact(&mut body).ok()?;
    Launch::decode(&body)
}
