//! One client: what becomes of each of its messages, however they come in.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_model::json::{Object, Value};
use rmcp::model::{
    ConstString as _, PromptListChangedNotificationMethod, ResourceListChangedNotificationMethod,
    ToolListChangedNotificationMethod,
};

use tokio::sync::Notify;

use super::initialize::Introduction;
use super::stateless::{self, Begun, Caller};
use super::{ClientLink, ClientSession, Entrance, InFlight, ListGroup, LogLevel, Outlet, Reply, StartError, own_code};
use crate::approver::shown;
use crate::gateway::{ClientCall, Gateway};
use crate::jsonrpc::{
    ErrorObject, Id, Incoming, Malformed, Message, Notification, Request, Response, Side, code, write_error,
    write_notification,
};
use crate::method::{ClientMethod, ClientNotification, Treatment};

/// A new policy set has every server published anew within moments; the client is told once.
pub(crate) const COALESCE: Duration = Duration::from_millis(50);

/// One client.
#[derive(Debug)]
pub(crate) struct Connection {
    gateway: Arc<Gateway>,
    entrance: Entrance,
    link: Arc<ClientLink>,
    in_flight: Arc<InFlight>,
    session: OnceLock<Arc<ClientSession>>,
    revision: OnceLock<&'static str>,
    /// Whose the requests of the stateless era are.
    caller: Caller,
    /// Told once there is a session.
    introduced: Notify,
}

impl Connection {
    /// Prepares a client. `outlet` is where goes what belongs to none of its requests.
    pub(crate) fn new(gateway: Arc<Gateway>, entrance: Entrance, outlet: Outlet) -> Self {
        let link = Arc::new(ClientLink::new(outlet));
        let (session, revision) = (OnceLock::new(), OnceLock::new());
        let caller = Caller::process(entrance.schemas);
        let introduced = Notify::new();
        Self { gateway, entrance, link, in_flight: Arc::default(), session, revision, introduced, caller }
    }

