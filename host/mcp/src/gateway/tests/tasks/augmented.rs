//! Tasks of 2025-11-25: requests that ask for one.

use super::*;

/// A server of 2025-11-25 whose tool becomes a task of that id where it is asked to.
pub(super) fn augmented(answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Scripted {
    let mut server = Scripted::with_tools(&[&tool("t")]).greeting(|greeting| greeting.capabilities = json(AUGMENTED));
    server.on_call = Arc::new(move |_, verb, _| {
        let result = if matches!(verb, Verb::AsTask | Verb::ThroughTask) {
            json(&format!(r#"{{"task":{}}}"#, told("own", "working", r#","ttl":60000"#).to_json()))
        } else {
            json(r#"{"content":[]}"#)
        };
        Box::pin(async move { Ok(Ok(result)) })
    });
    server.on_ask = Arc::new(move |method, params| Ok(answer(method, params)));
    server
}

const RELATED: &str = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}"#;

pub(super) fn of_2025(method: &str, _: &Value) -> Value {
    match method {
        "tasks/get" => told("own", "completed", r#","ttl":60000"#),
        "tasks/cancel" => told("own", "cancelled", r#","ttl":60000"#),
        "tasks/result" => json(&format!(r#"{{"content":[{{"type":"text","text":"done"}}],"x":1.0,{RELATED}}}"#)),
        _ => json("{}"),
    }
}

async fn augmented_task(client: &mut Client) -> String {
    let result = client.result("tools/call", r#"{"name":"mcp__s__t","arguments":{},"task":{"ttl":5}}"#).await;
    result.pointer("/task/taskId").and_then(Value::as_str).unwrap_or_else(|| panic!("{}", result.to_json())).to_owned()
}

#[tokio::test]
async fn tasks_of_2025_11_25_are_followed_listed_and_cancelled_by_who_made_them() {
    let running = setup().server("s", augmented(of_2025)).run();
    running.gateway.start(&json("{}"));
    running.gateway.settled().await;
    let (mut client, mut other) = (running.connect(), running.connect());
    let introduced = client.introduce("{}").await;
    assert_eq!(
        introduced.pointer("/capabilities/tasks").map(Value::to_json),
        Some(r#"{"requests":{"tools":{"call":{}}},"list":{},"cancel":{}}"#.to_owned())
    );
    other.introduce("{}").await;
    let id = augmented_task(&mut client).await;
    let params = format!(r#"{{"taskId":"{id}"}}"#);
    let got = client.result("tasks/get", &params).await;
    assert_eq!(got.to_json(), told(&id, "completed", r#","ttl":60000"#).to_json());
    let result = client.result("tasks/result", &params).await;
    let expected = format!(
        r#"{{"content":[{{"type":"text","text":"done"}}],"x":1.0,"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}}}"#
    );
    assert_eq!(result.to_json(), expected);
    assert_eq!(client.result("tasks/list", "{}").await.to_json(), format!(r#"{{"tasks":[{}]}}"#, got.to_json()));
    assert_eq!(other.result("tasks/list", "{}").await.to_json(), r#"{"tasks":[]}"#);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(code_of(&other.request(method, &params).await), Some(-32_602), "{method}");
        assert_eq!(code_of(&client.request(method, r#"{"taskId":"own"}"#).await), Some(-32_602), "{method}");
    }
    assert_eq!(code_of(&client.request("tasks/update", &params).await), Some(-32_601));
    let cancelled = client.result("tasks/cancel", &params).await;
    assert_eq!(cancelled.get("status").and_then(Value::as_str), Some("cancelled"));
    let at_once = client.result("tools/call", r#"{"name":"mcp__s__t"}"#).await;
    assert_eq!(at_once.to_json(), r#"{"content":[]}"#, "a client that asks for no task gets none");
}

#[tokio::test]
async fn a_list_of_tasks_has_pages() {
    let running = setup().server("s", augmented(of_2025)).run();
    running.gateway.start(&json("{}"));
    running.gateway.settled().await;
    let mut client = running.connect();
    client.introduce("{}").await;
    let mut made = Vec::new();
    for _ in 0..20 {
        made.push(augmented_task(&mut client).await);
    }
    let first = client.result("tasks/list", "{}").await;
    let cursor = first.get("nextCursor").unwrap().to_json();
    let second = client.result("tasks/list", &format!(r#"{{"cursor":{cursor}}}"#)).await;
    assert!(second.get("nextCursor").is_none());
    let listed: Vec<String> = [&first, &second].into_iter().flat_map(|page| names(page, "tasks", "taskId")).collect();
    assert_eq!(listed, made);
    assert_eq!(code_of(&client.request("tasks/list", r#"{"cursor":"x"}"#).await), Some(-32_602));
}

#[tokio::test]
async fn the_status_of_a_task_is_told_to_who_made_it_through_the_result_gate() {
    let running = setup().server("s", augmented(of_2025)).policy(without("poison")).run();
    running.gateway.start(&json("{}"));
    running.gateway.settled().await;
    let (mut client, mut other) = (running.connect(), running.connect());
    client.introduce("{}").await;
    other.introduce("{}").await;
    let id = augmented_task(&mut client).await;
    let peer = running.server("s").peer();
    peer.notification("notifications/tasks/status", told("own", "working", r#","statusMessage":"poison""#));
    peer.notification("notifications/tasks/status", told("foreign", "working", ""));
    peer.notification("notifications/tasks/status", told("own", "completed", ""));
    let heard = client.expect("notifications/tasks/status").await;
    assert_eq!(heard.get("params").unwrap().to_json(), told(&id, "completed", "").to_json());
    assert!(!other.hears("notifications/tasks/status").await);
}

#[tokio::test]
async fn what_a_server_asks_for_a_task_reaches_who_made_it_whoever_else_calls() {
    let running = setup().server("s", augmented(of_2025)).run();
    running.gateway.start(&json(r#"{"roots":{}}"#));
    running.gateway.settled().await;
    let (mut client, mut other) = (running.connect(), running.connect());
    client.introduce(r#"{"roots":{}}"#).await;
    other.introduce(r#"{"roots":{}}"#).await;
    let id = augmented_task(&mut client).await;
    augmented_task(&mut other).await;
    let peer = running.server("s").peer();
    let asking = tokio::spawn(async move { peer.request("roots/list", json(&format!("{{{RELATED}}}")), None).await });
    // The newest task of an id is the one that counts: a server that gives one out twice has told nobody apart.
    let request = other.expect("roots/list").await;
    let related = request.pointer("/params/_meta/io.modelcontextprotocol~1related-task/taskId").unwrap();
    assert!(related.as_str().is_some_and(|related| related != "own" && related != id));
    other.respond(&request, r#"{"roots":[]}"#).await;
    assert_eq!(asking.await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
    assert!(!client.hears("roots/list").await);
}
