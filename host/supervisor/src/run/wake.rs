//! Waiting for whatever happens first: a word of the gateway, a signal, a moment.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};

/// Signals that ask for the end of the server. The gateway's own way is the socket; these are for people.
const STOPPING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

/// What woke the supervisor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Woken {
    /// The control socket can be read.
    pub(super) control: bool,
    /// A signal asks for the end.
    pub(super) stop: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Wake {
    signals: nix::sys::signalfd::SignalFd,
}

#[cfg(target_os = "linux")]
impl Wake {
    pub(super) fn new() -> Result<Self, Errno> {
        use nix::sys::signalfd::{SfdFlags, SignalFd};

        let mut mask: SigSet = STOPPING.into_iter().collect();
        mask.add(Signal::SIGCHLD);
        mask.thread_block()?;
        SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map(|signals| Self { signals })
    }

    /// Waits, without a limit where there is no timeout.
    pub(super) fn wait(&self, control: Option<BorrowedFd<'_>>, timeout: Option<Duration>) -> Woken {
        let mut descriptors = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        descriptors.extend(control.map(|control| PollFd::new(control, PollFlags::POLLIN)));
        // An interrupted or failed poll is like a timeout: the caller looks at everything anyway.
        let _ = poll(&mut descriptors, milliseconds(timeout));
        let control = descriptors.get(1).and_then(PollFd::any) == Some(true);
        let mut woken = Woken { control, stop: false };
        while let Ok(Some(signal)) = self.signals.read_signal() {
            woken.stop |= STOPPING.iter().any(|stopping| u32::try_from(*stopping as i32) == Ok(signal.ssi_signo));
        }
        woken
    }
}

/// How often systems without a descriptor for signals look after the child.
#[cfg(not(target_os = "linux"))]
const ROUND: Duration = Duration::from_millis(100);

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct Wake {
    stopping: SigSet,
}

#[cfg(not(target_os = "linux"))]
impl Wake {
    pub(super) fn new() -> Result<Self, Errno> {
        let stopping: SigSet = STOPPING.into_iter().collect();
        stopping.thread_block()?;
        Ok(Self { stopping })
    }

    /// Waits a short while; stopping signals stay blocked, so that only the socket ends the server here.
    pub(super) fn wait(&self, control: Option<BorrowedFd<'_>>, timeout: Option<Duration>) -> Woken {
        let mut descriptors: Vec<_> =
            control.map(|control| PollFd::new(control, PollFlags::POLLIN)).into_iter().collect();
        let _ = poll(&mut descriptors, milliseconds(Some(timeout.unwrap_or(ROUND).min(ROUND))));
        Woken { control: descriptors.first().and_then(PollFd::any) == Some(true), stop: false }
    }
}

fn milliseconds(timeout: Option<Duration>) -> PollTimeout {
    timeout.map_or(PollTimeout::NONE, |timeout| PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX))
}
