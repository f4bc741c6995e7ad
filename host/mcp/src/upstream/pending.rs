//! Requests that wait for their answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use portcullis_model::json::Value;
use tokio::sync::oneshot;

use super::{CallError, CallerId, CloseReason, Outcome};

/// So many requests may wait for one server: more than any client runs at once, and a few hundred kilobytes at most.
pub(super) const MOST_PENDING: usize = 1024;

pub(super) type Answer = Result<Outcome, CallError>;

#[derive(Debug)]
struct Slot {
    sender: oneshot::Sender<Answer>,
    progress_token: Option<Value>,
    clock: Mark,
    /// True for a request that is answered only when it is over, such as a subscription.
    is_lasting: bool,
    /// Whose call it is.
    caller: Option<CallerId>,
}

/// A moment on a clock that can be stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    at: Instant,
    paused: Duration,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Hands are being shaken.
    Handshake,
    /// It is in use.
    Established,
    /// It is closed.
    Closed,
}

/// The requests that wait, and the clock by which they do.
#[derive(Debug, Default)]
pub(super) struct Pending {
    slots: BTreeMap<u64, Slot>,
    next: u64,
    closed: Option<CloseReason>,
    is_established: bool,
    /// How many requests of the server are being answered: while any is, the clock stands still.
    answering: usize,
    paused: Duration,
    paused_since: Option<Instant>,
}

impl Pending {
    /// Adds a request; its id is a number that was not used on this connection.
    pub(super) fn add(
        &mut self,
        progress_token: Option<Value>,
        is_lasting: bool,
    ) -> Result<(u64, oneshot::Receiver<Answer>), CallError> {
        if let Some(reason) = &self.closed {
            return Err(CallError::Closed(reason.clone()));
        }
        if self.slots.len() >= MOST_PENDING {
            return Err(CallError::Busy(MOST_PENDING));
        }
        self.next += 1;
        let (sender, receiver) = oneshot::channel();
        let clock = self.mark();
        self.slots.insert(self.next, Slot { sender, progress_token, clock, is_lasting, caller: None });
        Ok((self.next, receiver))
    }

    /// Gives a request its answer. Returns false where nobody waits under this id.
    pub(super) fn settle(&mut self, id: u64, answer: Answer) -> bool {
        match self.slots.remove(&id) {
            // The receiver is gone only where the caller is about to remove the slot itself.
            Some(slot) => slot.sender.send(answer).is_ok(),
            None => false,
        }
    }

    /// Notes whose call a request is.
    pub(super) fn belongs_to(&mut self, id: u64, caller: CallerId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.caller = Some(caller);
        }
    }

    /// Returns whose call a request is that waits under this id, where that is known.
    pub(super) fn caller(&self, id: u64) -> Option<CallerId> {
        self.slots.get(&id)?.caller
    }

    /// Returns true where a request waits under this id.
    pub(super) fn waits(&self, id: u64) -> bool {
        self.slots.contains_key(&id)
    }

    /// Takes a request back. Returns false where it has been answered.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        self.slots.remove(&id).is_some()
    }

    /// Returns the only request that waits for a direct answer, if there is exactly one.
    pub(super) fn only(&self) -> Option<u64> {
        let mut ids = self.slots.iter().filter(|(_, slot)| !slot.is_lasting).map(|(id, _)| *id);
        ids.next().filter(|_| ids.next().is_none())
    }

    /// Notes progress: the request's time starts again. Returns the caller's token, where it wants to hear of it.
    pub(super) fn progress(&mut self, id: u64) -> Option<Value> {
        let mark = self.mark();
        let slot = self.slots.get_mut(&id)?;
        slot.clock = mark;
        slot.progress_token.clone()
    }

    /// Notes the end of the handshake. Fails where the connection is closed already.
    pub(super) fn establish(&mut self) -> Result<(), CloseReason> {
        self.is_established = true;
        self.closed.clone().map_or(Ok(()), Err)
    }

    /// Answers everybody with the reason; later requests get it too. Returns how far it was.
    pub(super) fn close(&mut self, reason: &CloseReason) -> Stage {
        if self.closed.is_some() {
            return Stage::Closed;
        }
        self.closed = Some(reason.clone());
        for (_, slot) in std::mem::take(&mut self.slots) {
            let _ = slot.sender.send(Err(CallError::Closed(reason.clone())));
        }
        if self.is_established { Stage::Established } else { Stage::Handshake }
    }

    pub(super) fn closed(&self) -> Option<CloseReason> {
        self.closed.clone()
    }

    /// Stops the clock for as long as a request of the server is being answered.
    pub(super) fn begin_answer(&mut self) {
        self.answering += 1;
        self.paused_since.get_or_insert_with(Instant::now);
    }

    /// Lets the clock run on once nothing of the server is being answered.
    pub(super) fn end_answer(&mut self) {
        self.answering = self.answering.saturating_sub(1);
        if self.answering == 0
            && let Some(since) = self.paused_since.take()
        {
            self.paused += since.elapsed();
        }
    }

    fn mark(&self) -> Mark {
        let at = Instant::now();
        Mark { at, paused: self.paused + self.paused_since.map_or(Duration::ZERO, |since| at - since) }
    }

    /// Returns how much of its time a request has left; nothing where it is used up.
    pub(super) fn left(&self, id: u64, limit: Duration) -> Option<Duration> {
        let (started, now) = (self.slots.get(&id)?.clock, self.mark());
        let used = now.at.duration_since(started.at).saturating_sub(now.paused.saturating_sub(started.paused));
        limit.checked_sub(used).filter(|left| !left.is_zero())
    }
}
