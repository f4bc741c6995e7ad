//! What the tests share.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use portcullis_config::Protocol;
use portcullis_gates::testing::{AllowAll, policy, session};
use portcullis_gates::{Call, Cleared, Context, Environment, Gates, Launching, NoApprover, NoJournal, PolicySet};
use portcullis_mcp::jsonrpc::{ErrorObject, code};
use portcullis_mcp::upstream::{
    BoxFuture, CallError, CallOptions, CallerId, CloseReason, ConnectError, ConnectOptions, Outcome, Peer, Upstream,
};
use portcullis_model::json::{Value, parse_str};
use portcullis_model::{
    Annotations, CallKind, GateName, Launch, Occasion, Origin, PinState, Secret, ServerEntry, ServerName, object,
};
use portcullis_supervisor::Launcher;

/// Makes a trial of an asynchronous test.
pub(crate) fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let run = || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async { tokio::time::timeout(Duration::from_mins(1), test()).await.unwrap() });
        };
        std::panic::catch_unwind(run).map_err(|_| Failed::from("the test panicked"))
    })
}

/// Keeps what the server says, and answers what it asks after a while.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) delay: Duration,
    pub(crate) requests: Mutex<Vec<String>>,
    /// Whose calls the requests of a server of the stateless era belong to.
    pub(crate) callers: Mutex<Vec<Option<u64>>>,
    /// Whose calls the notifications belong to that came on the stream of an answer.
    pub(crate) told_of: Mutex<Vec<CallerId>>,
    pub(crate) finished: Mutex<usize>,
    /// How many were answered already when each came.
    pub(crate) finished_before: Mutex<Vec<usize>>,
    pub(crate) notifications: Mutex<Vec<(String, String)>>,
    pub(crate) stderr: Mutex<Vec<String>>,
    pub(crate) closed: Mutex<Vec<CloseReason>>,
}

impl Peer for Recorder {
    fn request(
        &self,
        method: String,
        _params: Option<Value>,
        _key: Option<String>,
    ) -> BoxFuture<'_, Result<Value, ErrorObject>> {
        self.requests.lock().unwrap().push(method.clone());
        self.finished_before.lock().unwrap().push(*self.finished.lock().unwrap());
        Box::pin(async move {
            tokio::time::sleep(self.delay).await;
            *self.finished.lock().unwrap() += 1;
            match method.as_str() {
                "roots/list" => Ok(object! { "roots" => Vec::<Value>::new() }.into()),
                _ => Err(ErrorObject::new(code::METHOD_NOT_FOUND, "not here")),
            }
        })
    }

    fn request_of(
        &self,
        caller: Option<CallerId>,
        method: String,
        params: Option<Value>,
        key: Option<String>,
    ) -> BoxFuture<'_, Result<Value, ErrorObject>> {
        self.callers.lock().unwrap().push(caller.map(|caller| caller.session));
        self.request(method, params, key)
    }

    fn notification(&self, method: String, params: Option<Value>) {
        self.notifications.lock().unwrap().push((method, params.map_or(String::new(), |params| params.to_json())));
    }

    fn notification_of(&self, caller: CallerId, method: String, params: Option<Value>) {
        self.told_of.lock().unwrap().push(caller);
        self.notification(method, params);
    }

    fn stderr(&self, line: String) {
        self.stderr.lock().unwrap().push(line);
    }

    fn closed(&self, reason: CloseReason) {
        self.closed.lock().unwrap().push(reason);
    }
}

/// A server that is connected.
pub(crate) struct Connected {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) peer: Arc<Recorder>,
    gates: Gates,
    context: Context,
}

pub(crate) fn options() -> ConnectOptions {
    ConnectOptions {
        // Most tests count the messages, which a question for the era would change.
        protocol: Protocol::Legacy,
        launcher: Some(Launcher { program: std::env::current_exe().unwrap(), arguments: vec!["supervise".into()] }),
        ..ConnectOptions::default()
    }
}

