//! Who subscribed to which resources of a server. The server knows the gateway only: it is told of the end of a subscription
//! when the last one goes who has it, and again of all where it is connected anew.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portcullis_gates::{Call, Context, NoApprover};
use portcullis_model::{Annotations, CallKind, object};
use rmcp::model::{ConstString as _, UnsubscribeRequestMethod};
use tokio::time::timeout;

use super::link::Caller;
use super::server::{Connected, Server};
use super::{Fleet, Link};
use crate::method::Verb;

/// The number of no call: what the gateway does by itself has no way of its own to a client.
const NO_CALL: u64 = 0;

/// A server may take so long to hear of all that changes at once; what it then does not know it tells in vain.
const LONGEST_TELLING: Duration = Duration::from_secs(30);

/// What became of a subscription that was to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    /// True where the session had it.
    pub(crate) was_there: bool,
    /// True where others have it still.
    pub(crate) others: bool,
}

/// The subscriptions to resources of one server. Each session bounds its own; sessions are bounded as well.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    /// The numbers of the sessions, by the URI.
    sessions: Mutex<HashMap<String, BTreeSet<u64>>>,
    /// Held while the server is told, so that what it hears last is what counts.
    pub(crate) telling: tokio::sync::Mutex<()>,
}

impl Subscribers {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, BTreeSet<u64>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a subscription.
    pub(crate) fn add(&self, uri: &str, session: u64) {
        self.sessions().entry(uri.to_owned()).or_default().insert(session);
    }

    /// Ends a subscription, where there is one.
    pub(crate) fn remove(&self, uri: &str, session: u64) -> Removed {
        let mut sessions = self.sessions();
        let Some(mine) = sessions.get_mut(uri) else {
            return Removed { was_there: false, others: false };
        };
        let removed = Removed { was_there: mine.remove(&session), others: !mine.is_empty() };
        if !removed.others {
            sessions.remove(uri);
        }
        removed
    }

    /// Ends all subscriptions of a session. Returns the URIs that nobody has any more.
    fn remove_all(&self, session: u64) -> Vec<String> {
        let mut last = Vec::new();
        self.sessions().retain(|uri, sessions| {
            if sessions.remove(&session) && sessions.is_empty() {
                last.push(uri.clone());
            }
            !sessions.is_empty()
        });
        last
    }

    /// Returns true where the session has a subscription.
    fn holds(&self, session: u64) -> bool {
        self.sessions().values().any(|sessions| sessions.contains(&session))
    }

    /// Returns true where the session subscribed to the resource, or to one that it is part of: servers may report changes
    /// below what was subscribed to.
    pub(crate) fn has(&self, session: u64, uri: &str) -> bool {
        let sessions = self.sessions();
        let has = |uri: &str| sessions.get(uri).is_some_and(|sessions| sessions.contains(&session));
        has(uri) || uri.match_indices('/').any(|(end, _)| uri.get(..end).is_some_and(has))
    }

    /// Returns the numbers of the sessions that subscribed to the resource.
    fn of(&self, uri: &str) -> Vec<u64> {
        self.sessions().get(uri).map(|sessions| sessions.iter().copied().collect()).unwrap_or_default()
    }

    fn uris(&self) -> Vec<String> {
        self.sessions().keys().cloned().collect()
    }
}

