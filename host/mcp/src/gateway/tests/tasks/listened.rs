//! Clients that listen for their tasks.

use super::*;

const TOLD: &str = "notifications/tasks";

/// What a server was told of listening for tasks, the latest last.
fn listening(running: &Running) -> Vec<String> {
    asked_of(running, "listen for a task").iter().map(Value::to_json).collect()
}

#[tokio::test]
async fn whoever_made_a_task_can_listen_for_it_and_is_told_its_state_through_the_result_gate() {
    let gate = judging("results", GateName::Result, |subject| {
        let Subject::Result(result) = subject else { panic!("the result gate") };
        let is_bad = result.segments.iter().any(|segment| segment.text == "poison");
        if is_bad { testing::deny("poison") } else { Verdict::allow() }
    });
    let running = setup().server("s", extended("own", |_, _| json("{}"))).policy(gate).run();
    ready(&running).await;
    let (mut client, mut other) = (running.connect(), running.connect());
    let id = started(&mut client, "mcp__s__t").await;
    let wanted = format!(r#""notifications":{{"taskIds":["{id}","foreign"]}},"#);
    let open = client.start_stateless("subscriptions/listen", EXTENSION, &wanted).await;
    let honoured = client.expect("notifications/subscriptions/acknowledged").await;
    let honoured = honoured.pointer("/params/notifications").unwrap().to_json();
    assert_eq!(honoured, format!(r#"{{"taskIds":["{id}"]}}"#));
    assert_eq!(listening(&running), [r#"{"taskId":"own","listens":true}"#]);
    // Nobody else hears of it, whatever id they name.
    other.start_stateless("subscriptions/listen", EXTENSION, &wanted).await;
    let honoured = other.expect("notifications/subscriptions/acknowledged").await;
    assert_eq!(honoured.pointer("/params/notifications/taskIds").unwrap().to_json(), "[]");

    let peer = running.server("s").peer();
    peer.notification(TOLD, told("own", "working", r#","statusMessage":"poison""#));
    peer.notification(TOLD, told("own", "input_required", r#","inputRequests":{"k":{"method":"roots/list"}}"#));
    let heard = client.expect(TOLD).await;
    assert_eq!(heard.pointer("/params/taskId").and_then(Value::as_str), Some(&*id));
    assert_eq!(heard.pointer("/params/status").and_then(Value::as_str), Some("input_required"));
    assert_eq!(heard.pointer("/params/x-vendor").unwrap().to_json(), "[1.50]");
    assert!(
        heard.pointer("/params/inputRequests").is_none(),
        "questions pass the request gate, where they are asked for"
    );
    let subscription = heard.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId").and_then(Value::as_u64);
    assert_eq!(subscription, Some(open));
    assert!(!other.hears(TOLD).await);

    peer.notification(TOLD, told("own", "completed", r#","result":{"content":[]}"#));
    let heard = client.expect(TOLD).await;
    assert!(heard.pointer("/params/result").is_none(), "the result is asked for, and passes the gate as one");
    assert_eq!(listening(&running).last().unwrap(), r#"{"taskId":"own","listens":false}"#);
}

#[tokio::test]
async fn a_server_that_is_connected_anew_is_listened_to_again_until_the_last_one_goes() {
    let running = setup().server("s", extended("own", |_, _| json("{}"))).run();
    ready(&running).await;
    let mut client = running.connect();
    let id = started(&mut client, "mcp__s__t").await;
    let wanted = format!(r#""notifications":{{"taskIds":["{id}"]}},"#);
    client.start_stateless("subscriptions/listen", EXTENSION, &wanted).await;
    client.expect("notifications/subscriptions/acknowledged").await;
    running.server("s").peer().closed("it ended".to_owned());
    running.wait_for("another connection", |running| listening(running).len() == 2).await;
    assert_eq!(listening(&running), [r#"{"taskId":"own","listens":true}"#; 2]);
    drop(client);
    running.wait_for("the end", |running| listening(running).len() == 3).await;
    assert_eq!(listening(&running)[2], r#"{"taskId":"own","listens":false}"#);
}

#[tokio::test]
async fn who_does_not_declare_tasks_listens_for_none() {
    let running = setup().server("s", extended("own", |_, _| json("{}"))).run();
    ready(&running).await;
    let mut client = running.connect();
    let id = started(&mut client, "mcp__s__t").await;
    let wanted = format!(r#""notifications":{{"taskIds":["{id}"]}},"#);
    client.start_stateless("subscriptions/listen", "{}", &wanted).await;
    let honoured = client.expect("notifications/subscriptions/acknowledged").await;
    assert_eq!(honoured.pointer("/params/notifications").unwrap().to_json(), "{}");
    assert!(listening(&running).is_empty());
}
