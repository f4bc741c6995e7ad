//! One client on one pair of pipes: what becomes of each of its messages.

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
use super::{ClientLink, ClientSession, InFlight, ListGroup, LogLevel, Outbox, Reply, StartError, own_code};
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
    outbox: Arc<Outbox>,
    link: Arc<ClientLink>,
    in_flight: Arc<InFlight>,
    session: OnceLock<Arc<ClientSession>>,
    /// Whose the requests of the stateless era are.
    caller: Caller,
    /// Told once there is a session.
    introduced: Notify,
}

impl Connection {
    pub(crate) fn new(gateway: Arc<Gateway>, outbox: Arc<Outbox>) -> Self {
        let link = Arc::new(ClientLink::new(Arc::clone(&outbox)));
        let caller = Caller::process();
        let (session, introduced) = (OnceLock::new(), Notify::new());
        Self { gateway, outbox, link, in_flight: Arc::default(), session, introduced, caller }
    }

    /// Takes a message. Never waits for a server: what does runs as a task of its own.
    pub(crate) async fn take(&self, incoming: Incoming) {
        match incoming {
            Incoming::Message(message) => self.message(message).await,
            // Revision 2025-03-26 has batches; what is in one is answered one by one.
            Incoming::Batch(elements) => {
                for element in elements {
                    if let Incoming::Message(message) = element {
                        self.message(message).await;
                    } else if let Incoming::Malformed(malformed) = element {
                        self.malformed(malformed).await;
                    }
                }
            }
            Incoming::Malformed(malformed) => self.malformed(malformed).await,
            Incoming::Unattributed(error) => {
                tracing::warn!(code = error.code(), "the client could not read something that was sent to it");
            }
            Incoming::Noise => tracing::debug!("the client sent a line that is no message"),
        }
    }

    async fn message(&self, message: Message) {
        match message {
            Message::Request(request) => self.request(request).await,
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(Response { id, outcome }) => {
                if !self.link.answer(&id, outcome) {
                    tracing::debug!(%id, "the client answered a request that nobody waits for");
                }
            }
        }
    }

    async fn malformed(&self, malformed: Malformed) {
        let text = malformed.reason.describe();
        match malformed.side {
            Side::Request => {
                let error = ErrorObject::new(code::INVALID_REQUEST, text);
                self.fail(malformed.id.as_ref(), error).await;
            }
            Side::Response => {
                if let Some(id) = &malformed.id {
                    self.link.answer(id, Err(ErrorObject::new(code::INTERNAL_ERROR, text)));
                }
            }
            Side::Unknown => self.fail(malformed.id.as_ref(), ErrorObject::new(code::PARSE_ERROR, text)).await,
        }
    }

    async fn fail(&self, id: Option<&Id>, error: ErrorObject) {
        // The client may be gone; then nobody waits for the error.
        let _ = self.outbox.send(|buffer| write_error(buffer, id, &error)).await;
    }

    async fn reply(&self, id: &Id, reply: Reply) {
        let _ = self.outbox.send(|buffer| reply.write(id, buffer)).await;
    }

    async fn request(&self, request: Request) {
        let Request { id, method, params } = request;
        if stateless::is_stateless(&method, params.as_ref()) {
            return self.stateless(id, method, params).await;
        }
        let treatment = ClientMethod::parse(&method).treatment();
        let Some(session) = self.session.get() else {
            let reply = match treatment {
                Treatment::Introduce => self.initialize(params.as_ref()),
                Treatment::Pong => Reply::Own(Object::new().into()),
                // A client of both eras asks this way which one is spoken, and goes on with the other.
                Treatment::Refuse => not_offered(&method),
                Treatment::SetLevel | Treatment::List(_) | Treatment::Call(..) => {
                    Reply::Error(ErrorObject::new(code::INVALID_REQUEST, "initialize must come first"))
                }
            };
            return self.reply(&id, reply).await;
        };
        let reply = match treatment {
            Treatment::Introduce => Reply::Error(ErrorObject::new(code::INVALID_REQUEST, "initialize was sent before")),
            Treatment::Pong => Reply::Own(Object::new().into()),
            Treatment::SetLevel => set_level(session, params.as_ref()),
            Treatment::Refuse => not_offered(&method),
            Treatment::List(listable) => {
                let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(session));
                return self.start(id, async move { gateway.list(&session, listable).await }).await;
            }
            Treatment::Call(kind, verb) => {
                let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(session));
                let call = ClientCall { kind, verb, params: object_of(params) };
                return self.start(id, async move { gateway.call(session, call).await }).await;
            }
        };
        self.reply(&id, reply).await;
    }

    /// Takes a request of the stateless era: a client may speak either one here, and both at once.
    async fn stateless(&self, id: Id, method: String, params: Option<Value>) {
        let outbox = Arc::clone(&self.outbox);
        let tell: stateless::Tell =
            Arc::new(move |method, params| outbox.offer(|buffer| write_notification(buffer, method, params)));
        let ask =
            stateless::Ask { caller: self.caller.clone(), id: id.clone(), method, params: object_of(params), tell };
        match stateless::begin(&self.gateway, ask) {
            Begun::Now(reply) => self.reply(&id, reply).await,
            Begun::Later(work) => self.start(id, work).await,
        }
    }

    /// Starts work that may wait.
    async fn start(&self, id: Id, work: impl Future<Output = Reply> + Send + 'static) {
        let started = self.in_flight.start(id.clone(), &self.outbox, work);
        match started {
            Ok(()) => {}
            Err(error @ StartError::TooMany) => {
                self.fail(Some(&id), ErrorObject::new(own_code::TOO_MANY, error.to_string())).await;
            }
            // Not by its id: the answer of the one that is running is still to come.
            Err(error @ StartError::Duplicate) => {
                self.fail(None, ErrorObject::new(code::INVALID_REQUEST, error.to_string())).await;
            }
        }
    }

    fn initialize(&self, params: Option<&Value>) -> Reply {
        let introduction = Introduction::read(params);
        match self.gateway.open_session(&introduction, &self.link) {
            Ok(session) => {
                let result = introduction.result(&session.fleet.instructions());
                // Nobody else sets it: messages of one client are taken one after the other.
                let _ = self.session.set(session);
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
                if session.note_changed(group, now.of(group)) {
                    let written = self.outbox.send(|buffer| write_notification(buffer, changed_method(group), None));
                    if written.await.is_err() {
                        return;
                    }
                }
            }
            if versions.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(COALESCE).await;
        }
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