pub(crate) async fn connect(mode: &str) -> Connected {
    connect_with(entry(mode), options(), Recorder::default()).await.unwrap_or_else(|error| panic!("{error:?}"))
}

pub(crate) fn entry(mode: &str) -> ServerEntry {
    let program = std::env::current_exe().unwrap();
    stdio_entry(program.to_str().unwrap(), &["server", mode])
}

pub(crate) fn stdio_entry(command: &str, arguments: &[&str]) -> ServerEntry {
    ServerEntry {
        name: ServerName::parse("fake").unwrap(),
        launch: Launch::Stdio {
            command: command.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            working_directory: None,
            environment: vec![("OWN".to_owned(), Secret::new("entry")), ("SHARED".to_owned(), Secret::new("entry"))],
        },
        origin: Origin::ConfigFile,
        document: object! {}.into(),
    }
}

pub(crate) async fn connect_with(
    entry: ServerEntry,
    options: ConnectOptions,
    peer: Recorder,
) -> Result<Connected, ConnectError> {
    let allow = policy("allow", &[GateName::Environment], AllowAll);
    let gates = Gates::new(PolicySet::new(vec![Arc::new(allow)]), Arc::new(NoJournal));
    let context = gates.context(session("test"), Arc::new(NoApprover), None);
    let entry = Arc::new(entry);
    let launching = Launching { entry: Arc::clone(&entry), occasion: Occasion::Start };
    let launching = gates.config(&context, launching).await.unwrap();
    let variables = [("PATH", "/usr/bin:/bin"), ("SHARED", "gateway")];
    let variables = variables.map(|(name, value)| (name.to_owned(), Secret::new(value))).to_vec();
    let environment = Environment { entry, variables, tagged: Vec::new() };
    let environment = gates.environment(&context, environment).await.unwrap();
    let peer = Arc::new(peer);
    let upstream = Upstream::connect(launching, Some(environment), options, Arc::<Recorder>::clone(&peer)).await?;
    Ok(Connected { upstream, peer, gates, context })
}

impl Connected {
    pub(crate) async fn cleared(&self, name: &str, params: &str) -> Cleared<Call> {
        let call = Call {
            server: ServerName::parse("fake").unwrap(),
            kind: CallKind::Tool,
            name: name.to_owned(),
            utility: false,
            annotations: Annotations::default(),
            pin: PinState::Unpinned,
            definition: None,
            params: parse_str(params).unwrap(),
        };
        self.gates.call(&self.context, call).await.unwrap()
    }

    pub(crate) async fn call_with(&self, name: &str, params: &str, options: CallOptions) -> Result<Outcome, CallError> {
        self.upstream.call(&self.cleared(name, params).await, options).await
    }

    pub(crate) async fn call(&self, name: &str) -> Result<Outcome, CallError> {
        self.call_with(name, r#"{"arguments":{}}"#, CallOptions::default()).await
    }

    /// Calls and returns the JSON text of the result.
    pub(crate) async fn result(&self, name: &str) -> String {
        self.call(name).await.unwrap().unwrap().to_json()
    }

    /// Calls and returns the text of the first content item.
    pub(crate) async fn text(&self, name: &str) -> String {
        let result = self.call(name).await.unwrap().unwrap();
        result.pointer("/content/0/text").and_then(Value::as_str).unwrap().to_owned()
    }

    /// Asserts that the connection still works.
    pub(crate) async fn assert_alive(&self) {
        assert_eq!(self.result("both").await, r#"{"ok":true}"#);
        assert_eq!(self.upstream.closed(), None);
    }
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A zombie counts as gone only once it is reaped, which is what these tests want to see.
    std::path::Path::new("/proc").join(pid).exists()
}

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let from = Instant::now();
    while !condition() {
        assert!(from.elapsed() < Duration::from_mins(1), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
