use std::sync::Arc;

use portcullis_gates::testing;
use portcullis_model::json::Value;
use portcullis_model::{GateName, LabelFact, Subject, Verdict};

use super::support::*;
use crate::method::Listable;

fn connected(setup: Setup) -> (Running, Client) {
    let running = setup.run();
    let client = running.connect();
    (running, client)
}

fn code_of(response: &Value) -> Option<i64> {
    response.pointer("/error/code").and_then(Value::as_i64)
}

#[tokio::test(start_paused = true)]
async fn discovery_is_answered_at_once_while_servers_are_still_starting() {
    let slow = Scripted { delay: SOON, ..Scripted::with_tools(&[&tool("t")]) };
    let (_running, mut client) = connected(setup().server("s", slow));
    let started = tokio::time::Instant::now();
    let response = client.stateless("server/discover", "{}", "").await;
    assert!(started.elapsed() < SOON / 4);
    let result = response.get("result").unwrap();
    assert_eq!(result.get("supportedVersions").unwrap().to_json(), r#"["2026-07-28"]"#);
    assert_eq!(result.get("resultType").and_then(Value::as_str), Some("complete"));
    assert_eq!(result.get("cacheScope").and_then(Value::as_str), Some("private"));
    assert_eq!(result.get("ttlMs").and_then(Value::as_u64), Some(0), "more servers are about to come");
    let name = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo/name").and_then(Value::as_str);
    assert_eq!(name, Some("portcullis"));
    assert!(result.get("instructions").is_some() && result.pointer("/capabilities/tools").is_some());
}

#[tokio::test]
async fn a_request_that_stands_alone_is_answered_without_initialize() {
    let tool =
        r#"{"name":"t","inputSchema":{"type":"object","x":1.0},"execution":{"taskSupport":"optional"},"x-vendor":[1]}"#;
    let (running, mut client) = connected(setup().server("s", Scripted::with_tools(&[tool])));
    let response = client.stateless("tools/list", "{}", "").await;
    let tools = response.pointer("/result/tools").unwrap().to_json();
    assert_eq!(tools, r#"[{"name":"mcp__s__t","inputSchema":{"type":"object","x":1.0},"x-vendor":[1]}]"#);
    let response = client.stateless("tools/call", "{}", r#""name":"mcp__s__t","arguments":{"a":1.0},"x":2,"#).await;
    assert_eq!(
        response.get("result").unwrap().to_json(),
        r#"{"name":"t","arguments":{"a":1.0},"x":2,"resultType":"complete"}"#,
        "the server was sent nothing of what is between the client and the gateway"
    );
    assert_eq!(running.server("s").calls().len(), 1);
}

#[tokio::test]
async fn each_list_and_call_of_the_era_is_answered_in_its_form() {
    let server = Scripted::with_tools(&[])
        .greeting(|greeting| greeting.capabilities = json(r#"{"prompts":{},"resources":{},"completions":{}}"#))
        .listing(Listable::Prompts, &[r#"{"name":"p"}"#])
        .listing(Listable::Resources, &[r#"{"uri":"file:///a","name":"a"}"#]);
    let (_running, mut client) = connected(setup().server("s", server));
    for (method, key) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let result = client.stateless(method, "{}", "").await.get("result").unwrap().clone();
        assert!(result.get(key).is_some() && result.get("ttlMs").is_some(), "{}", result.to_json());
        assert_eq!(result.get("resultType").and_then(Value::as_str), Some("complete"));
    }
    let read = client.stateless("resources/read", "{}", r#""uri":"file:///a","#).await;
    assert!(read.pointer("/result/ttlMs").is_some(), "{}", read.to_json());
    let prompt = client.stateless("prompts/get", "{}", r#""name":"mcp__s__p","#).await;
    assert_eq!(prompt.pointer("/result/resultType").and_then(Value::as_str), Some("complete"));
    assert!(prompt.pointer("/result/ttlMs").is_none());
    let missing = client.stateless("resources/read", "{}", r#""uri":"file:///b","#).await;
    assert!(code_of(&missing) != Some(-32_002), "{}", missing.to_json());
}

#[tokio::test]
async fn what_the_era_does_not_have_is_refused_each_with_its_code() {
    let (_running, mut client) = connected(setup().server("s", Scripted::with_tools(&[&tool("t")])));
    for method in ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get", "vendor/x"]
    {
        assert_eq!(code_of(&client.stateless(method, "{}", "").await), Some(-32_601), "{method}");
    }
    assert_eq!(code_of(&client.stateless("tools/call", "{}", r#""name":"nothing","#).await), Some(-32_602));
    assert_eq!(code_of(&client.stateless("tools/list", "{}", r#""cursor":"x","#).await), Some(-32_602));
    assert_eq!(code_of(&client.request("server/discover", "{}").await), Some(-32_602));
    let other = stateless_params("{}", "", "").replace("2026-07-28", "2031-01-01");
    let response = client.request("tools/list", &other).await;
    assert_eq!(code_of(&response), Some(-32_022));
    assert_eq!(response.pointer("/error/data/supported/0").and_then(Value::as_str), Some("2026-07-28"));
}

#[tokio::test]
async fn one_process_may_speak_both_eras_at_once() {
    let (_running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    let response = client.stateless("tools/list", "{}", "").await;
    assert_eq!(names(response.get("result").unwrap(), "tools", "name"), ["mcp__s__t"]);
    assert!(client.result("tools/list", "{}").await.get("resultType").is_none(), "the other era stays as it is");
    assert!(client.result("ping", "{}").await.get("resultType").is_none());
}

#[tokio::test]
async fn progress_comes_with_the_requests_own_token_and_a_cancelled_request_ends() {
    let mut server = Scripted::with_tools(&[&tool("t")]);
    server.on_call = Arc::new(|_, _, progress| {
        Box::pin(async move {
            progress.unwrap()(json(r#"{"progressToken":99,"progress":1}"#));
            std::future::pending().await
        })
    });
    let (running, mut client) = connected(setup().server("s", server));
    let params = stateless_params("{}", r#""name":"mcp__s__t","#, r#""progressToken":"mine","#);
    let id = client.start("tools/call", &params).await;
    let progress = client.expect("notifications/progress").await;
    assert_eq!(progress.get("params").unwrap().to_json(), r#"{"progressToken":"mine","progress":1}"#);
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
        .await;
    client.stateless("server/discover", "{}", "").await;
    assert!(!running.gateway.has_exchanges(), "nothing of the request is left");
}

#[tokio::test]
async fn what_the_gates_remember_is_shared_by_all_requests_of_a_process() {
    let marking = testing::policy(
        "marks",
        &[GateName::Call, GateName::Result],
        testing::Judge(|facts: &portcullis_model::Facts, subject: &Subject| {
            let mut verdict = Verdict::allow();
            if matches!(subject, Subject::Result(_)) {
                verdict.labels.push(portcullis_model::Label { name: "read:untrusted".to_owned(), segment: Some(0) });
            } else if facts.labels.iter().any(|label: &LabelFact| label.name == "read:untrusted") {
                verdict = testing::deny("marked");
            }
            Ok(testing::answer(subject, &verdict))
        }),
    );
    let (_running, mut client) = connected(setup().server("s", Scripted::with_tools(&[&tool("t")])).policy(marking));
    client.stateless("tools/call", "{}", r#""name":"mcp__s__t","#).await;
    let params = stateless_params("{}", r#""name":"mcp__s__t","#, "").replace(r#""name":"test""#, r#""name":"other""#);
    let response = client.request("tools/call", &params).await.to_json();
    assert!(response.contains("marked"), "another name does not wash a label off: {response}");
}
