use portcullis_gates::testing;
use portcullis_model::GateName;
use portcullis_model::json::Value;

use super::support::*;
use crate::method::Listable;

const ID: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

fn server() -> Scripted {
    Scripted::with_tools(&[&tool("t")])
        .greeting(|greeting| greeting.capabilities = json(r#"{"tools":{},"resources":{"subscribe":true}}"#))
        .listing(Listable::Resources, &[r#"{"uri":"file:///a","name":"a"}"#, r#"{"uri":"file:///b","name":"b"}"#])
}

async fn listening(setup: Setup, wanted: &str) -> (Running, Client, u64, Value) {
    let running = setup.server("s", server()).run();
    let mut client = running.connect();
    client.stateless("tools/list", "{}", "").await;
    let id = client.start_stateless("subscriptions/listen", "{}", &format!(r#""notifications":{wanted},"#)).await;
    let acknowledged = client.expect("notifications/subscriptions/acknowledged").await;
    assert_eq!(acknowledged.pointer(ID).and_then(Value::as_u64), Some(id));
    let honoured = acknowledged.pointer("/params/notifications").unwrap().clone();
    (running, client, id, honoured)
}

#[tokio::test]
async fn a_request_that_listens_is_told_of_the_lists_that_it_named_under_its_id() {
    let wanted = r#"{"toolsListChanged":true,"promptsListChanged":false,"x":true}"#;
    let (running, mut client, id, honoured) = listening(setup(), wanted).await;
    assert_eq!(honoured.to_json(), r#"{"toolsListChanged":true}"#);
    running.server("s").set(Listable::Tools, &[&tool("u")]);
    running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    let changed = client.expect("notifications/tools/list_changed").await;
    assert_eq!(changed.pointer(ID).and_then(Value::as_u64), Some(id));
    running.server("s").set(Listable::Resources, &[]);
    running.server("s").peer().notification("notifications/resources/list_changed", json("{}"));
    assert!(!client.hears("notifications/resources/list_changed").await, "it did not name these");
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
        .await;
    client.stateless("server/discover", "{}", "").await;
    running.server("s").set(Listable::Tools, &[&tool("v")]);
    running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    assert!(!client.hears("notifications/tools/list_changed").await, "it was cancelled");
    assert!(running.gateway.sessions().is_empty());
}

#[tokio::test]
async fn a_resource_is_subscribed_to_through_the_call_gate_and_its_updates_pass_the_result_gate() {
    let guard = judging("guard", GateName::Call, |subject| {
        let portcullis_model::Subject::Call(call) = subject else { panic!("the call gate") };
        if call.name.ends_with('b') { testing::deny("not-this-one") } else { portcullis_model::Verdict::allow() }
    });
    let wanted = r#"{"resourceSubscriptions":["file:///a","file:///b"]}"#;
    let (running, mut client, id, honoured) = listening(setup().policy(guard), wanted).await;
    assert_eq!(honoured.to_json(), r#"{"resourceSubscriptions":["file:///a"]}"#);
    let peer = running.server("s").peer();
    peer.notification("notifications/resources/updated", json(r#"{"uri":"file:///b"}"#));
    peer.notification("notifications/resources/updated", json(r#"{"uri":"file:///a","x":1.0,"_meta":{"y":2}}"#));
    let updated = client.expect("notifications/resources/updated").await;
    assert_eq!(updated.pointer("/params/uri").and_then(Value::as_str), Some("file:///a"));
    assert_eq!(updated.pointer("/params/x").unwrap().to_json(), "1.0");
    assert_eq!(updated.pointer("/params/_meta/y").unwrap().to_json(), "2");
    assert_eq!(updated.pointer(ID).and_then(Value::as_u64), Some(id));
    drop(client);
    let unsubscribed = ("resources/unsubscribe", json(r#"{"uri":"file:///a"}"#));
    running
        .wait_for("the end of the subscription", |running| {
            running.server("s").asked.lock().unwrap().contains(&unsubscribed)
        })
        .await;
    assert_eq!(running.server("s").calls().len(), 1);
}

#[tokio::test]
async fn too_many_that_listen_and_requests_without_a_filter_are_refused() {
    let (_running, mut client, _, _) = listening(setup(), "{}").await;
    let response = client.stateless("subscriptions/listen", "{}", "").await;
    assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-32602");
    for _ in 1..16 {
        client.start_stateless("subscriptions/listen", "{}", r#""notifications":{},"#).await;
        client.expect("notifications/subscriptions/acknowledged").await;
    }
    let response = client.stateless("subscriptions/listen", "{}", r#""notifications":{},"#).await;
    assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-31004");
}

#[tokio::test]
async fn once_the_client_sends_no_more_a_request_that_listens_ends_with_its_result() {
    let (_running, mut client, id, _) = listening(setup(), r#"{"toolsListChanged":true}"#).await;
    client.finish().await;
    let response = client.answer_to(id).await;
    let result = response.get("result").unwrap().to_json();
    assert_eq!(
        result,
        format!(r#"{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#)
    );
}
