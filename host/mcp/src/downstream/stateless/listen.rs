//! `subscriptions/listen`: the one request that stays open, to be told of changes.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, Principal, ResultKind, object};
use rmcp::model::{ConstString as _, ResourceUpdatedNotificationMethod, SubscriptionsAcknowledgedNotificationMethod};
use tokio::sync::watch;

use super::{Ask, Begun, RequestMeta, Tell, invalid};
use crate::downstream::{
    AskError, COALESCE, ClientSession, ListGroup, Outlet, Question, Reply, Way, changed_method, own_code,
};
use crate::gateway::{Boxed, ClientCall, Fleet, Gateway, declares_tasks};
use crate::jsonrpc::{ErrorObject, Id};
use crate::method::{TASK_TOLD, Verb};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// So many listen at once for one caller: a client needs one.
const MOST_LISTENING: usize = 16;
/// So many resources one request is told of; of further ones it is not, and is told so.
const MOST_RESOURCES: usize = 256;
/// So many tasks one request is told of, as many as one principal can have; of further ones it is not, and is told so.
const MOST_TASKS: usize = 128;
/// So many updates are kept while a request is not acknowledged yet, which comes first; further ones are dropped.
const MOST_EARLY: usize = 64;

/// The open `subscriptions/listen` requests of one caller.
#[derive(Debug)]
pub(crate) struct Listens {
    open: AtomicUsize,
    most: usize,
    ended: watch::Sender<bool>,
    /// Who may still listen; nothing where nobody says.
    welcome: watch::Sender<Option<HashSet<Principal>>>,
}

impl Default for Listens {
    fn default() -> Self {
        Self::new(MOST_LISTENING)
    }
}

impl Listens {
    /// Prepares for so many at once.
    pub(crate) fn new(most: usize) -> Self {
        Self { open: AtomicUsize::new(0), most, ended: watch::Sender::new(false), welcome: watch::Sender::new(None) }
    }

    /// Ends all of them, each with its result: the caller sends no more.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Ends those of everybody who is not named: whoever has no token any more is told nothing any more.
    pub(crate) fn keep(&self, welcome: &HashSet<Principal>) {
        self.welcome.send_if_modified(|known| {
            let differs = known.as_ref() != Some(welcome);
            if differs {
                *known = Some(welcome.clone());
            }
            differs
        });
    }

    fn enter(self: &Arc<Self>) -> Option<Entered> {
        let entered = Entered(Arc::clone(self));
        (self.open.fetch_add(1, Ordering::Relaxed) < self.most).then_some(entered)
    }
}

struct Entered(Arc<Listens>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The key under which each group of lists is asked for.
fn key_of(group: ListGroup) -> &'static str {
    match group {
        ListGroup::Tools => "toolsListChanged",
        ListGroup::Prompts => "promptsListChanged",
        ListGroup::Resources => "resourcesListChanged",
    }
}

/// Begins to listen.
pub(super) fn listen(gateway: &Gateway, fleet: &Arc<Fleet>, ask: &Ask, meta: &RequestMeta) -> Begun {
    let Some(wanted) = ask.params.get("notifications").and_then(Value::as_object) else {
        return Begun::Now(invalid("`notifications` is missing: it says what to listen for"));
    };
    let is_wanted = |group: &ListGroup| wanted.get(key_of(*group)).and_then(Value::as_bool) == Some(true);
    let groups: Vec<ListGroup> = ListGroup::ALL.into_iter().filter(is_wanted).collect();
    let names = |key: &str, most: usize| -> Option<Vec<String>> {
        let names = wanted.get(key)?.as_array()?;
        Some(names.iter().filter_map(Value::as_str).take(most).map(str::to_owned).collect())
    };
    let resources = names("resourceSubscriptions", MOST_RESOURCES);
    let tasks = names("taskIds", MOST_TASKS).filter(|_| declares_tasks(&meta.capabilities));
    let too_many = |text: &str| Begun::Now(Reply::Error(ErrorObject::new(own_code::TOO_MANY, text)));
    let Some(entered) = ask.caller.listens.enter() else {
        return too_many("too many requests listen");
    };
    let gates = match ask.caller.session(gateway, &meta.client) {
        Ok(gates) => gates,
        Err(error) => return too_many(&error.to_string()),
    };
    let listener =
        Arc::new(Listener { id: ask.id.clone(), tell: Arc::clone(&ask.tell), early: Mutex::new(Some(Vec::new())) });
    let session = fleet.open_listener(gates, ask.caller.entrance.clone(), Arc::<Listener>::clone(&listener));
    let open = Listening { session, fleet: Arc::clone(fleet), _entered: entered };
    let end = End {
        all: ask.caller.listens.ended.subscribe(),
        welcome: ask.caller.listens.welcome.subscribe(),
        principal: ask.caller.entrance.principal.clone(),
    };
    Begun::Later(Box::pin(run(open, listener, Wanted { groups, resources, tasks }, end)))
}

