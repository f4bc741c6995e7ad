//! A client, the gateway, and a scripted server, connected once for all cases of a property.

use std::time::Duration;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Scripted};

use crate::{PATIENCE, PROGRAM};

/// Every policy of the bundle but the one that hands the server its variables. All are off: what is tested is the wire.
const POLICIES: [&str; 7] =
    ["config-screen", "description-scan", "pins", "trust", "result-sanitizer", "flow", "server-requests"];

/// Which era all three speak.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// That with a handshake.
    Handshake,
    /// The stateless one.
    Stateless,
}

/// Both eras.
pub(crate) const ERAS: [Era; 2] = [Era::Handshake, Era::Stateless];

/// The three, connected.
pub(crate) struct Scene {
    era: Era,
    client: Client,
    pub(crate) server: Scripted,
    home: Home,
}

impl Scene {
    /// The tool that is called.
    pub(crate) const TOOL: &str = "called";
    /// The client's progress token.
    pub(crate) const TOKEN: &str = "a token of the client's own";

    pub(crate) fn start(era: Era) -> Self {
        let server = Scripted::new();
        server.script().is_stateless = era == Era::Stateless;
        server.script().tools = vec![callable()];
        server.script().task = Some(Object::new());
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
        let mut command = home.command(&["run"]);
        let mut client = match era {
            Era::Handshake => Client::connect(&mut command, capabilities.into()),
            Era::Stateless => {
                let mut client =
                    Client::connect_stateless(&mut command, capabilities.into()).expect("it speaks the era");
                let wanted = object! { "toolsListChanged" => true };
                client.begin("subscriptions/listen", object! { "notifications" => wanted }.into());
                client
            }
        };
        assert_eq!(client.tool_names(), [Self::TOOL], "{}", home.stderr());
        Self { era, client, server, home }
    }

    /// Lets the server list other tools, and returns what the gateway lists once it told of the change, the callable tool
    /// left out. What it tells may still be of the change before: another list is waited for as long as one may come.
    pub(crate) fn list(&mut self, tools: &[Value]) -> Vec<Value> {
        self.server.script().tools = [&[callable()], tools].concat();
        self.server.tell_of_change();
        let change = "notifications/tools/list_changed";
        let is_change = |message: &Value| message.get("method").and_then(Value::as_str) == Some(change);
        let mut listed = Vec::new();
        while self.client.wait_for(PATIENCE, is_change).is_some() {
            listed = self.client.tools().split_off(1);
            if listed == tools {
                break;
            }
        }
        listed
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

    /// Calls the tool, which becomes a task. The server tells this of it, and answers with the result where it is asked for
    /// that. Returns what the client is told, and what comes of the task.
    pub(crate) fn follow(&mut self, told: Object, result: &Value) -> (Value, Value) {
        let mut params = object! { "name" => Self::TOOL, "arguments" => object! {} };
        match self.era {
            Era::Handshake => {
                params.insert("task", object! {});
                self.server.script().task = Some(told);
                self.server.script().answer = object! { "result" => result.clone() };
            }
            Era::Stateless => {
                let capabilities =
                    object! { "extensions" => object! { "io.modelcontextprotocol/tasks" => object! {} } };
                params.insert("_meta", object! { "io.modelcontextprotocol/clientCapabilities" => capabilities });
                let mut told = told;
                told.insert("resultType", "complete");
                told.insert("result", result.clone());
                self.server.script().task = Some(told);
            }
        }
        let meta = params.get("_meta").cloned();
        let begun = self.client.request("tools/call", params.into());
        let id = ["/taskId", "/task/taskId"].into_iter().find_map(|pointer| begun.result().pointer(pointer));
        let mut params = object! { "taskId" => id.cloned().unwrap_or_else(|| panic!("{}", begun.message.to_json())) };
        if let Some(meta) = meta {
            params.insert("_meta", meta);
        }
        let mut told = self.client.request("tasks/get", params.clone().into()).result().clone();
        let members = told.as_object_mut().expect("a task is an object");
        members.remove("taskId").expect("a task has an id");
        let result = match self.era {
            Era::Handshake => self.client.request("tasks/result", params.into()).result().clone(),
            Era::Stateless => {
                members.remove("resultType");
                members.remove("result").unwrap_or(Value::Null)
            }
        };
        (told, result)
    }

    /// Calls the tool; the server asks the client something first. Returns what the client was asked and what the server
    /// was answered.
    pub(crate) fn ask(&mut self, method: &str, params: Value, answer: Value) -> (Value, Value) {
        match self.era {
            Era::Handshake => self.ask_by_request(method, params, answer),
            Era::Stateless => self.ask_by_result(method, params, answer),
        }
    }

    fn ask_by_result(&mut self, method: &str, params: Value, answer: Value) -> (Value, Value) {
        self.prepare(Vec::new());
        self.server.script().question = Some(object! { "method" => method, "params" => params }.into());
        let mut call = object! { "name" => Self::TOOL, "arguments" => object! {} };
        let asking = self.client.request("tools/call", call.clone().into());
        let requests = asking.result().get("inputRequests").and_then(Value::as_object).cloned().unwrap_or_default();
        let (key, asked) =
            requests.iter().next().unwrap_or_else(|| panic!("nothing is asked: {}", asking.message.to_json()));
        assert_eq!(asked.get("method").and_then(Value::as_str), Some(method));
        call.insert("inputResponses", object! { key => answer });
        if let Some(state) = asking.result().get("requestState") {
            call.insert("requestState", state.clone());
        }
        self.client.request("tools/call", call.into()).result();
        let mut script = self.server.script();
        script.question = None;
        let seen = script.calls.pop().expect("the server was called again");
        let member = |message: &Value, pointer: &str| message.pointer(pointer).cloned().unwrap_or(Value::Null);
        (member(asked, "/params"), member(&seen, "/inputResponses/question"))
    }

    fn ask_by_request(&mut self, method: &str, params: Value, answer: Value) -> (Value, Value) {
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
        let mut meta = object! { "progressToken" => Self::TOKEN };
        if self.era == Era::Stateless {
            meta.insert("io.modelcontextprotocol/logLevel", "debug");
        }
        let params = object! { "name" => Self::TOOL, "arguments" => object! {}, "_meta" => meta };
        self.client.request("tools/call", params.into()).result();
        self.server.script().before.clear();
        let mut take = |method: &str| {
            let is_it = |message: &Value| message.get("method").and_then(Value::as_str) == Some(method);
            // Both came before the answer, so there is nothing to wait for.
            let came = self.client.wait_for(Duration::ZERO, is_it);
            came.and_then(|message| message.get("params").cloned()).unwrap_or_else(|| panic!("{method} did not come"))
        };
        (take(progress_method), take(log_method))
    }

    /// Returns an empty result of the era.
    pub(crate) fn nothing(&self) -> Object {
        let mut nothing = object! { "content" => Vec::<Value>::new() };
        if self.era == Era::Stateless {
            nothing.insert("resultType", "complete");
        }
        nothing
    }

    fn prepare(&self, before: Vec<Value>) {
        let mut script = self.server.script();
        script.before = before;
        script.answer = object! { "result" => self.nothing() };
    }
}

fn callable() -> Value {
    object! { "name" => Scene::TOOL, "description" => "Called", "inputSchema" => object! { "type" => "object" } }.into()
}