    /// Returns the revision that was agreed on, once one was.
    pub(crate) fn revision(&self) -> Option<&'static str> {
        self.revision.get().copied()
    }

    /// Returns how it came in.
    pub(crate) fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    /// Takes a message; what it is answered with goes to `outlet`. Never waits for a server: what does runs as a task of
    /// its own.
    pub(crate) async fn take(&self, incoming: Incoming, outlet: &Outlet) {
        match incoming {
            Incoming::Message(message) => self.message(message, outlet).await,
            // Revision 2025-03-26 has batches; what is in one is answered one by one.
            Incoming::Batch(elements) => {
                for element in elements {
                    if let Incoming::Message(message) = element {
                        self.message(message, outlet).await;
                    } else if let Incoming::Malformed(malformed) = element {
                        self.malformed(malformed, outlet).await;
                    }
                }
            }
            Incoming::Malformed(malformed) => self.malformed(malformed, outlet).await,
            Incoming::Unattributed(error) => {
                tracing::warn!(code = error.code(), "the client could not read something that was sent to it");
            }
            Incoming::Noise => tracing::debug!("the client sent a line that is no message"),
        }
    }

    async fn message(&self, message: Message, outlet: &Outlet) {
        match message {
            Message::Request(request) => self.request(request, outlet).await,
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(Response { id, outcome }) => {
                if !self.link.answer(&id, outcome) {
                    tracing::debug!(%id, "the client answered a request that nobody waits for");
                }
            }
        }
    }

    async fn malformed(&self, malformed: Malformed, outlet: &Outlet) {
        let text = malformed.reason.describe();
        match malformed.side {
            Side::Request => {
                let error = ErrorObject::new(code::INVALID_REQUEST, text);
                fail(outlet, malformed.id.as_ref(), error).await;
            }
            Side::Response => {
                if let Some(id) = &malformed.id {
                    self.link.answer(id, Err(ErrorObject::new(code::INTERNAL_ERROR, text)));
                }
            }
            Side::Unknown => fail(outlet, malformed.id.as_ref(), ErrorObject::new(code::PARSE_ERROR, text)).await,
        }
    }

    async fn request(&self, request: Request, outlet: &Outlet) {
        let Request { id, method, params } = request;
        // Over HTTP such a request has no session and does not come here.
        if self.entrance.is_stdio() && stateless::is_stateless(&method, params.as_ref()) {
            return self.stateless(id, method, params, outlet).await;
        }
        let treatment = ClientMethod::parse(&method).treatment();
        let Some(session) = self.session.get() else {
            let reply = match treatment {
                Treatment::Introduce => self.initialize(params.as_ref()),
                Treatment::Pong => Reply::Own(Object::new().into()),
                // A client of both eras asks this way which one is spoken, and goes on with the other.
                Treatment::Refuse => not_offered(&method),
                Treatment::SetLevel | Treatment::List(_) | Treatment::Call(..) | Treatment::Task(_) => {
                    Reply::Error(ErrorObject::new(code::INVALID_REQUEST, "initialize must come first"))
                }
            };
            return answer(outlet, &id, &reply).await;
        };
        let reply = match treatment {
            Treatment::Introduce => Reply::Error(ErrorObject::new(code::INVALID_REQUEST, "initialize was sent before")),
            Treatment::Pong => Reply::Own(Object::new().into()),
            Treatment::SetLevel => set_level(session, params.as_ref()),
            Treatment::Refuse => not_offered(&method),
            Treatment::List(listable) => {
                let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(session));
                let work = Box::pin(async move { gateway.list(&session, listable).await });
                return self.start(id, outlet, work).await;
            }
            Treatment::Task(method) => {
                let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(session));
                let (params, way) = (object_of(params), outlet.clone());
                let work = async move { gateway.task(&session, method, &params, Some(&way)).await };
                return self.start(id, outlet, work).await;
            }
            Treatment::Call(kind, verb) => {
                let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(session));
                let call = ClientCall { kind, verb, params: object_of(params), outlet: Some(outlet.clone()) };
                // Boxed: it is kilobytes, which would be copied a dozen times on the way to where it runs.
                let work = Box::pin(async move { gateway.call(session, call).await });
                return self.start(id, outlet, work).await;
            }
        };
        answer(outlet, &id, &reply).await;
    }

    /// Takes a request of the stateless era: a client may speak either one here, and both at once.
    async fn stateless(&self, id: Id, method: String, params: Option<Value>, outlet: &Outlet) {
        let way = outlet.clone();
        let tell: stateless::Tell = Arc::new(move |method, params| {
            way.offer(|buffer| write_notification(buffer, method, params));
        });
        let ask =
            stateless::Ask { caller: self.caller.clone(), id: id.clone(), method, params: object_of(params), tell };
        match stateless::begin(&self.gateway, ask) {
            Begun::Now(reply) => answer(outlet, &id, &reply).await,
            Begun::Unfit(error) => fail(outlet, Some(&id), error).await,
            Begun::Later(work) => self.start(id, outlet, work).await,
        }
    }

    /// Starts work that may wait.
    async fn start(&self, id: Id, outlet: &Outlet, work: impl Future<Output = Reply> + Send + 'static) {
        let started = self.in_flight.start(id.clone(), outlet, work);
        match started {
            Ok(()) => {}
            Err(error @ StartError::TooMany) => {
                fail(outlet, Some(&id), ErrorObject::new(own_code::TOO_MANY, error.to_string())).await;
            }
            // Not by its id: the answer of the one that is running is still to come.
            Err(error @ StartError::Duplicate) => {
                fail(outlet, None, ErrorObject::new(code::INVALID_REQUEST, error.to_string())).await;
            }
        }
    }

    fn initialize(&self, params: Option<&Value>) -> Reply {
        let introduction = Introduction::read(params);
        match self.gateway.open_session(&introduction, &self.entrance, &self.link) {
            Ok(session) => {
                let tasks = session.fleet.task_forms(&session.entrance);
                let result = introduction.result(&session.fleet.instructions(), &tasks);
                // Nobody else sets it: messages of one client are taken one after the other.
                let _ = self.session.set(session);
                let _ = self.revision.set(introduction.revision);
                self.introduced.notify_one();
                Reply::Own(result)
            }
            Err(error) => Reply::Error(ErrorObject::new(own_code::TOO_MANY, error.to_string())),
        }
    }

    fn notification(&self, notification: &Notification) {
        match ClientNotification::parse(&notification.method) {
            ClientNotification::Cancelled => {
                let id = notification.params.as_ref().and_then(|params| params.get("requestId")).cloned();
                if let Some(id) = id.and_then(Id::from_value) {
                    self.in_flight.cancel(&id);
                }
            }
            ClientNotification::RootsListChanged => {
                if let Some(session) = self.session.get() {
                    session.fleet.roots_changed();
                }
            }
            // Progress of a request of a server ends here: servers are not told how their question is doing.
            ClientNotification::Initialized | ClientNotification::Progress | ClientNotification::Unknown => {}
        }
    }

    /// Tells the client of changed lists until it is gone.
    pub(crate) async fn tell_changes(&self) {
        let session = loop {
            match self.session.get() {
                Some(session) => break session,
                None => self.introduced.notified().await,
            }
        };
        let mut versions = session.fleet.versions();
        loop {
            let now = *versions.borrow_and_update();
            for group in ListGroup::ALL {
                if session.note_changed(group, now.of(group)) && self.link.tell(changed_method(group)).await.is_err() {
                    return;
                }
            }
            if versions.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(COALESCE).await;
        }
    }

    /// Returns true where no request is running.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_idle()
    }

    /// Waits until no request is running. Those that only listen end.
    pub(crate) async fn idle(&self) {
        self.caller.listens.end();
        self.in_flight.idle().await;
    }

    /// Ends everything that belongs to the client.
    pub(crate) fn close(&self) {
        self.in_flight.cancel_all();
        self.link.close();
        if let Some(session) = self.session.get() {
            self.gateway.close_session(session);
        }
        self.caller.close(&self.gateway);
    }
}

