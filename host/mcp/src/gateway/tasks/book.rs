//! The tasks that clients made, by the ids that those know.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::{Principal, ServerName, SessionId};
use tokio::time::Instant;

use super::document::{Status, Told, related, rename};
use super::inputs::Inputs;
use super::known::Known;
use crate::downstream::ClientSession;
use crate::gateway::callers::CallGuard;
use crate::gateway::fleet::Fleet;
use crate::gateway::server::Server;

/// So many tasks of one principal are known at once: agents run a handful. A task holds its ids and the questions that it
/// asks, of which there are at most [`super::inputs::MOST_INPUTS`] of 16 KiB.
const MOST_OF_ONE: usize = 128;
/// So many tasks are known in all: with all of their questions of the largest size 128 MiB, in practice a kilobyte each.
const MOST: usize = 512;
/// A task is known for as long as its server says (`ttl`, `ttlMs`), but not longer than a day …
const LONGEST_KNOWN: Duration = Duration::from_hours(24);
/// … and at least so long: a server that forgets sooner says so itself.
const SHORTEST_KNOWN: Duration = Duration::from_mins(1);
/// A task that nobody asked for so long does not keep its server from sleeping any more.
const LONGEST_AWAKE: Duration = Duration::from_hours(1);
/// No session has this number: what keeps a server awake belongs to no running request.
const NO_SESSION: u64 = 0;

/// Whose a task is. Nobody else reaches it, whatever id they name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    principal: Principal,
    /// The only server in the client's view, where there is one.
    scope: Option<ServerName>,
    /// The session; in the stateless era one principal's client.
    session: SessionId,
}

impl Owner {
    pub(crate) fn of(session: &ClientSession) -> Self {
        Self {
            principal: session.entrance.principal.clone(),
            scope: session.entrance.scope.clone(),
            session: session.gates.id.clone(),
        }
    }
}

/// What changes in the life of a task.
struct State {
    status: Status,
    expires: Instant,
    seen: Instant,
    /// Keeps the server from sleeping.
    awake: Option<CallGuard>,
    /// The error that the gateway ended it with.
    failed: Option<Value>,
    /// The sessions that listen for it, by their numbers.
    listeners: BTreeMap<u64, Weak<ClientSession>>,
}

/// One task.
pub(crate) struct Task {
    /// The id that the client knows.
    pub(crate) id: String,
    /// Grows with each task.
    pub(crate) number: u64,
    owner: Owner,
    /// The number of the session that made it.
    pub(crate) session: u64,
    pub(crate) fleet: Weak<Fleet>,
    pub(crate) server: Arc<Server>,
    /// The server's own id.
    pub(crate) own_id: String,
    /// The tool that runs, by the server's own name.
    pub(crate) tool: String,
    pub(crate) inputs: Inputs,
    state: Mutex<State>,
}

impl fmt::Debug for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Task").field("number", &self.number).field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl Task {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what its server told of it.
    pub(crate) fn note(&self, told: &Told) {
        let now = Instant::now();
        let mut state = self.state();
        state.status = told.status;
        state.expires = now + lasts(told.ttl);
        state.seen = now;
        if told.status.is_over() {
            state.awake = None;
        }
    }

    /// Notes that somebody asked for it.
    pub(crate) fn touch(&self) {
        self.state().seen = Instant::now();
    }

    /// Notes that the gateway ended it, with the error that its client is told.
    pub(crate) fn fail(&self, error: Value) {
        let mut state = self.state();
        state.failed = Some(error);
        state.awake = None;
    }

    /// Returns the error that the gateway ended it with, where it did.
    pub(crate) fn failed(&self) -> Option<Value> {
        self.state().failed.clone()
    }

    /// Notes a session that listens for it. Returns true where it is the first.
    pub(super) fn listen(&self, session: &Arc<ClientSession>) -> bool {
        let mut state = self.state();
        state.listeners.insert(session.number, Arc::downgrade(session)).is_none() && state.listeners.len() == 1
    }

    /// Notes that a session does not listen for it any more. Returns true where it was the last.
    pub(super) fn stop_listening(&self, session: u64) -> bool {
        let mut state = self.state();
        state.listeners.remove(&session).is_some() && state.listeners.is_empty()
    }

    /// Returns the sessions that listen for it.
    pub(in crate::gateway) fn listeners(&self) -> Vec<Arc<ClientSession>> {
        self.state().listeners.values().filter_map(Weak::upgrade).collect()
    }

    /// Returns true where nothing more comes of it.
    pub(in crate::gateway) fn is_over(&self) -> bool {
        let state = self.state();
        state.status.is_over() || state.failed.is_some()
    }

    fn is_expired(&self, now: Instant) -> bool {
        let mut state = self.state();
        if now.saturating_duration_since(state.seen) > LONGEST_AWAKE {
            state.awake = None;
        }
        state.expires <= now
    }
}

