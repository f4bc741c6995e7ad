//! Servers in this very process that do as they are told, and a client that speaks raw lines.

mod client;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_config::{Config, ServerOptions, Surroundings};
use portcullis_gates::testing::Judge;
use portcullis_gates::{ActivePolicy, Call, Cleared, Environment, Gates, Launching, NoJournal, PolicySet, testing};
use portcullis_model::json::{Value, parse_str};
use portcullis_model::{Answer as PolicyAnswer, GateName, Origin, Subject, Verdict};

use crate::Schemas;
use crate::gateway::link::{Boxed, Caller};
use crate::gateway::{
    Answer, Gateway, GatewayOptions, Greeting, LaunchError, Launcher, Link, LinkError, OnProgress, Pages, ServerPeer,
};
use crate::jsonrpc::ErrorObject;
use crate::method::{Listable, Verb};
use crate::upstream::CallerId;

pub(super) use client::{Client, stateless_params};

/// Everything in these tests happens at once or never.
pub(super) const SOON: Duration = Duration::from_secs(10);

pub(super) fn json(text: &str) -> Value {
    parse_str(text).unwrap()
}

/// What a server does with a call: told the params, the verb and where progress goes.
pub(super) type OnCall =
    Arc<dyn Fn(Call, Verb, Option<OnProgress>) -> Boxed<'static, Result<Answer, LinkError>> + Send + Sync>;

/// What a server does with a request of the gateway itself: told the method and the params.
pub(super) type OnAsk = Arc<dyn Fn(&str, &Value) -> Answer + Send + Sync>;

