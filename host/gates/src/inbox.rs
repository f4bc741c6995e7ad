//! Questions that wait for an answer in this process, and who may answer them.
//!
//! A question is answered by the first eligible answer, and by any refusal that comes before what was approved is
//! released. Where it waits depends on what is judged and on who is there:
//!
//! | judged | a client may answer, or an operator is attached | an operator could come (the inbox is open) | nobody |
//! | --- | --- | --- | --- |
//! | call, request of a server | the message waits | refused as pending; the same message again finds the answer | `no-approver` |
//! | result, error | it waits | it waits: what was done cannot be done again to ask | `no-approver` |
//! | server entry, listed item | stands until answered; judged again then | the same | `no-approver`, quarantined |
//! | progress, log and error output | refused | refused | `no-approver` |
//!
//! Attached is an operator who watches the inbox at the moment. Sending the same message again is never an answer.

mod ask;
mod decide;
mod entry;
mod ticket;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use portcullis_model::{ApproverClass, Digest, Principal};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::session::lock;
use crate::{Prompt, Scope};

pub(crate) use ask::{Asking, Unapproved, thing};
pub use decide::{AnswerEffect, AnswerError, OperatorAnswer};
use entry::{Entry, Shape};
pub(crate) use entry::{Given, Hold};
pub(crate) use ticket::Ticket;

/// What nobody waits for is kept so long for somebody to answer it: longer than a person is away from the keyboard for a
/// moment.
const LONGEST_RETRY: Duration = Duration::from_mins(30);

/// So many things stand in quarantine with a question of their own. Further ones are quarantined all the same, and get
/// their turn when they are judged again after others were answered.
const MOST_STANDING: usize = 2_048;

/// Questions that wait for an answer in this process. Clones are the same inbox.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Counts changes, for those who watch.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// True where operators can answer at all.
    is_open: bool,
    /// How many of them watch.
    attached: usize,
    entries: BTreeMap<String, Entry>,
}

/// One question, or several about one thing, as operators see it. All texts are escaped and bounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    /// Its opaque name.
    pub id: String,
    /// What kind of thing it is about: `tool`, `server`, `result` and so on.
    pub kind: String,
    /// What is asked.
    pub prompt: Prompt,
    /// Whose passage it is.
    pub principal: Principal,
    /// The session that it belongs to.
    pub session: String,
    /// The lowest class whose answer counts for all of it.
    pub lowest_approver: ApproverClass,
    /// When it was asked.
    pub asked_at: SystemTime,
    /// How long it can be answered still; nothing where it stands until it is.
    pub left: Option<Duration>,
    /// True where a message waits for the answer, false where it is found later.
    pub waits: bool,
    /// What was answered, where it was and can be refused still.
    pub answered: Option<bool>,
    /// For how long an approval holds where nothing else is said.
    pub usual: Scope,
}

/// An operator who watches. Dropped when they go.
#[derive(Debug)]
pub struct Attached(Inbox);

impl Inbox {
    /// Lets operators answer: there is a surface where they can.
    pub fn open(&self) {
        lock(&self.shared.state).is_open = true;
    }

    /// Ends that: what nobody waits for can't be answered any more.
    pub fn close(&self) {
        lock(&self.shared.state).is_open = false;
    }

    /// Notes an operator who watches until the value is dropped. Open the inbox first.
    pub fn attach(&self) -> Attached {
        lock(&self.shared.state).attached += 1;
        Attached(self.clone())
    }

    /// Returns the highest class that can be asked now, beside what a client's approver says.
    pub(crate) fn class(&self, client: Option<ApproverClass>) -> Option<ApproverClass> {
        let state = lock(&self.shared.state);
        if state.is_open && state.attached > 0 { Some(ApproverClass::Operator) } else { client }
    }

    /// Returns all questions that can be answered, the oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        let mut state = lock(&self.shared.state);
        state.drop_expired(Instant::now());
        let mut pending: Vec<Pending> = state.entries.iter().map(|(id, entry)| entry.to_pending(id)).collect();
        pending.sort_by(|left, right| left.asked_at.cmp(&right.asked_at).then_with(|| left.id.cmp(&right.id)));
        pending
    }

    /// Returns a receiver that is told of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Returns how many questions of a principal count against its limit.
    pub(crate) fn waiting(&self, principal: &Principal) -> usize {
        lock(&self.shared.state).waiting(principal)
    }

    /// Forgets what stood about a thing: it was judged again, and nothing is asked any more.
    pub(crate) fn settle(&self, thing: &Digest) {
        let mut state = lock(&self.shared.state);
        let before = state.entries.len();
        if before > 0 {
            state.entries.retain(|_, entry| !(entry.shape == Shape::Standing && entry.thing == *thing));
            if state.entries.len() != before {
                self.note_change();
            }
        }
    }

    fn note_change(&self) {
        self.shared.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl State {
    fn waiting(&self, principal: &Principal) -> usize {
        let counts = |entry: &&Entry| entry.shape != Shape::Standing && entry.principal == *principal;
        self.entries.values().filter(counts).count()
    }

    fn drop_expired(&mut self, now: Instant) {
        self.entries
            .retain(|_, entry| entry.shape == Shape::Waiting || entry.deadline.is_none_or(|deadline| now < deadline));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut state = lock(&self.0.shared.state);
        state.attached = state.attached.saturating_sub(1);
    }
}
