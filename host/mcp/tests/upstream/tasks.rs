//! Calls that may be answered with a task, and what is said of the client that calls.

use libtest_mimic::Trial;
use portcullis_config::Protocol;
use portcullis_mcp::upstream::{CallError, CallOptions, CallerId, ConnectOptions};
use portcullis_model::json::{Value, parse_str};

use crate::support::{Connected, Recorder, connect, connect_with, entry, options, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the_tasks_extension_is_declared_with_the_call_that_takes_a_task", the_extension_is_declared),
        trial("a_task_is_an_answer_where_one_is_taken_and_nowhere_else", a_task_is_an_answer_where_one_is_taken),
        trial("a_task_is_asked_for_only_where_one_is_taken", a_task_is_asked_for_only_where_one_is_taken),
        trial("what_the_calling_client_can_do_is_said_with_its_call", what_the_calling_client_can_do_is_said),
        trial("what_a_server_wants_belongs_to_the_call_it_came_in", what_a_server_wants_belongs_to_the_call),
    ]
}

async fn stateless() -> Connected {
    let options = ConnectOptions { protocol: Protocol::Auto, ..options() };
    let connected = connect_with(entry("stateless"), options, Recorder::default()).await;
    connected.unwrap_or_else(|error| panic!("{error:?}"))
}

fn taking() -> CallOptions {
    CallOptions { takes_task: true, ..CallOptions::default() }
}

async fn declared(server: &Connected, options: CallOptions) -> String {
    let result = server.call_with("params", "{}", options).await.unwrap().unwrap();
    let pointer = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
    result.pointer(pointer).unwrap_or_else(|| panic!("{result:?}")).to_json()
}

async fn the_extension_is_declared() {
    let server = stateless().await;
    let plain = declared(&server, CallOptions::default()).await;
    let with = declared(&server, taking()).await;
    let with = parse_str(&with).unwrap();
    assert_eq!(with.pointer("/extensions/io.modelcontextprotocol~1tasks").map(Value::to_json), Some("{}".to_owned()));
    assert_eq!(declared(&server, CallOptions::default()).await, plain, "with that call only");
    assert!(!plain.contains("tasks"), "{plain}");
}

async fn a_task_is_an_answer_where_one_is_taken() {
    let server = stateless().await;
    let task = server.call_with("odd-type", "{}", taking()).await.unwrap().unwrap();
    assert_eq!(task.to_json(), r#"{"resultType":"task","taskId":"t"}"#);
    let refused = server.call_with("odd-type", "{}", CallOptions::default()).await;
    assert!(matches!(refused, Err(CallError::Malformed(_))), "{refused:?}");
}

async fn a_task_is_asked_for_only_where_one_is_taken() {
    let server = connect("normal").await;
    let sent =
        async |params: &str, options| server.call_with("params", params, options).await.unwrap().unwrap().to_json();
    let wished = r#"{"task":{"ttl":5},"arguments":{}}"#;
    assert_eq!(sent(wished, CallOptions::default()).await, r#"{"arguments":{},"name":"params"}"#);
    assert_eq!(sent(wished, taking()).await, r#"{"task":{"ttl":5},"arguments":{},"name":"params"}"#);
    assert_eq!(sent("{}", taking()).await, r#"{"name":"params","task":{}}"#);
}

async fn what_the_calling_client_can_do_is_said() {
    let server = stateless().await;
    let roots = parse_str(r#"{"roots":{}}"#).unwrap();
    let options = CallOptions { capabilities: Some(roots), ..CallOptions::default() };
    assert_eq!(declared(&server, options.clone()).await, r#"{"roots":{}}"#);
    let expected = r#"{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    assert_eq!(declared(&server, CallOptions { takes_task: true, ..options }).await, expected);
}

async fn what_a_server_wants_belongs_to_the_call() {
    let server = stateless().await;
    let roots = parse_str(r#"{"roots":{}}"#).unwrap();
    let wish = r#"{"arguments":{"wish":{"inputRequests":{"k":{"method":"roots/list"}}}}}"#;
    for caller in [7, 8] {
        let options = CallOptions {
            caller: Some(CallerId { session: caller, call: 1 }),
            capabilities: Some(roots.clone()),
            ..CallOptions::default()
        };
        server.call_with("wants", wish, options).await.unwrap().unwrap();
    }
    assert_eq!(*server.peer.callers.lock().unwrap(), [Some(7), Some(8)]);
}
