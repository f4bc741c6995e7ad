//! The requests of a client that are being worked on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Outlet, Reply};
use crate::jsonrpc::{ErrorObject, Id, code};

/// So many requests of one client run at once. Agents keep a few dozen in flight; each may hold a large message.
pub(crate) const MOST_IN_FLIGHT: usize = 512;

/// The requests of a client that are being worked on, each by a task of its own.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    tasks: Mutex<HashMap<Id, AbortHandle>>,
    empty: Notify,
}

/// Why a request was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StartError {
    /// A request with this id is running.
    #[error("a request with this id is running")]
    Duplicate,
    /// Too many requests are running.
    #[error("too many requests are running")]
    TooMany,
}

impl InFlight {
    fn tasks(&self) -> std::sync::MutexGuard<'_, HashMap<Id, AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a request. Its reply is written unless the request is cancelled first.
    pub(crate) fn start(
        self: &Arc<Self>,
        id: Id,
        outlet: &Outlet,
        work: impl Future<Output = Reply> + Send + 'static,
    ) -> Result<(), StartError> {
        // The lock is held over the spawn: the task cannot finish before it is in the map.
        let mut tasks = self.tasks();
        if tasks.len() >= MOST_IN_FLIGHT {
            return Err(StartError::TooMany);
        }
        let Entry::Vacant(place) = tasks.entry(id.clone()) else {
            return Err(StartError::Duplicate);
        };
        // Made here, so that it is dropped with a task that was never polled.
        let mut running = Running { in_flight: Arc::clone(self), outlet: outlet.clone(), id, finished: false };
        let task = tokio::spawn(async move {
            let reply = work.await;
            if running.finish() {
                // The client may be gone; then nobody waits for the reply.
                let _ = running.outlet.reply(|buffer| reply.write(&running.id, buffer)).await;
            } else {
                running.outlet.withdraw();
            }
        });
        place.insert(task.abort_handle());
        Ok(())
    }

    /// Cancels a request. Nothing is written for it any more. An id that is not running is ignored, as it may have
    /// been answered a moment ago.
    pub(crate) fn cancel(&self, id: &Id) {
        let task = {
            let mut tasks = self.tasks();
            let task = tasks.remove(id);
            if tasks.is_empty() {
                self.empty.notify_waiters();
            }
            task
        };
        if let Some(task) = task {
            task.abort();
        }
    }

    /// Cancels every request.
    pub(crate) fn cancel_all(&self) {
        let tasks: Vec<AbortHandle> = self.tasks().drain().map(|(_, task)| task).collect();
        tasks.iter().for_each(AbortHandle::abort);
        self.empty.notify_waiters();
    }

    /// Returns true where no request is running.
    pub(crate) fn is_idle(&self) -> bool {
        self.tasks().is_empty()
    }

    /// Waits until no request is running.
    pub(crate) async fn idle(&self) {
        loop {
            let empty = self.empty.notified();
            if self.tasks().is_empty() {
                return;
            }
            empty.await;
        }
    }

    fn remove(&self, id: &Id) -> bool {
        let mut tasks = self.tasks();
        let present = tasks.remove(id).is_some();
        if tasks.is_empty() {
            self.empty.notify_waiters();
        }
        present
    }
}

struct Running {
    in_flight: Arc<InFlight>,
    outlet: Outlet,
    id: Id,
    finished: bool,
}

impl Running {
    /// Returns true where the reply is still wanted. From here on the request can't be cancelled.
    fn finish(&mut self) -> bool {
        self.finished = true;
        self.in_flight.remove(&self.id)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Reached only when the task was aborted, which removed it, or panicked: then nobody else answers.
        if self.in_flight.remove(&self.id) {
            let error = ErrorObject::new(code::INTERNAL_ERROR, "the gateway failed on this request");
            self.outlet.reply_at_once(|buffer| crate::jsonrpc::write_error(buffer, Some(&self.id), &error));
        } else {
            self.outlet.withdraw();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use portcullis_model::object;

    use super::*;
    use crate::downstream::Outbox;

    fn fixture() -> (Arc<InFlight>, Arc<Outbox>, Outlet) {
        let outbox = Arc::new(Outbox::default());
        (Arc::default(), Arc::clone(&outbox), Outlet::Pipe(outbox))
    }

    async fn written(outbox: &Outbox) -> String {
        let mut bytes = Vec::new();
        outbox.close();
        outbox.drain(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn a_reply_is_written_under_the_id_of_its_request() {
        let (in_flight, outbox, outlet) = fixture();
        in_flight.start(Id::from(7), &outlet, ready(Reply::Own(object! {}.into()))).unwrap();
        in_flight.idle().await;
        tokio::task::yield_now().await;
        assert_eq!(written(&outbox).await, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    }

    #[tokio::test]
    async fn nothing_is_written_for_a_cancelled_request() {
        let (in_flight, outbox, outlet) = fixture();
        in_flight.start(Id::from(7), &outlet, pending()).unwrap();
        tokio::task::yield_now().await;
        in_flight.cancel(&Id::from(7));
        in_flight.idle().await;
        tokio::task::yield_now().await;
        assert_eq!(written(&outbox).await, "");
    }

    #[tokio::test]
    async fn an_id_that_is_running_is_not_started_again() {
        let (in_flight, _outbox, outlet) = fixture();
        in_flight.start(Id::from(7), &outlet, pending()).unwrap();
        assert_eq!(in_flight.start(Id::from(7), &outlet, pending()), Err(StartError::Duplicate));
        for number in 8..(8 + MOST_IN_FLIGHT as u64 - 1) {
            in_flight.start(Id::from(number), &outlet, pending()).unwrap();
        }
        assert_eq!(in_flight.start(Id::from(5_000), &outlet, pending()), Err(StartError::TooMany));
        in_flight.cancel_all();
        in_flight.idle().await;
    }

    #[tokio::test]
    async fn a_request_whose_work_panics_is_answered_with_an_error() {
        let (in_flight, outbox, outlet) = fixture();
        in_flight.start(Id::from(7), &outlet, async { panic!("broken on purpose") }).unwrap();
        in_flight.idle().await;
        tokio::task::yield_now().await;
        assert!(written(&outbox).await.contains("-32603"));
    }
}
