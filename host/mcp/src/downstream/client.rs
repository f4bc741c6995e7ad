//! The client as somebody who can be asked.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::object;
use rmcp::model::{CancelledNotificationMethod, ConstString as _};
use tokio::sync::oneshot;

use super::Outlet;
use crate::gateway::Boxed;
use crate::jsonrpc::{ErrorObject, Id, Rewrite, write_notification, write_request};

/// So many requests wait for one client at once: a person answers few, a sampling server asks a few at a time.
const MOST_WAITING: usize = 64;

/// Why a client gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// It answered with an error.
    #[error("the client answered with an error")]
    Refused(ErrorObject),
    /// It did not answer in time.
    #[error("the client did not answer in time")]
    TimedOut,
    /// It is gone.
    #[error("the client is gone")]
    Gone,
    /// Too many requests wait for it.
    #[error("too many requests wait for the client")]
    Busy,
}

type Answer = Result<Value, ErrorObject>;

/// What a client is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) method: &'a str,
    /// What the server calls it, where it gave it a name, which a client of the stateless era sees.
    pub(crate) key: Option<&'a str>,
    pub(crate) params: &'a Value,
    /// So long the answer is awaited.
    pub(crate) limit: Duration,
}

/// A way to a client: by it the client is asked and told.
pub(crate) trait Way: Debug + Send + Sync {
    /// Asks the client and waits for its answer. `outlet` is that of the client's own request which it is about, if any.
    /// Dropping the future withdraws the question.
    fn request<'a>(&'a self, outlet: Option<&'a Outlet>, question: Question<'a>) -> Boxed<'a, Result<Value, AskError>>;

    /// Tells the client, or drops it where the client does not read. `outlet` is as in [`Way::request`].
    fn notify(&self, outlet: Option<&Outlet>, method: &str, params: Option<&Value>);

    /// Notes that a server wanted to ask for what the client did not declare.
    fn note_undeclared(&self, _capability: &str) {}
}

impl Way for ClientLink {
    fn request<'a>(&'a self, outlet: Option<&'a Outlet>, question: Question<'a>) -> Boxed<'a, Result<Value, AskError>> {
        Box::pin(self.request(outlet, question))
    }

    fn notify(&self, outlet: Option<&Outlet>, method: &str, params: Option<&Value>) {
        self.notify(outlet, method, params);
    }
}

/// Sends requests to a client and finds the answer to each.
#[derive(Debug)]
pub(crate) struct ClientLink {
    /// Where goes what belongs to no request of the client.
    outlet: Outlet,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl ClientLink {
    pub(crate) fn new(outlet: Outlet) -> Self {
        Self { outlet, next: AtomicU64::new(1), waiting: Mutex::default() }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for its answer. `outlet` is that of the client's own request which it is about, if any.
    /// Dropping the future tells the client that the request is withdrawn.
    pub(crate) async fn request(
        &self,
        outlet: Option<&Outlet>,
        Question { method, key: _, params, limit }: Question<'_>,
    ) -> Result<Value, AskError> {
        let (sender, receiver) = oneshot::channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut waiting = self.waiting();
            if waiting.len() >= MOST_WAITING {
                return Err(AskError::Busy);
            }
            waiting.insert(number, sender);
        }
        let guard = Withdraw { link: self, outlet, number };
        let id = Id::from(number);
        let write = |buffer: &mut Vec<u8>| write_request(buffer, &id, method, Some(params), Rewrite::default());
        // The request that it is about may have been answered meanwhile.
        let sent = match outlet {
            Some(outlet) if outlet.send(write).await.is_ok() => Ok(()),
            Some(_) | None => self.outlet.send(write).await,
        };
        sent.map_err(|_| AskError::Gone)?;
        let answer = tokio::time::timeout(limit, receiver).await;
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => return Err(AskError::Gone),
            Err(_) => return Err(AskError::TimedOut),
        };
        drop(guard);
        answer.map_err(AskError::Refused)
    }

