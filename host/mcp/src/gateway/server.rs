//! One server as the gateway knows it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use portcullis_config::ServerOptions;
use portcullis_model::{Launch, ServerEntry, ServerName};
use tokio::time::Instant;

use super::Link;
use super::breaker::Breaker;
use super::callers::Callers;
use super::subscribers::Subscribers;
use super::turns::Turns;
use super::usage::Usage;
use super::voice::Voice;
use super::wishes::Wishes;
use crate::downstream::Outlet;
use crate::status::{Phase, ServerStatus};
use crate::upstream::CallerId;

/// A connection with the number that tells it from earlier ones.
pub(crate) struct Connected {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) number: u64,
    pub(crate) since: Instant,
}

impl Connected {
    pub(crate) fn new(link: Arc<dyn Link>, number: u64) -> Self {
        Self { link, number, since: Instant::now() }
    }
}

/// What is told of a server, with what it is made of.
struct Kept {
    status: ServerStatus,
    /// When it is tried again.
    retry_at: Option<Instant>,
    /// Why what it offers is not whole, where it is not.
    incomplete: Option<String>,
    /// True while calls are held back.
    held_back: bool,
    /// How long a call waits for it, where it sleeps until a call needs it.
    sleeps: Option<Duration>,
}

/// A step in the life of a server.
struct Step {
    phase: Phase,
    reason: Option<(String, String)>,
    retry_at: Option<Instant>,
}

/// One server as the gateway knows it.
pub(crate) struct Server {
    /// Its number; no other server of its fleet has or had it.
    pub(crate) index: usize,
    name: ServerName,
    entry: ArcSwap<ServerEntry>,
    options: ArcSwap<ServerOptions>,
    /// What is wanted of its keeper.
    pub(crate) wishes: Wishes,
    /// Sampling requests with tools in a row.
    pub(crate) tool_rounds: AtomicU32,
    /// Generation of the policy set that judged it last, entry and items.
    judged: AtomicU64,
    /// Answers that came since the last connection: real traffic proves a server.
    pub(crate) answers: AtomicU64,
    /// Whether calls are let through.
    pub(crate) breaker: Breaker,
    /// Whose turn it is, where calls are sent one after the other.
    pub(crate) turns: Turns,
    /// What it was used for.
    pub(crate) usage: Usage,
    /// What it says by itself.
    pub(crate) voice: Voice,
    /// Who subscribed to its resources; passed on where its entry changes.
    pub(crate) subscribers: Arc<Subscribers>,
    connected: ArcSwapOption<Connected>,
    status: Mutex<Kept>,
    /// Calls that are running.
    pub(crate) callers: Arc<Callers>,
    settled: AtomicBool,
    /// The published names of tools that were withdrawn because the server is parked: a call of one is told so.
    withdrawn: Mutex<HashSet<String>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Server {
    pub(crate) fn new(index: usize, entry: Arc<ServerEntry>, options: ServerOptions) -> Self {
        let transport = match &entry.launch {
            Launch::Stdio { .. } => "stdio",
            Launch::Http { legacy_sse: true, .. } => "sse",
            Launch::Http { .. } => "http",
        };
        let status = ServerStatus::configured(entry.name.clone(), transport);
        let status = Kept { status, retry_at: None, incomplete: None, held_back: false, sleeps: None };
        Self {
            index,
            name: entry.name.clone(),
            entry: ArcSwap::new(entry),
            options: ArcSwap::from_pointee(options),
            wishes: Wishes::default(),
            tool_rounds: AtomicU32::new(0),
            judged: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            breaker: Breaker::default(),
            turns: Turns::default(),
            usage: Usage::default(),
            voice: Voice::default(),
            subscribers: Arc::default(),
            connected: ArcSwapOption::empty(),
            status: Mutex::new(status),
            callers: Arc::default(),
            settled: AtomicBool::new(false),
            withdrawn: Mutex::default(),
        }
    }

    /// Returns its name in the config.
    pub(crate) fn name(&self) -> &ServerName {
        &self.name
    }

    /// Returns what is started or connected.
    pub(crate) fn entry(&self) -> Arc<ServerEntry> {
        self.entry.load_full()
    }

    /// Returns how it is treated.
    pub(crate) fn options(&self) -> Arc<ServerOptions> {
        self.options.load_full()
    }

    /// Has it treated in another way from now on; its entry and all that it lists are judged again.
    pub(crate) fn treat(&self, entry: Arc<ServerEntry>, options: ServerOptions) {
        self.entry.store(entry);
        self.options.store(Arc::new(options));
        self.wishes.add(|wanted| wanted.rejudge = true);
    }

    /// Notes that all of it is judged from here on by that generation of policies or a later one.
    pub(crate) fn begin_judging(&self, generation: u64) {
        self.judged.store(generation, Ordering::Release);
        self.wishes.add(|wanted| wanted.rejudge = false);
    }

    /// Has all of it judged again, unless that generation of policies did or does.
    pub(crate) fn rejudge(&self, generation: u64) {
        if self.judged.load(Ordering::Acquire) < generation {
            self.wishes.add(|wanted| wanted.rejudge = true);
        }
    }

    /// Returns the connection, while there is one.
    pub(crate) fn connected(&self) -> Option<Arc<Connected>> {
        self.connected.load_full()
    }

    /// Returns true where it is connected and declared the capability.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.connected.load().as_ref().is_some_and(|connected| connected.link.greeting().declares(capability))
    }

