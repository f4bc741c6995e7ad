//! A client, the gateway, and a scripted server, connected once for all cases of a property.

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Scripted};

use crate::{PATIENCE, PROGRAM};

/// Every policy of the bundle but the one that hands the server its variables. All are off: what is tested is the wire.
const POLICIES: [&str; 7] =
    ["config-screen", "description-scan", "pins", "trust", "result-sanitizer", "flow", "server-requests"];

/// The three, connected.
pub(crate) struct Scene {
    client: Client,
    pub(crate) server: Scripted,
    home: Home,
}

impl Scene {
    /// The tool that is called.
    pub(crate) const TOOL: &str = "called";
    /// The client's progress token.
    pub(crate) const TOKEN: &str = "a token of the client's own";

    pub(crate) fn start() -> Self {
        let server = Scripted::new();
        server.script().tools = vec![callable()];
        let mut policies = object! { "required" => vec![Value::from("none")] };
        for policy in POLICIES {
            policies.insert(policy, object! { "mode" => "off" });
        }
        let mut entry = server.entry();
        entry.insert("tools", object! { "resources" => false, "prompts" => false });
        let config =
            object! { "naming" => "none", "policies" => policies, "mcp_servers" => object! { "scripted" => entry } };
        let home = Home::new(PROGRAM, &Value::from(config).to_json());
        let capabilities = object! { "elicitation" => object! {}, "sampling" => object! {} };
        let mut client = Client::connect(&mut home.command(&["run"]), capabilities.into());
        assert_eq!(client.tool_names(), [Self::TOOL], "{}", home.stderr());
        Self { client, server, home }
    }

    /// Lets the server list other tools, and returns what the gateway lists then, the callable tool left out.
    pub(crate) fn list(&mut self, mut tools: Vec<Value>) -> Vec<Value> {
        tools.insert(0, callable());
        self.server.script().tools = tools;
        self.server.send(&object! { "jsonrpc" => "2.0", "method" => "notifications/tools/list_changed" }.into());
        let is_change =
            |message: &Value| message.get("method").and_then(Value::as_str) == Some("notifications/tools/list_changed");
        let told = self.client.wait_for(PATIENCE, is_change);
        assert!(told.is_some(), "the client was not told of the change: {}", self.home.stderr());
        self.client.tools().split_off(1)
    }

    /// Calls the tool with those parameters beside its name; the server gives that answer. Returns the reply.
    pub(crate) fn call(&mut self, answer: Object, params: Object) -> Value {
        self.server.script().answer = answer;
        let params = if params.is_empty() {
            object! { "name" => Self::TOOL, "arguments" => object! {} }
        } else {
            params
        };
        self.client.request("tools/call", params.into()).message
    }

    /// Calls the tool; the server asks the client something first. Returns what the client was asked and what the server
    /// was answered.
    pub(crate) fn ask(&mut self, method: &str, params: Value, answer: Value) -> (Value, Value) {
        let question = object! { "jsonrpc" => "2.0", "id" => "a question", "method" => method, "params" => params };
        self.prepare(vec![question.into()]);
        let id = self.client.begin("tools/call", object! { "name" => Self::TOOL, "arguments" => object! {} }.into());
        let is_question = |message: &Value| message.get("method").and_then(Value::as_str) == Some(method);
        let asked = self
            .client
            .wait_for(PATIENCE, is_question)
            .unwrap_or_else(|| panic!("no question: {}", self.home.stderr()));
        let own = asked.get("id").cloned().expect("a request has an id");
        self.client.send(&object! { "jsonrpc" => "2.0", "id" => own, "result" => answer }.into());
        self.client.reply_to(id);
        let mut script = self.server.script();
        script.before.clear();
        let reply = script.replies.pop().expect("the server was answered");
        let member = |message: &Value, key: &str| message.get(key).cloned().unwrap_or(Value::Null);
        (member(&asked, "params"), member(&reply, "result"))
    }

    /// Calls the tool; the server reports progress and logs a line first. Returns both as the client got them.
    pub(crate) fn report(&mut self, progress: Object, log: Object) -> (Value, Value) {
        let notification =
            |method: &str, params: Object| object! { "jsonrpc" => "2.0", "method" => method, "params" => params };
        let (progress_method, log_method) = ("notifications/progress", "notifications/message");
        self.prepare(vec![notification(progress_method, progress).into(), notification(log_method, log).into()]);
        let meta = object! { "progressToken" => Self::TOKEN };
        let params = object! { "name" => Self::TOOL, "arguments" => object! {}, "_meta" => meta };
        self.client.request("tools/call", params.into()).result();
        self.server.script().before.clear();
        let mut take = |method: &str| {
            let is_it = |message: &Value| message.get("method").and_then(Value::as_str) == Some(method);
            let came = self.client.wait_for(PATIENCE, is_it);
            came.and_then(|message| message.get("params").cloned()).unwrap_or_else(|| panic!("{method} did not come"))
        };
        (take(progress_method), take(log_method))
    }

    fn prepare(&self, before: Vec<Value>) {
        let mut script = self.server.script();
        script.before = before;
        script.answer = object! { "result" => object! { "content" => Vec::<Value>::new() } };
    }
}

fn callable() -> Value {
    object! { "name" => Scene::TOOL, "description" => "Called", "inputSchema" => object! { "type" => "object" } }.into()
}