/// A server that does as it is told.
pub(super) struct Scripted {
    pub(super) greeting: Greeting,
    pub(super) lists: Mutex<HashMap<Listable, Vec<Value>>>,
    pub(super) on_call: OnCall,
    pub(super) on_ask: OnAsk,
    pub(super) refusal: Mutex<Option<LaunchError>>,
    pub(super) delay: Duration,
    pub(super) peer: Mutex<Option<Arc<ServerPeer>>>,
    pub(super) declared: Mutex<Vec<Value>>,
    /// Tools that it lists besides to clients with a capability.
    pub(super) more: Option<(&'static str, Vec<Value>)>,
    pub(super) calls: Mutex<Vec<String>>,
    /// Whose each call was.
    pub(super) callers: Mutex<Vec<CallerId>>,
    pub(super) asked: Mutex<Vec<(&'static str, Value)>>,
    pub(super) launches: AtomicUsize,
    pub(super) closes: AtomicUsize,
}

impl Scripted {
    /// A server with these tools that echoes the parameters of every call.
    pub(super) fn with_tools(tools: &[&str]) -> Self {
        let lists = [(Listable::Tools, tools.iter().map(|tool| json(tool)).collect())];
        Self {
            greeting: Greeting {
                revision: "2025-11-25".to_owned(),
                implementation: Some("scripted 1".to_owned()),
                capabilities: json(r#"{"tools":{"listChanged":true}}"#),
                instructions: None,
            },
            lists: Mutex::new(lists.into()),
            on_call: Arc::new(|call, _, _| Box::pin(async move { Ok(Ok(call.params)) })),
            on_ask: Arc::new(|_, _| Ok(json("{}"))),
            refusal: Mutex::default(),
            delay: Duration::ZERO,
            peer: Mutex::default(),
            declared: Mutex::default(),
            more: None,
            calls: Mutex::default(),
            callers: Mutex::default(),
            asked: Mutex::default(),
            launches: AtomicUsize::new(0),
            closes: AtomicUsize::new(0),
        }
    }

    pub(super) fn answering<F>(mut self, answer: F) -> Self
    where
        F: Fn(&Call) -> Result<Answer, LinkError> + Send + Sync + 'static,
    {
        self.on_call = Arc::new(move |call, _, _| {
            let answer = answer(&call);
            Box::pin(async move { answer })
        });
        self
    }

    pub(super) fn greeting(mut self, change: impl FnOnce(&mut Greeting)) -> Self {
        change(&mut self.greeting);
        self
    }

    pub(super) fn listing(self, listable: Listable, items: &[&str]) -> Self {
        self.set(listable, items);
        self
    }

    pub(super) fn set(&self, listable: Listable, items: &[&str]) {
        self.lists.lock().unwrap().insert(listable, items.iter().map(|item| json(item)).collect());
    }

    pub(super) fn also_with(mut self, capability: &'static str, tools: &[&str]) -> Self {
        self.more = Some((capability, tools.iter().map(|tool| json(tool)).collect()));
        self
    }

    /// What each start was told of the client, in order.
    pub(super) fn declarations(&self) -> Vec<Value> {
        self.declared.lock().unwrap().clone()
    }

    pub(super) fn closes(&self) -> usize {
        self.closes.load(Ordering::SeqCst)
    }

    pub(super) fn peer(&self) -> Arc<ServerPeer> {
        Arc::clone(self.peer.lock().unwrap().as_ref().unwrap())
    }

    pub(super) fn link(self: &Arc<Self>) -> Arc<dyn Link> {
        Arc::new(ScriptedLink { server: Arc::clone(self), declared: json("{}") })
    }

    pub(super) fn launches(&self) -> usize {
        self.launches.load(Ordering::SeqCst)
    }

    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

struct ScriptedLink {
    server: Arc<Scripted>,
    declared: Value,
}

impl Link for ScriptedLink {
    fn greeting(&self) -> &Greeting {
        &self.server.greeting
    }

    fn call<'a>(&'a self, call: &'a Cleared<Call>, verb: Verb, caller: Caller) -> Boxed<'a, Result<Answer, LinkError>> {
        self.server.calls.lock().unwrap().push(format!("{} {}", call.get().name, call.get().params.to_json()));
        self.server.callers.lock().unwrap().push(CallerId { session: caller.session, call: caller.call });
        (self.server.on_call)(call.get().clone(), verb, caller.progress)
    }

    fn list(&self, listable: Listable) -> Boxed<'_, Result<Pages, LinkError>> {
        let mut items = self.server.lists.lock().unwrap().get(&listable).cloned().unwrap_or_default();
        if let Some((capability, tools)) = &self.server.more
            && listable == Listable::Tools
            && self.declared.get(capability).is_some()
        {
            items.extend(tools.iter().cloned());
        }
        Box::pin(async move { Ok(Pages { items, incomplete: None, ttl_ms: None }) })
    }

    fn listen_for_task(&self, own_id: &str, listens: bool) {
        let params = portcullis_model::object! { "taskId" => own_id, "listens" => listens };
        self.server.asked.lock().unwrap().push(("listen for a task", params.into()));
    }

    fn ask(&self, method: &'static str, params: Value) -> Boxed<'_, Result<Answer, LinkError>> {
        let answer = (self.server.on_ask)(method, &params);
        self.server.asked.lock().unwrap().push((method, params));
        Box::pin(async { Ok(answer) })
    }

    fn tell(&self, method: &'static str) -> Boxed<'_, ()> {
        self.server.asked.lock().unwrap().push((method, Value::Null));
        Box::pin(async {})
    }

    fn close(&self) -> Boxed<'_, ()> {
        self.server.closes.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {})
    }
}

struct ScriptedLauncher(HashMap<String, Arc<Scripted>>);

impl Launcher for ScriptedLauncher {
    fn launch(
        &self,
        launching: Cleared<Launching>,
        _environment: Option<Cleared<Environment>>,
        _options: &ServerOptions,
        capabilities: Value,
        peer: Arc<ServerPeer>,
    ) -> Boxed<'_, Result<Arc<dyn Link>, LaunchError>> {
        let server = Arc::clone(&self.0[launching.get().entry.name.as_str()]);
        Box::pin(async move {
            server.launches.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(server.delay).await;
            if let Some(refusal) = server.refusal.lock().unwrap().clone() {
                return Err(refusal);
            }
            *server.peer.lock().unwrap() = Some(peer);
            server.declared.lock().unwrap().push(capabilities.clone());
            Ok(Arc::new(ScriptedLink { server, declared: capabilities }) as Arc<dyn Link>)
        })
    }
}

/// A config, its servers and their policies, not started yet.
pub(super) struct Setup {
    config: String,
    servers: HashMap<String, Arc<Scripted>>,
    policies: Vec<ActivePolicy>,
    options: GatewayOptions,
}

pub(super) struct Running {
    pub(super) gateway: Arc<Gateway>,
    pub(super) gates: Arc<Gates>,
    servers: HashMap<String, Arc<Scripted>>,
}

pub(super) fn setup() -> Setup {
    let options = GatewayOptions { list_wait: SOON, ..GatewayOptions::default() };
    Setup { config: "mcp_servers:\n".to_owned(), servers: HashMap::new(), policies: Vec::new(), options }
}

impl Setup {
    pub(super) fn server(self, name: &str, server: Scripted) -> Self {
        self.server_with(name, "{command: scripted}", server)
    }

    pub(super) fn server_with(mut self, name: &str, entry: &str, server: Scripted) -> Self {
        self.config = format!("{}  {name}: {entry}\n", self.config);
        self.servers.insert(name.to_owned(), Arc::new(server));
        self
    }

    /// A server that the config does not name yet.
    pub(super) fn spare(mut self, name: &str, server: Scripted) -> Self {
        self.servers.insert(name.to_owned(), Arc::new(server));
        self
    }

    pub(super) fn config(mut self, section: &str) -> Self {
        self.config.push_str(section);
        self
    }

    pub(super) fn policy(mut self, policy: ActivePolicy) -> Self {
        self.policies.push(policy);
        self
    }

    pub(super) fn options(mut self, change: impl FnOnce(&mut GatewayOptions)) -> Self {
        change(&mut self.options);
        self
    }

    pub(super) fn run(self) -> Running {
        let surroundings = Surroundings::new(|_| None);
        let config = Config::parse(&self.config, "test.yaml", Origin::ConfigFile, &surroundings);
        assert!(!config.has_errors(), "{:?}", config.diagnostics);
        let set = PolicySet::new(self.policies.into_iter().map(Arc::new).collect());
        let gates = Arc::new(Gates::new(set, Arc::new(NoJournal)));
        let launcher = Arc::new(ScriptedLauncher(self.servers.clone()));
        let gateway = Gateway::with_launcher(&config, Arc::clone(&gates), self.options, launcher);
        Running { gateway, gates, servers: self.servers }
    }

    /// Runs it and introduces a client without capabilities.
    pub(super) async fn client(self) -> (Running, Client) {
        let running = self.run();
        let mut client = running.connect();
        client.introduce("{}").await;
        (running, client)
    }
}

impl Running {
    pub(super) fn server(&self, name: &str) -> &Arc<Scripted> {
        &self.servers[name]
    }

    pub(super) fn connect(&self) -> Client {
        self.connect_with(Schemas::Listed)
    }

    pub(super) fn connect_with(&self, schemas: Schemas) -> Client {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        tokio::spawn(crate::serve_stdio_with(Arc::clone(&self.gateway), schemas, reader, writer));
        Client::new(near)
    }

    /// Takes another config.
    pub(super) fn reload(&self, text: &str) -> crate::status::ConfigChanges {
        self.gateway.reconfigure(&Config::parse(text, "test.yaml", Origin::ConfigFile, &Surroundings::new(|_| None)))
    }

    /// Publishes a set with these policies only.
    pub(super) fn publish(&self, policies: Vec<ActivePolicy>) {
        self.gates.publish(PolicySet::new(policies.into_iter().map(Arc::new).collect()));
    }

    pub(super) fn phase(&self, server: &str) -> (crate::status::Phase, Option<String>) {
        let status = self.gateway.status();
        let status = status.servers.into_iter().find(|status| status.server.as_str() == server).unwrap();
        (status.phase, status.reason_code)
    }

    pub(super) async fn wait_for(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        for _ in 0..1_000 {
            if condition(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never happened: {what}; {:?}", self.gateway.status());
    }
}

pub(super) fn names(result: &Value, list: &str, key: &str) -> Vec<String> {
    let items = result.get(list).and_then(Value::as_array).unwrap();
    items.iter().map(|item| item.get(key).and_then(Value::as_str).unwrap().to_owned()).collect()
}

/// The entry of a server of that name.
pub(crate) fn entry(name: &str) -> Arc<portcullis_model::ServerEntry> {
    let text = format!("mcp_servers: {{{name}: {{command: scripted}}}}\n");
    let config = Config::parse(&text, "test.yaml", Origin::ConfigFile, &Surroundings::new(|_| None));
    Arc::clone(&config.servers[0].entry)
}

/// A tool of that name.
pub(super) fn tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","description":"Does {name}.","inputSchema":{{"type":"object"}}}}"#)
}

/// A policy that gives the verdict of a function at one gate.
pub(super) fn judging(
    name: &str,
    gate: GateName,
    judge: impl Fn(&Subject) -> Verdict + Send + Sync + 'static,
) -> ActivePolicy {
    testing::policy(name, &[gate], Judge(move |_: &_, subject: &Subject| Ok(testing::answer(subject, &judge(subject)))))
}

/// A policy that denies the tools that a function names, at the listing gate.
pub(super) fn hiding(name: &str, hides: impl Fn(&str) -> bool + Send + Sync + 'static) -> ActivePolicy {
    let judge = Judge(move |_: &_, subject: &Subject| {
        let Subject::Listing(batch) = subject else { panic!("the listing gate") };
        let verdict = |item: &portcullis_model::Item| {
            if hides(&item.name) { testing::deny("hidden-here") } else { Verdict::allow() }
        };
        Ok(PolicyAnswer::Verdicts(batch.items.iter().map(verdict).collect()))
    });
    testing::policy(name, &[GateName::Listing], judge)
}

pub(super) fn error(code: i64, message: &str) -> ErrorObject {
    ErrorObject::new(code, message)
}
