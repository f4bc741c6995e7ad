//! What a store holds besides the guest: limits, the deadline, the log and, where linked, the inert WASI.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use portcullis_bindings::{Level, LogSink};
use portcullis_model::PolicyName;
use wasmtime::ResourceLimiter;

use crate::budget::{Allowance, Budget};
use crate::engine::Engine;
use crate::http::{Client, Http};
use crate::wasi::Inert;

/// The time that a call may take was used up. Raised by the epoch callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline of {} ms has passed", limit.as_millis())]
pub(crate) struct DeadlineExceeded {
    pub(crate) limit: Duration,
}

/// The guest wanted more memory than its budget. Raised by the limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {limit} bytes of memory were wanted")]
pub(crate) struct MemoryExceeded {
    pub(crate) limit: u64,
}

/// Returns the CPU time of this thread; nothing where the system has no such clock.
pub(crate) fn thread_cpu() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// When a call started, and when it has to end.
///
/// Asking for the CPU time of a thread is a system call that costs more than most evaluations. So the clock is only asked
/// at the start where the call is measured; else it is first asked at the first tick, and what was used before that, a
/// tick at most, is not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    started: Instant,
    cpu_from: Option<Duration>,
    allowance: Allowance,
}

impl Deadline {
    pub(crate) fn start(allowance: Allowance, measured: bool) -> Self {
        let cpu_from = if measured { thread_cpu() } else { None };
        Self { started: Instant::now(), cpu_from, allowance }
    }

    pub(crate) fn wall(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the wall time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.allowance.wall.saturating_sub(self.wall())
    }

    /// Returns the wall time that the call may take in all.
    pub(crate) fn limit(&self) -> Duration {
        self.allowance.wall
    }

    /// Returns the CPU time since the start, or since the first tick; nothing for a call that is over before.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        Some(thread_cpu()?.saturating_sub(self.cpu_from?))
    }

    /// Ends the call where its time is up. Called at each tick.
    pub(crate) fn check(&mut self) -> Result<(), DeadlineExceeded> {
        self.cpu_from = self.cpu_from.or_else(thread_cpu);
        let wall = self.wall();
        // Where there is no CPU clock, wall time stands for it.
        if self.cpu().unwrap_or(wall) >= self.allowance.cpu {
            return Err(DeadlineExceeded { limit: self.allowance.cpu });
        }
        if wall >= self.allowance.wall {
            return Err(DeadlineExceeded { limit: self.allowance.wall });
        }
        Ok(())
    }
}

/// Counts linear memory and tables against the budget. Growing past it ends the call, so that it is told apart from
/// a guest that gives up by itself.
#[derive(Debug)]
pub(crate) struct Limits {
    memory: u64,
    used: u64,
}

impl Limits {
    fn grow(&mut self, current: u64, desired: u64) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        if used > self.memory {
            return Err(wasmtime::Error::new(MemoryExceeded { limit: self.memory }));
        }
        self.used = used;
        Ok(true)
    }

    /// Returns the bytes of linear memory and tables. They never shrink while a guest lives.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // Past the maximum that the guest declared itself the engine refuses, whatever is said here.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.grow(current as u64, desired as u64)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        // An element is a pointer.
        self.grow(current as u64 * 8, desired as u64 * 8)
    }
}

/// Lines of one policy. Bounded: a policy that logs without end still ends at its deadline, and the log stays readable.
#[derive(Debug)]
pub(crate) struct LogLines {
    policy: Option<PolicyName>,
    /// While configuring no payload is around; later lines may hold some and stay at debug level.
    configuring: bool,
    lines: u32,
}

/// Lines of one call that are passed on.
const MOST_LINES: u32 = 32;

/// Bytes of one line that are passed on.
const LONGEST_LINE: usize = 512;

impl LogLines {
    fn of(purpose: Purpose<'_>) -> Self {
        Self { policy: purpose.policy.cloned(), configuring: purpose.configuring, lines: 0 }
    }

    fn write(&mut self, level: Level, message: &str) {
        self.lines = self.lines.saturating_add(1);
        let policy = self.policy.as_ref().map_or("", PolicyName::as_str);
        if self.lines > MOST_LINES {
            if self.lines == MOST_LINES + 1 {
                tracing::debug!(target: "portcullis::policy", policy, "further lines of this call are dropped");
            }
            return;
        }
        let end = message.floor_char_boundary(LONGEST_LINE);
        let message = message.get(..end).unwrap_or_default().escape_debug();
        match (self.configuring, level) {
            (true, Level::Warn | Level::Error) => {
                tracing::warn!(target: "portcullis::policy", policy, %message, ?level, "line of a policy");
            }
            (true, Level::Info) => {
                tracing::info!(target: "portcullis::policy", policy, %message, ?level, "line of a policy");
            }
            (true, Level::Debug) | (false, _) => {
                tracing::debug!(target: "portcullis::policy", policy, %message, ?level, "line of a policy");
            }
        }
    }
}