/// Returns for how long a task is known whose server keeps it for so long; without a limit of its own there is ours.
fn lasts(ttl: Option<Duration>) -> Duration {
    ttl.unwrap_or(LONGEST_KNOWN).clamp(SHORTEST_KNOWN, LONGEST_KNOWN)
}

/// There are too many tasks, and none of them has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many tasks are running")]
pub(crate) struct TooMany;

/// The tasks that clients made.
pub(crate) struct TaskBook {
    tasks: Mutex<HashMap<String, Arc<Task>>>,
    next: AtomicU64,
    known: Known,
}

impl TaskBook {
    /// Builds an empty one. What servers offer is remembered in `folder`, where there is one.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { tasks: Mutex::default(), next: AtomicU64::new(1), known: Known::new(folder) }
    }

    /// Returns what is known of servers that are not connected.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task in that a server made of a session's call of that tool.
    pub(crate) fn add(
        &self,
        session: &ClientSession,
        fleet: Weak<Fleet>,
        server: &Arc<Server>,
        tool: &str,
        told: &Told,
    ) -> Result<Arc<Task>, TooMany> {
        let now = Instant::now();
        let awake = (!told.status.is_over()).then(|| server.callers.note(NO_SESSION, None));
        let state = State {
            status: told.status,
            expires: now + lasts(told.ttl),
            seen: now,
            awake,
            failed: None,
            listeners: BTreeMap::new(),
        };
        let task = Arc::new(Task {
            id: new_id().ok_or(TooMany)?,
            number: self.next.fetch_add(1, Ordering::Relaxed),
            owner: Owner::of(session),
            session: session.number,
            fleet,
            server: Arc::clone(server),
            own_id: told.id.clone(),
            tool: tool.to_owned(),
            inputs: Inputs::default(),
            state: Mutex::new(state),
        });
        let mut tasks = self.tasks();
        tasks.retain(|_, task| !task.is_expired(now));
        let mine = |other: &Task| other.owner.principal == task.owner.principal;
        if tasks.values().filter(|other| mine(other)).count() >= MOST_OF_ONE {
            make_room(&mut tasks, mine)?;
        }
        if tasks.len() >= MOST {
            make_room(&mut tasks, |_| true)?;
        }
        tasks.insert(task.id.clone(), Arc::clone(&task));
        Ok(task)
    }

    /// Returns the task of that id, where it is theirs.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<Arc<Task>> {
        let task = self.tasks().get(id).cloned()?;
        (task.owner == *owner && !task.is_expired(Instant::now())).then_some(task)
    }

    /// Returns all tasks of theirs, the oldest first.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Arc<Task>> {
        let now = Instant::now();
        let mut tasks: Vec<_> =
            self.tasks().values().filter(|task| task.owner == *owner && !task.is_expired(now)).cloned().collect();
        tasks.sort_by_key(|task| task.number);
        tasks
    }

    /// Returns the task that a server's request belongs to (2025-11-25, related-task), and puts the id that its client
    /// knows into the parameters.
    pub(crate) fn related(&self, server: &Server, params: &mut Value) -> Option<Arc<Task>> {
        let own_id = related(params)?.to_owned();
        let task = self.at(server, &own_id)?;
        rename(params, &own_id, &task.id);
        Some(task)
    }

    /// Notes what a server tells of a task by itself, and puts the id that its client knows into the parameters.
    pub(crate) fn told(&self, server: &Server, params: &mut Value) -> Option<Arc<Task>> {
        let told = Told::read(params)?;
        let task = self.at(server, &told.id)?;
        task.note(&told);
        rename(params, &told.id, &task.id);
        Some(task)
    }

    /// Returns the newest task to which this very server gave that id.
    fn at(&self, server: &Server, own_id: &str) -> Option<Arc<Task>> {
        let tasks = self.tasks();
        let of_server = tasks.values().filter(|task| std::ptr::eq(Arc::as_ptr(&task.server), server));
        of_server.filter(|task| task.own_id == own_id).max_by_key(|task| task.number).cloned()
    }

    /// Returns the tasks that somebody listens for.
    pub(super) fn listened_for(&self) -> Vec<Arc<Task>> {
        self.tasks().values().filter(|task| !task.state().listeners.is_empty()).cloned().collect()
    }

    /// Drops a task.
    pub(crate) fn forget(&self, task: &Task) {
        self.tasks().remove(&task.id);
    }

    /// Drops those whose time is over.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        self.tasks().retain(|_, task| !task.is_expired(now));
    }
}

/// Drops the oldest of those that have ended.
fn make_room(tasks: &mut HashMap<String, Arc<Task>>, filter: impl Fn(&Task) -> bool) -> Result<(), TooMany> {
    let over = tasks.values().filter(|task| filter(task) && task.is_over());
    let oldest = over.min_by_key(|task| task.number).map(|task| task.id.clone()).ok_or(TooMany)?;
    tasks.remove(&oldest);
    Ok(())
}

/// Returns an id that nobody can guess; nothing where the system has no randomness.
fn new_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("task-{:032x}", u128::from_be_bytes(bytes)))
}
