//! Requests of the stateless era, each a session of its own towards servers.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use portcullis_gates::{NoApprover, Session};
use portcullis_model::Era;
use portcullis_model::json::Object;

use super::Fleet;
use super::snapshot::{provider_list, stateless_list};
use crate::downstream::{ClientSession, Entrance, LogLevel, Reply, RequestMeta, Schemas, Way};
use crate::method::Listable;

impl Fleet {
    /// Opens what one request is to servers. What the gates remember is shared by all requests of a session.
    pub(crate) fn open_exchange(
        self: &Arc<Self>,
        gates: Arc<Session>,
        entrance: Entrance,
        meta: &RequestMeta,
        way: Arc<dyn Way>,
    ) -> Arc<ClientSession> {
        let approver = self.approver(&way, &meta.client.name, &meta.capabilities);
        let fleet = Arc::clone(self);
        let session = ClientSession::new(fleet, gates, entrance, approver, way, meta.capabilities.clone());
        session.set_own_level(meta.level);
        if let Some(level) = meta.level {
            self.want_level(level);
        }
        let session = Arc::new(session);
        self.locked_exchanges().insert(session.number, Arc::clone(&session));
        session
    }

    /// Ends what one request was to servers.
    pub(crate) fn close_exchange(&self, session: &ClientSession) {
        self.locked_exchanges().remove(&session.number);
        self.note_use();
    }

    /// Opens what a request that listens is: told of what it subscribed to, and asked nothing.
    pub(crate) fn open_listener(
        self: &Arc<Self>,
        gates: Arc<Session>,
        entrance: Entrance,
        way: Arc<dyn Way>,
    ) -> Arc<ClientSession> {
        let (fleet, approver) = (Arc::clone(self), Arc::new(NoApprover));
        let mut session = ClientSession::new(fleet, gates, entrance, approver, way, Object::new().into());
        session.listens = true;
        session.set_own_level(None);
        let session = Arc::new(session);
        self.locked_sessions().push(Arc::clone(&session));
        session
    }

    /// Ends what a request was that listened.
    pub(crate) fn close_listener(&self, session: &Arc<ClientSession>) {
        self.locked_sessions().retain(|other| !Arc::ptr_eq(other, session));
        self.release_subscriptions(session.number);
        self.release_tasks(session.number);
    }

    fn locked_exchanges(&self) -> MutexGuard<'_, HashMap<u64, Arc<ClientSession>>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_exchanges(&self) -> bool {
        !self.locked_exchanges().is_empty()
    }

    /// Returns the requests that are being worked on.
    pub(crate) fn exchanges(&self) -> Vec<Arc<ClientSession>> {
        self.locked_exchanges().values().cloned().collect()
    }

    /// Returns the request of that number.
    pub(crate) fn exchange(&self, number: u64) -> Option<Arc<ClientSession>> {
        self.locked_exchanges().get(&number).cloned()
    }

    /// Has servers log from that level on, unless they log more already.
    fn want_level(self: &Arc<Self>, level: LogLevel) {
        let known = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none_or(|known| level < known) {
            self.set_level(level);
        }
    }

    /// Answers a list in the form of the stateless era.
    pub(crate) async fn list_stateless(&self, entrance: &Entrance, listable: Listable) -> Reply {
        self.wait_for_servers().await;
        let snapshot = self.snapshot();
        let is_for_provider = entrance.schemas == Schemas::Provider && listable == Listable::Tools;
        match &entrance.scope {
            Some(server) if is_for_provider => {
                Reply::Own(provider_list(stateless_list(snapshot.list_of(listable, server))))
            }
            Some(server) => Reply::Own(stateless_list(snapshot.list_of(listable, server))),
            None if is_for_provider => Reply::Shared(snapshot.tools_for_provider(Era::Stateless)),
            None => Reply::Shared(snapshot.list_stateless(listable)),
        }
    }
}
