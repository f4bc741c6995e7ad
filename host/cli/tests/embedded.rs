//! The gateway inside a program, with a real server behind it.

use std::path::Path;
use std::time::Duration;

use portcullis::mcp::Schemas;
use portcullis::model::json::{Object, Value};
use portcullis::model::object;
use portcullis::{Embedded, EmbeddedOptions, Exit};

/// A server that speaks JSON lines; started by its text, so that there is nothing to install.
const SERVER: &str = r#"
import json, sys
TOOLS = [
    {"name": "greet", "description": "Greets.", "inputSchema": {
        "type": "object", "properties": {"name": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "tags": {"type": "array"}},
        "required": ["name", "forgotten"]}, "annotations": {"readOnlyHint": True}},
    {"name": "fail", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "greeter", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call" and params["name"] == "greet":
        result = {"content": [{"type": "text", "text": "Hello, " + params["arguments"]["name"]}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "broken"}], "isError": True}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// A machine that is busy takes a minute to compile the policies.
const PATIENCE: Duration = Duration::from_mins(5);

fn home() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("server.py"), SERVER).expect("the server is written");
    let server = object! {
        "command" => "python3",
        "args" => vec![Value::from(folder.path().join("server.py").display().to_string())],
        "protocol" => "legacy",
        "connect_timeout" => 120_u64,
    };
    let config = object! { "mcp_servers" => object! { "greeter" => server } };
    std::fs::write(folder.path().join("config.yaml"), Value::from(config).to_json()).expect("the config is written");
    folder
}

fn options(home: &Path) -> EmbeddedOptions {
    EmbeddedOptions::new(home).named("test-agent", "1").supervised_by(env!("CARGO_BIN_EXE_portcullis"))
}

/// Starts a gateway and waits until the tools of its server are listed.
async fn started(options: EmbeddedOptions) -> (Embedded, Vec<portcullis::Tool>) {
    let gateway = Embedded::start(options).await.expect("it starts");
    let listed = async {
        loop {
            let mut changes = gateway.changes();
            changes.borrow_and_update();
            let tools = gateway.tools().await.expect("it lists");
            if tools.iter().any(|tool| tool.name == "mcp__greeter__greet") {
                break tools;
            }
            let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
        }
    };
    let tools = tokio::time::timeout(PATIENCE, listed).await.expect("the tools of the server are listed");
    (gateway, tools)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_lists_schemas_for_its_provider_unless_it_wants_them_as_they_are_and_gets_envelopes() {
    let home = home();
    let (gateway, tools) = started(options(home.path())).await;
    let greet = tools.iter().find(|tool| tool.name == "mcp__greeter__greet").unwrap();
    assert_eq!(greet.description, "Greets.");
    assert_eq!(
        greet.schema.to_json(),
        r#"{"type":"object","properties":{"name":{"type":"string","nullable":true},"tags":{"type":"array","items":{}}},"required":["name"]}"#
    );
    assert_eq!(greet.document.pointer("/annotations/readOnlyHint"), Some(&Value::Bool(true)));
    let envelope = async |tool: &str, arguments| gateway.call(tool, arguments).await.envelope().to_json();
    assert_eq!(envelope("mcp__greeter__greet", object! { "name" => "Ada" }).await, r#"{"result":"Hello, Ada"}"#);
    assert_eq!(envelope("mcp__greeter__fail", Object::new()).await, r#"{"error":"broken"}"#);
    let unknown = gateway.call("mcp__greeter__nothing", Object::new()).await;
    assert!(unknown.is_error && unknown.text.contains("no tool of this name"), "{unknown:?}");
    let status = gateway.composition().gateway().status();
    assert_eq!(status.servers.first().map(|server| server.usage.requests), Some(2), "{status:?}");
    gateway.shut_down().await;

    // The same home again, so that the policies are compiled already.
    let (gateway, tools) = started(EmbeddedOptions { schemas: Schemas::Listed, ..options(home.path()) }).await;
    let greet = tools.iter().find(|tool| tool.name == "mcp__greeter__greet").unwrap();
    assert_eq!(greet.schema.pointer("/properties/name/anyOf/1/type"), Some(&Value::from("null")));
    gateway.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_that_is_not_there_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let failure = Embedded::start(options(folder.path())).await.unwrap_err();
    assert_eq!(failure.exit(), Exit::Config);
    assert!(failure.to_string().contains("config.yaml"), "{failure}");
}
