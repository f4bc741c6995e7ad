//! The stateless era towards clients: revision 2026-07-28.
//!
//! Every request stands alone: it names its revision, its client and what that client can do, and nothing is remembered
//! between two of them but what the gates remember of a session.

mod call;
mod dress;
mod exchange;
mod listen;
mod meta;
pub(crate) mod mirror;
mod parked;
mod seal;
mod task;

use std::sync::{Arc, OnceLock};

use portcullis_gates::{Session, TooManySessions};
use portcullis_model::json::{Object, Value};
use portcullis_model::{ClientFacts, Digest, Era, ServerName, SessionId, object};
use rmcp::model::TASKS_EXTENSION_ID;

use super::{Entrance, Reply, Schemas, capabilities};
use crate::gateway::{Boxed, Fleet, Gateway, TaskForm};
use crate::jsonrpc::{ErrorObject, Id, code};
use crate::method::{ClientMethod, Listable, Treatment, Verb};
use crate::upstream::Binding;

pub(crate) use dress::Dress;
pub(crate) use exchange::check_answer;
pub(crate) use listen::Listens;
pub(crate) use meta::{RequestMeta, is_stateless};
pub(crate) use parked::Parked;

/// The one revision of this era.
pub(crate) const REVISION: &str = "2026-07-28";

/// Writes a notification to whoever sent the request, for as long as it waits for its answer.
pub(crate) type Tell = Arc<dyn Fn(&str, Option<&Value>) + Send + Sync>;

/// Who sends requests.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// How the requests come in: whom they belong to, and which servers they see.
    pub(crate) entrance: Entrance,
    /// The process that they all come by; where there is none, the session follows from the principal and the client's
    /// name.
    process: Option<Arc<Process>>,
    /// Where calls wait for answers of the client.
    pub(crate) parked: Arc<Parked>,
    /// What it listens for.
    pub(crate) listens: Arc<Listens>,
}

/// A process that speaks by its standard streams: one session, however long it is silent.
#[derive(Debug)]
struct Process {
    id: SessionId,
    session: OnceLock<Arc<Session>>,
}

impl Caller {
    /// Whoever started this process and speaks to it by its standard streams: all requests are of one session.
    pub(crate) fn process(schemas: Schemas) -> Self {
        let fixed = "a fixed word and hexadecimal digits";
        let random = format!("{:016x}", getrandom::u64().unwrap_or_default());
        let session = SessionId::parse(&format!("stdio-{}-{random}", std::process::id())).expect(fixed);
        let process = Arc::new(Process { id: session, session: OnceLock::new() });
        let entrance = Entrance::stdio(schemas);
        Self { entrance, process: Some(process), parked: Arc::default(), listens: Arc::default() }
    }

    /// Whoever came in over HTTP.
    pub(crate) fn over_http(entrance: Entrance, parked: &Arc<Parked>, listens: &Arc<Listens>) -> Self {
        Self { entrance, process: None, parked: Arc::clone(parked), listens: Arc::clone(listens) }
    }

    /// Returns whom states of calls are bound to. A principal has no control characters.
    fn owner(&self) -> String {
        let scope = self.entrance.scope.as_ref().map(ServerName::as_str).unwrap_or_default();
        format!("{}\n{scope}", self.entrance.principal.as_str())
    }

    /// Returns the session that a request of that client belongs to. The client's version does not count: an update does
    /// not wash labels off.
    fn session(&self, gateway: &Gateway, client: &ClientFacts) -> Result<Arc<Session>, TooManySessions> {
        let open =
            |id: &SessionId| gateway.gates().sessions().open(id, &self.entrance.principal, client, Era::Stateless);
        let Some(process) = &self.process else {
            let parts: [&[u8]; 2] = [self.entrance.principal.as_str().as_bytes(), client.name.as_bytes()];
            let digest = Digest::of_parts(parts);
            return open(&SessionId::parse(&format!("stateless-{digest}")).expect("a word and hexadecimal digits"));
        };
        match process.session.get() {
            Some(session) => Ok(Arc::clone(session)),
            None => open(&process.id).map(|session| Arc::clone(process.session.get_or_init(|| session))),
        }
    }

