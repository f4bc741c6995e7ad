//! The server's descendants: found, ended, reaped.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};

/// Makes descendants whose parent ends come to this process instead of to the system's first one.
#[cfg(target_os = "linux")]
pub(super) fn adopt() -> Result<(), Errno> {
    nix::sys::prctl::set_child_subreaper(true)
}

/// Other systems have no such thing.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt() -> Result<(), Errno> {
    Ok(())
}

/// The server and everything that came from it.
///
/// Only direct children of this process and the server's own group are ever signalled. Neither id can be taken over by
/// a stranger: a child keeps its id until it is reaped, and the leader is reaped last, which keeps the group's.
/// Descendants further down become direct children as soon as those above them end.
#[derive(Debug)]
pub(super) struct Family {
    leader: Pid,
    ended: Option<WaitStatus>,
    /// Children outside of the group that were told to end already.
    told: Vec<Pid>,
}

impl Family {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, ended: None, told: Vec::new() }
    }

    /// Returns how the server ended, the first time that this is seen.
    pub(super) fn leader_ended(&mut self) -> Option<WaitStatus> {
        if self.ended.is_some() {
            return None;
        }
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        self.ended = waitid(Id::Pid(self.leader), flags)
            .ok()
            .filter(|status| matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)));
        self.ended
    }

    /// Returns true where the server itself has ended.
    pub(super) fn is_leaderless(&self) -> bool {
        self.ended.is_some()
    }

    /// Reaps those that ended; returns true where nobody is left.
    pub(super) fn reap(&mut self) -> bool {
        let mut alive = !self.is_leaderless();
        for child in self.others() {
            match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => alive = true,
                Ok(_) | Err(_) => self.told.retain(|told| *told != child),
            }
        }
        !alive && self.group_is_empty()
    }

    /// Asks everybody to end. Called again it asks only those that came since.
    pub(super) fn terminate(&mut self, first: bool) {
        if first {
            let _ = killpg(self.leader, Signal::SIGTERM);
        }
        for child in self.others() {
            if !self.told.contains(&child) {
                self.told.push(child);
                let in_group = nix::unistd::getpgid(Some(child)) == Ok(self.leader);
                if !(first && in_group) {
                    let _ = kill(child, Signal::SIGTERM);
                }
            }
        }
    }

    /// Ends everybody that can be seen.
    pub(super) fn kill(&mut self) {
        let _ = killpg(self.leader, Signal::SIGKILL);
        for child in self.others() {
            let _ = kill(child, Signal::SIGKILL);
        }
    }

    /// Reaps the server itself, which gives its id back, and returns the exit code for it.
    pub(super) fn bury(self) -> u8 {
        let _ = waitpid(self.leader, Some(WaitPidFlag::WNOHANG));
        match self.ended {
            Some(WaitStatus::Exited(_, code)) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            Some(WaitStatus::Signaled(_, signal, _)) => 128 + u8::try_from(signal as i32).unwrap_or(0),
            _ => u8::MAX,
        }
    }

    fn others(&self) -> Vec<Pid> {
        children().into_iter().filter(|child| *child != self.leader).collect()
    }

    /// On Linux the whole group descends from this process, so without children it is empty.
    #[cfg(target_os = "linux")]
    #[expect(clippy::unused_self, reason = "the other systems need it")]
    fn group_is_empty(&self) -> bool {
        true
    }

    #[cfg(not(target_os = "linux"))]
    fn group_is_empty(&self) -> bool {
        // The leader has to be reaped to tell: a dead one counts as a member.
        let _ = waitpid(self.leader, Some(WaitPidFlag::WNOHANG));
        killpg(self.leader, None).is_err()
    }
}

/// Returns the direct children of this process, dead ones that are not reaped included.
#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let own = getpid();
    // One file says it where the kernel is built with it; else every process is asked for its parent.
    match std::fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(list) => list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect(),
        Err(_) => std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .map(Pid::from_raw)
            .filter(|pid| parent(*pid) == Some(own))
            .collect(),
    }
}

/// Other systems have no subreaper, so the only child is the server.
#[cfg(not(target_os = "linux"))]
fn children() -> Vec<Pid> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn parent(pid: Pid) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses included; the state and the parent follow the last one.
    status.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
}