    /// Hands an answer to whoever waits for it. Returns false where nobody does.
    pub(crate) fn answer(&self, id: &Id, answer: Answer) -> bool {
        let sender = id.as_counter().and_then(|number| self.waiting().remove(&number));
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Fails everything that waits: the client is gone.
    pub(crate) fn close(&self) {
        self.waiting().clear();
        self.outlet.close();
    }

    /// Sends a notification, or drops it where the client does not read. `outlet` is as in [`ClientLink::request`].
    pub(crate) fn notify(&self, outlet: Option<&Outlet>, method: &str, params: Option<&Value>) {
        let write = |buffer: &mut Vec<u8>| write_notification(buffer, method, params);
        if !outlet.is_some_and(|outlet| outlet.offer(write)) {
            self.outlet.offer(write);
        }
    }

    /// Sends a notification that must not be lost, and waits while the client does not read.
    pub(crate) async fn tell(&self, method: &str) -> Result<(), AskError> {
        self.outlet.send(|buffer| write_notification(buffer, method, None)).await.map_err(|_| AskError::Gone)
    }
}

/// Tells the client that a request is withdrawn, unless it was answered.
struct Withdraw<'a> {
    link: &'a ClientLink,
    outlet: Option<&'a Outlet>,
    number: u64,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if self.link.waiting().remove(&self.number).is_some() {
            let params = object! { "requestId" => self.number, "reason" => "no longer needed" };
            self.link.notify(self.outlet, CancelledNotificationMethod::VALUE, Some(&params.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::downstream::Outbox;

    fn link() -> (Arc<ClientLink>, Arc<Outbox>) {
        let outbox = Arc::new(Outbox::default());
        (Arc::new(ClientLink::new(Outlet::Pipe(Arc::clone(&outbox)))), outbox)
    }

    fn question<'a>(method: &'a str, params: &'a Value, milliseconds: u64) -> Question<'a> {
        Question { method, key: None, params, limit: Duration::from_millis(milliseconds) }
    }

    #[tokio::test]
    async fn each_answer_finds_its_request() {
        let (link, _outbox) = link();
        let ask = |name: &'static str| {
            let link = Arc::clone(&link);
            tokio::spawn(async move { link.request(None, question(name, &object! {}.into(), 5_000)).await })
        };
        let first = ask("roots/list");
        tokio::task::yield_now().await;
        let second = ask("roots/list");
        tokio::task::yield_now().await;
        assert!(link.answer(&Id::from(2), Ok(Value::from("second"))));
        assert!(link.answer(&Id::from(1), Ok(Value::from("first"))));
        assert!(!link.answer(&Id::from(1), Ok(Value::from("again"))), "nobody waits for it any more");
        assert_eq!(first.await.unwrap().unwrap(), Value::from("first"));
        assert_eq!(second.await.unwrap().unwrap(), Value::from("second"));
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_is_withdrawn_at_the_client() {
        let (link, outbox) = link();
        let outcome = link.request(None, question("roots/list", &object! {}.into(), 1)).await;
        assert!(matches!(outcome, Err(AskError::TimedOut)));
        let mut written = Vec::new();
        outbox.close();
        outbox.drain(&mut written).await.unwrap();
        let text = String::from_utf8(written).unwrap();
        let last = text.lines().last().unwrap();
        assert!(last.contains("notifications/cancelled") && last.contains(r#""requestId":1"#), "{text}");
    }

    #[tokio::test]
    async fn whoever_waits_is_told_that_the_client_is_gone() {
        let (link, _outbox) = link();
        let waiting = tokio::spawn({
            let link = Arc::clone(&link);
            async move { link.request(None, question("roots/list", &object! {}.into(), 60_000)).await }
        });
        tokio::task::yield_now().await;
        link.close();
        assert!(matches!(waiting.await.unwrap(), Err(AskError::Gone)));
    }
}