fn set_level(session: &ClientSession, params: Option<&Value>) -> Reply {
    let level = params.and_then(|params| params.get("level")).and_then(Value::as_str).and_then(LogLevel::parse);
    match level {
        Some(level) => {
            session.set_level(level);
            session.fleet.set_level(level);
            Reply::Own(Object::new().into())
        }
        None => Reply::Error(ErrorObject::new(code::INVALID_PARAMS, "this is no log level")),
    }
}

async fn fail(outlet: &Outlet, id: Option<&Id>, error: ErrorObject) {
    // The client may be gone; then nobody waits for the error.
    let _ = outlet.reply(|buffer| write_error(buffer, id, &error)).await;
}

async fn answer(outlet: &Outlet, id: &Id, reply: &Reply) {
    let _ = outlet.reply(|buffer| reply.write(id, buffer)).await;
}

/// Returns the notification that tells of a change of such lists.
pub(crate) fn changed_method(group: ListGroup) -> &'static str {
    match group {
        ListGroup::Tools => ToolListChangedNotificationMethod::VALUE,
        ListGroup::Prompts => PromptListChangedNotificationMethod::VALUE,
        ListGroup::Resources => ResourceListChangedNotificationMethod::VALUE,
    }
}

fn not_offered(method: &str) -> Reply {
    tracing::debug!(method = %shown(method, 64), "the client used a method that is not offered");
    Reply::Error(ErrorObject::new(code::METHOD_NOT_FOUND, "this method is not offered"))
}

fn object_of(params: Option<Value>) -> Object {
    // By position is no form that MCP has: it reads as no parameters, and what is required is then missing.
    if let Some(Value::Object(object)) = params { object } else { Object::new() }
}