impl Fleet {
    /// Ends all subscriptions of a session that ends, in the background.
    pub(super) fn release_subscriptions(&self, session: u64) {
        // Without a runtime nothing is connected any more.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        for server in self.members().iter().filter(|server| server.subscribers.holds(session)) {
            let server = Arc::clone(server);
            runtime.spawn(async move {
                let _telling = server.subscribers.telling.lock().await;
                let last = server.subscribers.remove_all(session);
                if let Some(connected) = server.connected() {
                    tell(&*connected.link, UnsubscribeRequestMethod::VALUE, last).await;
                }
            });
        }
    }

    /// Ends one subscription that came to nothing.
    pub(super) async fn release_subscription(&self, server: &Server, uri: &str, session: u64) {
        let _telling = server.subscribers.telling.lock().await;
        if server.subscribers.remove(uri, session) == (Removed { was_there: true, others: false })
            && let Some(connected) = server.connected()
        {
            tell(&*connected.link, UnsubscribeRequestMethod::VALUE, vec![uri.to_owned()]).await;
        }
    }

    /// Tells a server that is connected anew what is subscribed to: the former connection took that with it. Each passes the
    /// call gate again, with the policies of today, for everyone who has it; nobody is asked about it.
    pub(super) fn subscribe_anew(self: &Arc<Self>, server: &Arc<Server>, connected: &Arc<Connected>) {
        self.listen_anew(server, connected);
        if server.subscribers.uris().is_empty() {
            return;
        }
        let (fleet, server, connected) = (Arc::clone(self), Arc::clone(server), Arc::clone(connected));
        tokio::spawn(async move {
            let _telling = server.subscribers.telling.lock().await;
            let telling = async {
                for uri in server.subscribers.uris() {
                    fleet.subscribe_again(&server, &connected, &uri).await;
                }
            };
            if timeout(LONGEST_TELLING, telling).await.is_err() {
                tracing::info!(server = %server.name(), "a server takes too long to be told of subscriptions");
            }
        });
    }

    async fn subscribe_again(&self, server: &Server, connected: &Connected, uri: &str) {
        let mut cleared = None;
        for number in server.subscribers.of(uri) {
            let Some(session) = self.session(number) else {
                continue;
            };
            let context = Context { approver: Arc::new(NoApprover), ..self.context(&session, server, None) };
            let call = Call {
                server: server.name().clone(),
                kind: CallKind::Resource,
                name: uri.to_owned(),
                utility: false,
                annotations: Annotations::default(),
                pin: self.shared.pins.state(server.name(), CallKind::Resource, uri),
                definition: self.definitions.current(server.name(), CallKind::Resource, uri),
                params: object! { "uri" => uri }.into(),
            };
            match self.gates().call(&context, call).await {
                Ok(call) => cleared = cleared.or(Some((call, session))),
                Err(refusal) => {
                    tracing::info!(
                        server = %server.name(), code = refusal.code.as_str(), detail = refusal.detail,
                        "a subscription is not made again"
                    );
                    server.subscribers.remove(uri, number);
                    session.unsubscribe(uri);
                }
            }
        }
        let Some((call, session)) = cleared else {
            return;
        };
        let capabilities = self.declared_by(&session, &server.options());
        let caller = Caller { session: session.number, call: NO_CALL, capabilities, progress: None };
        if let Err(error) = connected.link.call(&call, Verb::Subscribe, caller).await {
            tracing::debug!(%error, "a server was not told of a subscription");
        }
    }
}

async fn tell(link: &dyn Link, method: &'static str, uris: Vec<String>) {
    let telling = async {
        for uri in uris {
            if let Err(error) = link.ask(method, object! { "uri" => uri }.into()).await {
                tracing::debug!(%error, method, "a server was not told of a subscription");
            }
        }
    };
    if timeout(LONGEST_TELLING, telling).await.is_err() {
        tracing::info!(method, "a server takes too long to be told of subscriptions");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_lasts_until_the_last_one_goes_who_has_it() {
        let subscribers = Subscribers::default();
        subscribers.add("file:///a", 1);
        subscribers.add("file:///a", 1);
        subscribers.add("file:///a", 2);
        let removed = |was_there, others| Removed { was_there, others };
        assert_eq!(subscribers.remove("file:///a", 1), removed(true, true), "the other has it still");
        assert_eq!(subscribers.remove("file:///a", 1), removed(false, true), "and it ends its own only");
        assert!(subscribers.has(2, "file:///a"));
        assert_eq!(subscribers.remove("file:///a", 2), removed(true, false));
        assert_eq!(subscribers.remove("file:///a", 2), removed(false, false));
        assert!(subscribers.uris().is_empty());
    }

    #[test]
    fn a_session_that_ends_releases_what_it_has_and_nothing_else() {
        let subscribers = Subscribers::default();
        for (uri, session) in [("a", 1), ("b", 1), ("b", 2), ("c", 2)] {
            subscribers.add(uri, session);
        }
        assert!(subscribers.holds(1));
        assert_eq!(subscribers.remove_all(1), ["a"]);
        assert!(!subscribers.holds(1) && subscribers.has(2, "b") && subscribers.has(2, "c"));
    }

    #[test]
    fn a_subscription_covers_what_lies_below_it() {
        let subscribers = Subscribers::default();
        subscribers.add("file:///a", 1);
        assert!(subscribers.has(1, "file:///a") && subscribers.has(1, "file:///a/b"));
        assert!(!subscribers.has(1, "file:///ab") && !subscribers.has(2, "file:///a"));
    }
}
