//! What a server says by itself, on its way to clients: through the result gate, one after the other, in the order of
//! arrival. An answer waits until what was said before it has arrived: in the stateless era there is nobody to tell once a
//! request is answered.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use portcullis_gates::ServerMessage;
use portcullis_model::ResultKind;
use portcullis_model::json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Fleet;
use super::server::Server;
use crate::downstream::{ClientSession, Outlet};

/// So many messages of one server wait to be judged; further ones are dropped. Bursts of progress and of log lines have a
/// few dozen.
const MOST_WAITING: usize = 128;
/// The gate may take so long about one message until the next one is begun: far longer than policies may think, so that
/// only one about which a person is asked loses its place.
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer waits so long for what was said before it. Policies that are that slow hold the answer up as well.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// A message that a server sent by itself.
#[derive(Debug)]
pub(crate) struct Saying {
    pub(crate) kind: ResultKind,
    /// The name of what is called, where it is about a call.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) params: Value,
    /// Each with the way that it goes; that of the session where nothing is said.
    pub(crate) to: Vec<(Arc<ClientSession>, Option<Outlet>)>,
    /// The call that it is about: once that is over nobody wants to hear of it.
    pub(crate) call: Option<Weak<()>>,
}

impl Saying {
    fn is_wanted(&self) -> bool {
        self.call.as_ref().is_none_or(|call| call.strong_count() > 0)
    }
}

/// What a server has said and nobody has heard yet.
#[derive(Debug, Default)]
pub(crate) struct Voice {
    said: Mutex<Said>,
    /// How many are on their way, so that an answer before which nothing was said costs one look.
    unheard: AtomicUsize,
    heard: Notify,
}

#[derive(Debug, Default)]
struct Said {
    queue: VecDeque<(u64, Saying)>,
    /// True while a task passes them on.
    is_passed_on: bool,
    next: u64,
    /// What has not arrived yet: the number of a session, and of what is on its way to it.
    unheard: BTreeSet<(u64, u64)>,
}

impl Voice {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes something in. Returns true where nobody passes it on yet; nothing where too much waits.
    fn take(&self, saying: Saying) -> Option<bool> {
        let mut said = self.said();
        if said.queue.len() >= MOST_WAITING {
            return None;
        }
        said.next += 1;
        let number = said.next;
        said.unheard.extend(saying.to.iter().map(|(session, _)| (session.number, number)));
        said.queue.push_back((number, saying));
        self.unheard.store(said.unheard.len(), Ordering::Release);
        Some(!std::mem::replace(&mut said.is_passed_on, true))
    }

    /// Returns what is next; nothing where all is passed on, and then whoever did it is done.
    fn next(&self) -> Option<(u64, Saying)> {
        let mut said = self.said();
        let next = said.queue.pop_front();
        said.is_passed_on = next.is_some();
        next
    }

    /// Returns true while something has not arrived.
    #[cfg(test)]
    pub(crate) fn is_unheard(&self) -> bool {
        self.unheard.load(Ordering::Acquire) > 0
    }

    fn note_heard(&self, session: u64, number: u64) {
        let mut said = self.said();
        said.unheard.remove(&(session, number));
        self.unheard.store(said.unheard.len(), Ordering::Release);
        drop(said);
        self.heard.notify_waiters();
    }

    /// Waits, not for ever, until all that the server has said to a session so far has arrived.
    pub(crate) async fn heard(&self, session: u64) {
        if self.unheard.load(Ordering::Acquire) == 0 {
            return;
        }
        let of_session = |last: u64| (session, 0)..=(session, last);
        let last = self.said().unheard.range(of_session(u64::MAX)).next_back().copied();
        let Some((_, last)) = last else {
            return;
        };
        let waiting = async {
            loop {
                let heard = self.heard.notified();
                if self.said().unheard.range(of_session(last)).next().is_none() {
                    return;
                }
                heard.await;
            }
        };
        if timeout(LONGEST_WAIT, waiting).await.is_err() {
            tracing::debug!("an answer goes before what the server had said: that takes too long to be judged");
        }
    }
}

/// Passes something that a server said on to whom it is meant for. Never waits.
pub(crate) fn say(fleet: &Arc<Fleet>, server: &Arc<Server>, saying: Saying) {
    if saying.to.is_empty() {
        return;
    }
    match server.voice.take(saying) {
        None => {
            tracing::debug!(server = %server.name(), "a notification was dropped: too many wait to be judged");
        }
        Some(false) => {}
        Some(true) => {
            tokio::spawn(pass_on(Arc::downgrade(fleet), Arc::clone(server)));
        }
    }
}

/// Forgets what was not passed on, where a task that should have is gone.
struct PassingOn<'a> {
    voice: &'a Voice,
    is_done: bool,
}

impl Drop for PassingOn<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut said = self.voice.said();
        said.queue.clear();
        said.unheard.clear();
        said.is_passed_on = false;
        self.voice.unheard.store(0, Ordering::Release);
        drop(said);
        self.voice.heard.notify_waiters();
    }
}

async fn pass_on(fleet: Weak<Fleet>, server: Arc<Server>) {
    let mut passing = PassingOn { voice: &server.voice, is_done: false };
    while let Some((number, saying)) = server.voice.next() {
        let Some(fleet) = fleet.upgrade() else {
            return;
        };
        let saying = Arc::new(saying);
        for (session, outlet) in &saying.to {
            let (fleet, server) = (Arc::clone(&fleet), Arc::clone(&server));
            let mut telling =
                Box::pin(tell(fleet, Arc::clone(&server), Arc::clone(&saying), Arc::clone(session), outlet.clone()));
            if timeout(PATIENCE, &mut telling).await.is_err() {
                // A person is being asked about it. Few are: there is a bound on open questions.
                tokio::spawn(telling);
            }
            server.voice.note_heard(session.number, number);
        }
    }
    passing.is_done = true;
}

/// Passes one message through the result gate to one session.
async fn tell(
    fleet: Arc<Fleet>,
    server: Arc<Server>,
    saying: Arc<Saying>,
    session: Arc<ClientSession>,
    outlet: Option<Outlet>,
) {
    if !saying.is_wanted() {
        return;
    }
    let context = fleet.context(&session, &server, outlet.as_ref());
    let message = ServerMessage {
        server: server.name().clone(),
        kind: saying.kind,
        name: saying.name.clone(),
        document: saying.params.clone(),
    };
    match fleet.gates().result(&context, message).await {
        Ok(_) if !saying.is_wanted() => {}
        Ok(cleared) => session.link.notify(outlet.as_ref(), &saying.method, Some(&cleared.get().document)),
        Err(refusal) => tracing::info!(
            server = %server.name(), method = saying.method, code = refusal.code.as_str(),
            "a notification of a server was refused"
        ),
    }
}