    /// Ends the session of a process that is gone.
    pub(crate) fn close(&self, gateway: &Gateway) {
        if let Some(process) = &self.process {
            gateway.gates().close_session(&process.id);
        }
    }
}

/// A request of this era.
pub(crate) struct Ask {
    pub(crate) caller: Caller,
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Object,
    pub(crate) tell: Tell,
}

/// What becomes of a request.
pub(crate) enum Begun {
    /// It is answered at once.
    Now(Reply),
    /// It does not say of itself what it must.
    Unfit(ErrorObject),
    /// It is answered by work that may wait. Dropping the work cancels the request.
    Later(Boxed<'static, Reply>),
}

/// Takes a request. Never waits for a server.
pub(crate) fn begin(gateway: &Arc<Gateway>, mut ask: Ask) -> Begun {
    let meta = match RequestMeta::take(&mut ask.params) {
        Ok(meta) => meta,
        Err(error) => return Begun::Unfit(error),
    };
    // The first one that names such capabilities has servers started for them, whatever it asks.
    let fleet = gateway.fleet_for(&ask.caller.entrance.principal, &meta.capabilities);
    let method = ClientMethod::parse(&ask.method);
    match method.treatment() {
        _ if method == ClientMethod::Discover => Begun::Now(discover(&fleet, &ask.caller.entrance)),
        _ if method == ClientMethod::Listen => listen::listen(gateway, &fleet, &ask, &meta),
        Treatment::List(listable) => list(fleet, &ask, listable),
        Treatment::Call(kind, Verb::Plain) => call::call(gateway, fleet, ask, &meta, kind),
        Treatment::Task(method) => task::task(gateway, fleet, ask, &meta, method),
        Treatment::Introduce | Treatment::Pong | Treatment::SetLevel | Treatment::Call(..) | Treatment::Refuse => {
            Begun::Now(Reply::Error(ErrorObject::new(code::METHOD_NOT_FOUND, "this method is not offered")))
        }
    }
}

/// Returns which arguments of a tool's call are repeated in headers, where the parameters are of such a call.
pub(crate) fn repeated_arguments(
    gateway: &Arc<Gateway>,
    entrance: &Entrance,
    method: &str,
    params: Option<&Value>,
) -> Option<Arc<[Binding]>> {
    if ClientMethod::parse(method) != ClientMethod::CallTool {
        return None;
    }
    let capabilities = params.and_then(meta::capabilities_of)?;
    let tool = params?.get("name")?.as_str()?;
    gateway.fleet_for(&entrance.principal, capabilities).snapshot().headers_of(tool)
}

/// Answers `server/discover` from what is known now: a client that waits in vain takes the gateway for one of the other
/// era for good.
fn discover(fleet: &Fleet, entrance: &Entrance) -> Reply {
    let mut capabilities = capabilities();
    if fleet.task_forms(entrance).into_iter().any(TaskForm::is_extension) {
        capabilities.insert("extensions", object! { TASKS_EXTENSION_ID => object! {} });
    }
    let mut result = object! {
        "supportedVersions" => vec![Value::from(REVISION)],
        "capabilities" => capabilities,
    };
    let instructions = fleet.instructions();
    if !instructions.is_empty() {
        result.insert("instructions", instructions);
    }
    Dress::own(fleet.is_settled()).put_on(Reply::Own(result.into()))
}

fn list(fleet: Arc<Fleet>, ask: &Ask, listable: Listable) -> Begun {
    // Lists are given whole, so no cursor was ever handed out.
    if ask.params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Begun::Now(invalid("this cursor is not known"));
    }
    let entrance = ask.caller.entrance.clone();
    Begun::Later(Box::pin(async move {
        let list = fleet.list_stateless(&entrance, listable).await;
        Dress::own(fleet.is_settled()).put_on(list)
    }))
}

fn invalid(text: &str) -> Reply {
    Reply::Error(ErrorObject::new(code::INVALID_PARAMS, text))
}
