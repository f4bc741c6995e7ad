//! One server as the gateway knows it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use portcullis_config::ServerOptions;
use portcullis_model::{Launch, ServerEntry, ServerName};
use tokio::sync::Notify;

use super::Link;
use super::wishes::Wishes;
use crate::status::{Phase, ServerStatus};

/// A connection with the number that tells it from earlier ones.
pub(crate) struct Connected {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) number: u64,
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
    connected: ArcSwapOption<Connected>,
    status: Mutex<ServerStatus>,
    /// Calls that are running, by the number of their session: who a request of the server belongs to.
    callers: Mutex<HashMap<u64, usize>>,
    drained: Notify,
    settled: AtomicBool,
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
        Self {
            index,
            name: entry.name.clone(),
            entry: ArcSwap::new(entry),
            options: ArcSwap::from_pointee(options),
            wishes: Wishes::default(),
            tool_rounds: AtomicU32::new(0),
            judged: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            connected: ArcSwapOption::empty(),
            status: Mutex::new(status),
            callers: Mutex::default(),
            drained: Notify::new(),
            settled: AtomicBool::new(false),
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

    /// Returns what became of it.
    pub(crate) fn status(&self) -> ServerStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true once the first try to reach it has ended. Later tries do not count: lists would wait for each.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// Changes what is told of it.
    pub(crate) fn set_status(&self, change: impl FnOnce(&mut ServerStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sets where it is in its life, and why.
    pub(crate) fn set_phase(&self, phase: Phase, reason: Option<(&str, String)>) {
        if phase.is_settled() {
            self.settled.store(true, Ordering::Release);
        }
        self.set_status(|status| {
            status.phase = phase;
            let (code, text) = reason.map_or((None, None), |(code, text)| (Some(code.to_owned()), Some(text)));
            status.reason_code = code;
            status.reason = text;
        });
    }

    /// Counts a running call of a session until the returned guard is dropped.
    pub(crate) fn note_call(self: &Arc<Self>, session: u64) -> CallGuard {
        *self.callers.lock().unwrap_or_else(PoisonError::into_inner).entry(session).or_default() += 1;
        CallGuard { server: Arc::clone(self), session }
    }

    /// Waits until no call is running.
    pub(crate) async fn drained(&self) {
        loop {
            let drained = self.drained.notified();
            if self.callers.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            drained.await;
        }
    }

    /// Returns true while a call is running.
    pub(crate) fn is_busy(&self) -> bool {
        !self.callers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns the numbers of the sessions that have calls running here.
    pub(crate) fn callers(&self) -> Vec<u64> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

/// A running call.
pub(crate) struct CallGuard {
    server: Arc<Server>,
    session: u64,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut callers = self.server.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = callers.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                callers.remove(&self.session);
                self.server.drained.notify_waiters();
            }
        }
    }
}