/// The data of a store.
pub(crate) struct State {
    pub(crate) limits: Limits,
    pub(crate) deadline: Deadline,
    log: LogLines,
    pub(crate) inert: Option<Box<Inert>>,
    pub(crate) http: Option<Box<Http>>,
    /// What lets epochs pass, for a guest that may outlast its sleep.
    pub(crate) engine: Option<Engine>,
}

/// What a guest is called for, and what that may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose<'a> {
    pub(crate) policy: Option<&'a PolicyName>,
    pub(crate) configuring: bool,
    pub(crate) allowance: Allowance,
    /// True where its CPU time is measured from the start on.
    pub(crate) measured: bool,
    /// What requests are sent with, where the policy was granted any.
    pub(crate) client: Option<&'a Arc<Client>>,
}

impl<'a> Purpose<'a> {
    /// Loading and configuring: not in the path of any message.
    pub(crate) fn configure(policy: Option<&'a PolicyName>, budget: Budget) -> Self {
        Self { policy, configuring: true, allowance: budget.for_configure(), measured: true, client: None }
    }
}

impl State {
    pub(crate) fn new(memory: u64, inert: Option<Box<Inert>>, purpose: Purpose<'_>) -> Self {
        let mut state = Self {
            limits: Limits { memory, used: 0 },
            deadline: Deadline::start(purpose.allowance, purpose.measured),
            log: LogLines::of(purpose),
            inert,
            http: None,
            engine: None,
        };
        state.give(purpose.client);
        state
    }

    /// Hands over what requests are sent with, until the next call begins.
    fn give(&mut self, client: Option<&Arc<Client>>) {
        match (&mut self.http, client) {
            (Some(http), client) => http.begin(client),
            (None, Some(client)) => self.http.insert(Box::new(Http::new())).begin(Some(client)),
            (None, None) => {}
        }
    }

    /// Starts a new call on an instance that was called before: its own deadline and its own share of the log.
    pub(crate) fn begin(&mut self, purpose: Purpose<'_>) {
        self.deadline = Deadline::start(purpose.allowance, purpose.measured);
        self.log = LogLines::of(purpose);
        self.give(purpose.client);
    }
}

impl LogSink for State {
    fn write(&mut self, level: Level, message: &str) -> wasmtime::Result<()> {
        self.log.write(level, message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_past_the_budget_is_a_typed_error() {
        let mut limits = Limits { memory: 100, used: 0 };
        assert!(limits.memory_growing(0, 60, None).unwrap());
        let error = limits.memory_growing(60, 101, None).unwrap_err();
        assert_eq!(error.downcast_ref::<MemoryExceeded>(), Some(&MemoryExceeded { limit: 100 }));
        assert_eq!(limits.used(), 60);
    }

    #[test]
    fn tables_count_as_memory() {
        let mut limits = Limits { memory: 100, used: 0 };
        assert!(limits.table_growing(0, 10, None).unwrap());
        assert!(limits.table_growing(10, 13, None).is_err());
    }

    #[test]
    fn a_deadline_is_met_by_cpu_time_or_by_wall_time() {
        let (none, much) = (Duration::ZERO, Duration::from_secs(100));
        for measured in [true, false] {
            let start = |cpu, wall| Deadline::start(Allowance { cpu, wall }, measured);
            assert_eq!(start(much, none).check(), Err(DeadlineExceeded { limit: none }));
            assert_eq!(start(none, much).check(), Err(DeadlineExceeded { limit: none }));
            assert_eq!(start(much, much).check(), Ok(()));
        }
    }

    #[test]
    fn cpu_time_is_known_from_the_start_or_from_the_first_tick_on() {
        let allowance = Allowance { cpu: Duration::from_secs(100), wall: Duration::from_secs(100) };
        assert!(Deadline::start(allowance, true).cpu().is_some());
        let mut deadline = Deadline::start(allowance, false);
        assert_eq!(deadline.cpu(), None);
        deadline.check().unwrap();
        assert!(deadline.cpu().is_some());
    }
}