/// What ends a request that listens.
struct End {
    all: watch::Receiver<bool>,
    welcome: watch::Receiver<Option<HashSet<Principal>>>,
    principal: Principal,
}

impl End {
    async fn reached(&mut self) {
        let principal = &self.principal;
        let is_gone =
            |welcome: &Option<HashSet<Principal>>| welcome.as_ref().is_some_and(|known| !known.contains(principal));
        // Both fail only where whoever would end it is gone.
        tokio::select! {
            _ = self.all.wait_for(|ended| *ended) => {}
            _ = self.welcome.wait_for(is_gone) => {}
        }
    }
}

/// What a request listens for.
struct Wanted {
    groups: Vec<ListGroup>,
    resources: Option<Vec<String>>,
    tasks: Option<Vec<String>>,
}

async fn run(open: Listening, listener: Arc<Listener>, wanted: Wanted, mut end: End) -> Reply {
    let Wanted { groups, resources, tasks } = wanted;
    let mut versions = open.fleet.versions();
    let now = *versions.borrow_and_update();
    let mut honoured = Object::new();
    for group in &groups {
        open.session.note_listed(*group, now.of(*group));
        honoured.insert(key_of(*group), true);
    }
    if let Some(resources) = resources {
        let mut subscribed: Vec<Value> = Vec::new();
        for uri in resources {
            if open.subscribe(&uri).await {
                subscribed.push(uri.into());
            }
        }
        honoured.insert("resourceSubscriptions", subscribed);
    }
    if let Some(tasks) = tasks {
        let told = tasks.into_iter().filter(|id| open.fleet.listen_for_task(&open.session, id));
        honoured.insert("taskIds", told.map(Value::from).collect::<Vec<_>>());
    }
    listener.acknowledge(honoured);
    let telling = async {
        loop {
            let now = *versions.borrow_and_update();
            for group in &groups {
                if open.session.note_changed(*group, now.of(*group)) {
                    listener.send(changed_method(*group), Object::new());
                }
            }
            if versions.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(COALESCE).await;
        }
    };
    tokio::select! {
        () = telling => {}
        () = end.reached() => {}
    }
    let result = object! { "resultType" => "complete", "_meta" => listener.meta() };
    Reply::Own(result.into())
}

/// An open request; what it subscribed to ends with it.
struct Listening {
    session: Arc<ClientSession>,
    fleet: Arc<Fleet>,
    _entered: Entered,
}

impl Listening {
    /// Subscribes to a resource: the call gate decides as if it were read. Returns true where that was done.
    async fn subscribe(&self, uri: &str) -> bool {
        let params = object! { "uri" => uri };
        let call = ClientCall { kind: CallKind::Resource, verb: Verb::Subscribe, params, outlet: None };
        let reply = self.fleet.call(Arc::clone(&self.session), call).await;
        matches!(reply, Reply::Cleared(message) if message.get().kind == ResultKind::Result)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.fleet.close_listener(&self.session);
    }
}

/// The way to a request that listens.
struct Listener {
    id: Id,
    tell: Tell,
    /// Updates that came before the acknowledgement; nothing once it was sent.
    early: Mutex<Option<Vec<(&'static str, Object)>>>,
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Listener {
    fn meta(&self) -> Object {
        object! { SUBSCRIPTION_ID => self.id.to_value() }
    }

    /// Sends a notification under the id of the request.
    fn send(&self, method: &str, mut params: Object) {
        match params.get_mut("_meta").and_then(Value::as_object_mut) {
            Some(meta) => {
                meta.insert(SUBSCRIPTION_ID, self.id.to_value());
            }
            None => {
                params.insert("_meta", self.meta());
            }
        }
        (self.tell)(method, Some(&params.into()));
    }

    /// Says what is listened for, before anything else.
    fn acknowledge(&self, honoured: Object) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        self.send(SubscriptionsAcknowledgedNotificationMethod::VALUE, object! { "notifications" => honoured });
        for (method, params) in early.take().unwrap_or_default() {
            self.send(method, params);
        }
    }
}

impl Way for Listener {
    fn request<'a>(
        &'a self,
        _outlet: Option<&'a Outlet>,
        _question: Question<'a>,
    ) -> Boxed<'a, Result<Value, AskError>> {
        // Nothing is asked of somebody who listens.
        Box::pin(async { Err(AskError::Gone) })
    }

    fn notify(&self, _outlet: Option<&Outlet>, method: &str, params: Option<&Value>) {
        let heard = [ResourceUpdatedNotificationMethod::VALUE, TASK_TOLD].into_iter().find(|heard| *heard == method);
        let (Some(method), Some(Value::Object(params))) = (heard, params) else {
            return;
        };
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        match early.as_mut() {
            Some(early) if early.len() < MOST_EARLY => early.push((method, params.clone())),
            Some(_) => {}
            None => self.send(method, params.clone()),
        }
    }
}