    /// Sets or ends the connection. Returns the former one.
    pub(crate) fn set_connected(&self, connected: Option<Arc<Connected>>) -> Option<Arc<Connected>> {
        self.answers.store(0, Ordering::Relaxed);
        self.connected.swap(connected)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what became of it.
    pub(crate) fn status(&self) -> ServerStatus {
        let kept = self.kept();
        ServerStatus {
            retry_in: kept.retry_at.map(|at| at.saturating_duration_since(Instant::now())),
            breaker: self.breaker.shown(),
            usage: self.usage.shown(),
            ..kept.status.clone()
        }
    }

    /// Returns where it is in its life.
    pub(crate) fn phase(&self) -> Phase {
        self.kept().status.phase
    }

    /// Has no list wait for it.
    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// Returns true once the first try to reach it has ended. Later tries do not count: lists would wait for each.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// Changes what is told of it.
    pub(crate) fn set_status(&self, change: impl FnOnce(&mut ServerStatus)) {
        change(&mut self.kept().status);
    }

    /// Sets where it is in its life, and why.
    pub(crate) fn set_phase(&self, phase: Phase, reason: Option<(&str, String)>) {
        let reason = reason.map(|(code, text)| (code.to_owned(), text));
        self.step(&mut self.kept(), Step { phase, reason, retry_at: None });
    }

    /// Notes that it is not available, and when it is tried again, where it is by itself.
    pub(crate) fn set_down(&self, phase: Phase, code: &str, text: String, retry_at: Option<Instant>) {
        self.step(&mut self.kept(), Step { phase, reason: Some((code.to_owned(), text)), retry_at });
    }

    /// Changes when it is tried again.
    pub(crate) fn set_retry(&self, at: Instant) {
        self.kept().retry_at = Some(at);
    }

    /// Notes that it is connected and published; `incomplete` says what of it could not be listed.
    pub(crate) fn set_up(&self, incomplete: Option<String>) {
        let mut kept = self.kept();
        kept.incomplete = incomplete;
        self.step_up(&mut kept);
    }

    /// Notes that what it offers is whole, or why it is not. Means something only while it is connected.
    pub(crate) fn set_incomplete(&self, incomplete: Option<String>) {
        let mut kept = self.kept();
        kept.incomplete = incomplete;
        if kept.status.phase.is_up() {
            self.step_up(&mut kept);
        }
    }

    /// Notes that calls are held back, or are not any more.
    pub(crate) fn set_held_back(&self, held_back: bool) {
        let mut kept = self.kept();
        kept.held_back = held_back;
        if kept.status.phase.is_up() {
            self.step_up(&mut kept);
        }
    }

    fn step_up(&self, kept: &mut Kept) {
        let held_back = || "calls to it failed several times in a row and are held back".to_owned();
        let reason = kept.held_back.then(|| ("calls-held-back".to_owned(), held_back()));
        let reason = reason.or_else(|| Some(("partly-listed".to_owned(), kept.incomplete.clone()?)));
        let phase = if reason.is_some() { Phase::Degraded } else { Phase::Ready };
        self.step(kept, Step { phase, reason, retry_at: None });
    }

    /// The one place where a server goes from one phase to another.
    fn step(&self, kept: &mut Kept, step: Step) {
        let status = &mut kept.status;
        if !status.phase.may_become(step.phase) {
            // What is told must be true all the same.
            tracing::error!(
                server = %self.name, from = status.phase.as_str(), to = step.phase.as_str(),
                "a server took a step that its life does not have"
            );
            debug_assert!(false, "from {} to {}", status.phase.as_str(), step.phase.as_str());
        }
        if step.phase.is_settled() {
            self.settled.store(true, Ordering::Release);
        }
        if status.phase != step.phase {
            status.since = SystemTime::now();
        }
        status.phase = step.phase;
        (status.reason_code, status.reason) = step.reason.unzip();
        kept.retry_at = step.retry_at;
        kept.sleeps = kept.sleeps.filter(|_| matches!(step.phase, Phase::Configured | Phase::Connecting));
    }

    /// Puts it to sleep: it is started when a call needs it, which waits up to `limit`. What it offers stays published.
    pub(crate) fn set_asleep(&self, code: &str, text: &str, limit: Duration) {
        let mut kept = self.kept();
        let reason = Some((code.to_owned(), text.to_owned()));
        self.step(&mut kept, Step { phase: Phase::Configured, reason, retry_at: None });
        kept.sleeps = Some(limit);
        self.settled.store(true, Ordering::Release);
    }

    /// Returns how long a call waits for it, where it sleeps, or was woken and is not connected yet.
    pub(crate) fn sleeps(&self) -> Option<Duration> {
        self.kept().sleeps
    }

    /// Counts a start.
    pub(crate) fn count_start(&self) {
        self.kept().status.starts += 1;
    }

    /// Sets which published names of tools are withdrawn while it is parked.
    pub(crate) fn set_withdrawn(&self, names: HashSet<String>) {
        *self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Returns true where that published name of a tool was withdrawn because the server is parked.
    pub(crate) fn has_withdrawn(&self, name: &str) -> bool {
        self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Waits until no call is running.
    pub(crate) async fn drained(&self) {
        self.callers.drained().await;
    }

    /// Returns true while a call is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.callers.is_busy()
    }

    /// Returns where goes what this server says to a session during a call: the way of the latest one that is running.
    pub(crate) fn outlet_to(&self, session: u64, caller: Option<CallerId>) -> Option<Outlet> {
        match caller {
            Some(caller) => self.callers.outlet_of(caller),
            None => self.callers.outlet_to(session),
        }
    }

    /// Returns the numbers of the sessions that have calls running here.
    pub(crate) fn callers(&self) -> Vec<u64> {
        self.callers.sessions()
    }
}
