//! The life of a supervisor: watch, ask, kill, report.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use super::family::Family;
use super::wake::Wake;
use crate::control::{Event, STOP};

/// So long a process may take to end by itself after TERM, as the specification of stdio shutdown suggests some time.
const GRACE: Duration = Duration::from_secs(3);
/// So long killed processes may take to disappear. One that hangs in the kernel cannot be waited for.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// How often the family is looked through while it is ending: those whose parent just ended must be found.
const ROUND: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    Terminating { until: Instant },
    Killing { until: Instant },
}

#[derive(Debug)]
pub(super) struct Watch {
    family: Family,
    /// Nothing once the gateway is gone.
    control: Option<UnixStream>,
    wake: Wake,
    phase: Phase,
}

impl Watch {
    pub(super) fn new(leader: Pid, control: UnixStream, wake: Wake) -> Self {
        Self { family: Family::new(leader), control: Some(control), wake, phase: Phase::Running }
    }

    /// Returns the exit code once nobody is left.
    pub(super) fn until_all_ended(mut self) -> u8 {
        loop {
            if let Some(status) = self.family.leader_ended() {
                self.report(status);
                self.stop();
            }
            if self.family.reap() {
                return self.family.bury();
            }
            match self.phase {
                Phase::Running => {}
                Phase::Terminating { until } if Instant::now() < until => self.family.terminate(false),
                Phase::Terminating { .. } => {
                    self.phase = Phase::Killing { until: Instant::now() + LAST_WAIT };
                    self.family.kill();
                }
                Phase::Killing { until } if Instant::now() < until => self.family.kill(),
                Phase::Killing { .. } => return self.family.bury(),
            }
            let timeout = (!matches!(self.phase, Phase::Running)).then_some(ROUND);
            let woken = self.wake.wait(self.control.as_ref().map(AsFd::as_fd), timeout);
            if woken.stop || (woken.control && self.told_to_stop()) {
                self.stop();
            }
        }
    }

    fn stop(&mut self) {
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Terminating { until: Instant::now() + GRACE };
            self.family.terminate(true);
        }
    }

    /// Reads the control socket; end of file means that the gateway is gone.
    fn told_to_stop(&mut self) -> bool {
        let mut words = [0; 16];
        let read = self.control.as_mut().map(|control| control.read(&mut words));
        match read {
            Some(Ok(count)) if count > 0 => words.iter().take(count).any(|word| *word == STOP),
            Some(Err(error))
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) =>
            {
                false
            }
            Some(Ok(_) | Err(_)) | None => {
                self.control = None;
                true
            }
        }
    }

    fn report(&mut self, status: WaitStatus) {
        let event = if let WaitStatus::Signaled(_, signal, _) = status {
            Event::Killed(signal as i32)
        } else if let WaitStatus::Exited(_, code) = status {
            Event::Exited(code)
        } else {
            return;
        };
        if let Some(control) = self.control.as_mut() {
            // A gateway that is gone or does not read needs no report.
            let _ = control.write_all(&event.encode());
        }
    }
}
