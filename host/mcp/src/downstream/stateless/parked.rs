//! Calls that wait for their client's next round.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::{Digest, Principal, object};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::exchange::{Carrier, Exchange, Present};
use super::seal::{Foreign, Handle, Seal};
use crate::downstream::{Reply, own_code};
use crate::gateway::Boxed;
use crate::jsonrpc::{ErrorObject, code};

/// A call whose client does not come back within this time is dropped, which cancels it. A minute longer than a person is
/// given to answer, so that the outcome of a question that ran out can still be fetched.
const LONGEST_PARKED: Duration = Duration::from_mins(6);
/// So many calls of one principal wait at once; as many as approvals may (design §5).
const MOST_OF_ONE: usize = 32;
/// So many calls wait in all. Each may hold a result of the largest size once it is done, so this is what bounds the
/// memory that clients can bind by not coming back; in practice they hold a question of a few hundred bytes.
const MOST_PARKED: usize = 256;

/// Calls that wait for their client's next round, and the key that their states are sealed with.
pub(crate) struct Parked {
    seal: Seal,
    next: AtomicU64,
    calls: Mutex<HashMap<u64, Call>>,
}

struct Call {
    carrier: Carrier,
    owner: Principal,
    /// What came of it, once something did. Taken by the client's round.
    outcome: Arc<Outcome>,
    task: JoinHandle<()>,
    /// When it ends unless the client comes back; nothing while the client is here.
    ends: watch::Sender<Option<Instant>>,
}

#[derive(Default)]
struct Outcome {
    reply: Mutex<Option<Reply>>,
    done: tokio::sync::Notify,
}

impl Outcome {
    fn reply(&self) -> MutexGuard<'_, Option<Reply>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait(&self) -> Reply {
        loop {
            let done = self.done.notified();
            if let Some(reply) = self.reply().take() {
                return reply;
            }
            done.await;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Default for Parked {
    fn default() -> Self {
        Self { seal: Seal::new(), next: AtomicU64::new(1), calls: Mutex::default() }
    }
}

impl fmt::Debug for Parked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Parked").field("calls", &self.calls().len()).finish_non_exhaustive()
    }
}

/// Cancels a call unless its round ended as it should: the client gave the request up.
struct Round {
    parked: Arc<Parked>,
    number: u64,
    ended: bool,
}

impl Drop for Round {
    fn drop(&mut self) {
        if !self.ended {
            self.parked.calls().remove(&self.number);
        }
    }
}

impl Parked {
    fn calls(&self) -> MutexGuard<'_, HashMap<u64, Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the first round of a call. Where the client must be asked, the call goes on by itself and waits for the next.
    pub(super) async fn first(
        self: &Arc<Self>,
        carrier: Carrier,
        owner: Principal,
        binding: impl FnOnce() -> Digest,
        mut work: Boxed<'static, Reply>,
    ) -> Reply {
        tokio::select! {
            biased;
            reply = &mut work => reply,
            () = carrier.0.must_ask() => self.park(carrier, owner, &binding(), work),
        }
    }

    fn park(
        self: &Arc<Self>,
        carrier: Carrier,
        owner: Principal,
        binding: &Digest,
        work: Boxed<'static, Reply>,
    ) -> Reply {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut calls = self.calls();
        if calls.len() >= MOST_PARKED || calls.values().filter(|call| call.owner == owner).count() >= MOST_OF_ONE {
            // The work is dropped here, which cancels it.
            return Reply::Error(ErrorObject::new(own_code::TOO_MANY, "too many calls wait for an answer"));
        }
        let outcome = Arc::new(Outcome::default());
        let (ends, ending) = watch::channel(None);
        let (parked, kept) = (Arc::downgrade(self), Arc::clone(&outcome));
        // The lock is held over the spawn: the task finds its call in the map.
        let task = tokio::spawn(async move {
            keep(work, &kept, ending).await;
            if let Some(parked) = parked.upgrade() {
                parked.calls().remove(&number);
            }
        });
        let exchange = Arc::clone(&carrier.0);
        calls.insert(number, Call { carrier, owner, outcome, task, ends });
        drop(calls);
        self.ask(number, &exchange, binding)
    }

    /// Ends a round with what the client is asked.
    fn ask(&self, number: u64, exchange: &Exchange, binding: &Digest) -> Reply {
        let Some((round, requests)) = exchange.pause() else {
            self.calls().remove(&number);
            return Reply::Error(ErrorObject::new(own_code::TOO_MANY, "the call asked for too many rounds"));
        };
        match self.seal.seal(Handle { exchange: number, round }, binding, LONGEST_PARKED) {
            Ok(state) => {
                if let Some(call) = self.calls().get(&number) {
                    call.ends.send_replace(Some(Instant::now() + LONGEST_PARKED));
                }
                let result = object! {
                    "resultType" => "input_required",
                    "inputRequests" => requests,
                    "requestState" => state,
                };
                Reply::Own(result.into())
            }
            Err(error) => {
                self.calls().remove(&number);
                Reply::Error(ErrorObject::new(code::INTERNAL_ERROR, error.to_string()))
            }
        }
    }

    /// Begins a further round of a call, and returns what waits for its end. Dropping that cancels the call.
    pub(super) fn resume(
        self: &Arc<Self>,
        state: &str,
        binding: Digest,
        responses: &Value,
        present: Present,
    ) -> Result<Boxed<'static, Reply>, ErrorObject> {
        let foreign = |error: Foreign| ErrorObject::new(code::INVALID_PARAMS, error.to_string());
        let handle = self.seal.open(state, &binding).map_err(foreign)?;
        let number = handle.exchange;
        let (exchange, outcome) = {
            let calls = self.calls();
            let call = calls.get(&number).ok_or_else(|| foreign(Foreign))?;
            call.carrier.0.resume(handle.round, responses, present)?;
            call.ends.send_replace(None);
            (Arc::clone(&call.carrier.0), Arc::clone(&call.outcome))
        };
        let mut round = Round { parked: Arc::clone(self), number, ended: false };
        Ok(Box::pin(async move {
            tokio::select! {
                biased;
                // The call ends with its round.
                reply = outcome.wait() => reply,
                () = exchange.must_ask() => {
                    round.ended = true;
                    round.parked.ask(number, &exchange, &binding)
                }
            }
        }))
    }
}

/// Goes on with a call until its outcome was fetched or its client stayed away for too long.
async fn keep(work: Boxed<'static, Reply>, outcome: &Outcome, mut ending: watch::Receiver<Option<Instant>>) {
    let working = async {
        let reply = work.await;
        *outcome.reply() = Some(reply);
        outcome.done.notify_waiters();
        // The round that fetches it removes the call, and ends this task with it.
        std::future::pending::<()>().await;
    };
    let abandoned = async {
        loop {
            let ends = *ending.borrow_and_update();
            match ends {
                Some(ends) => tokio::select! {
                    () = sleep_until(ends) => return,
                    changed = ending.changed() => if changed.is_err() { return },
                },
                None => {
                    if ending.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    };
    tokio::select! {
        () = working => {}
        () = abandoned => tracing::info!("a call was dropped: its client did not come back with answers"),
    }
}
