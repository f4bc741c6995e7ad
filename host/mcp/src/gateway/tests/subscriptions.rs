//! Several clients that subscribe to the same resources of one server, which knows the gateway only.

use portcullis_model::json::Value;

use super::support::*;
use crate::method::{Listable, Verb};

const A: &str = r#"{"uri":"file:///a"}"#;
const UPDATED: &str = "notifications/resources/updated";

/// Counts what a server is told of subscriptions; each is answered with an empty result.
fn server(told: &std::sync::Arc<std::sync::Mutex<Vec<Verb>>>) -> Scripted {
    let told = std::sync::Arc::clone(told);
    let mut server = Scripted::with_tools(&[&tool("t")])
        .greeting(|greeting| greeting.capabilities = json(r#"{"tools":{},"resources":{"subscribe":true}}"#))
        .listing(Listable::Resources, &[r#"{"uri":"file:///a","name":"a"}"#, r#"{"uri":"file:///b","name":"b"}"#]);
    server.on_call = std::sync::Arc::new(move |_, verb, _| {
        told.lock().unwrap().push(verb);
        Box::pin(async { Ok(Ok(json("{}"))) })
    });
    server
}

type Told = std::sync::Arc<std::sync::Mutex<Vec<Verb>>>;

async fn introduced(running: &Running) -> Client {
    let mut client = running.connect();
    client.introduce("{}").await;
    client.result("resources/list", "{}").await;
    client
}

fn asked(running: &Running, method: &str) -> Vec<Value> {
    let asked = running.server("s").asked.lock().unwrap();
    asked.iter().filter(|(name, _)| *name == method).map(|(_, params)| params.clone()).collect()
}

fn update(running: &Running, uri: &str) {
    running.server("s").peer().notification(UPDATED, json(&format!(r#"{{"uri":"{uri}"}}"#)));
}

#[tokio::test]
async fn the_end_of_one_subscription_ends_no_other_and_the_last_one_ends_it_at_the_server() {
    let told = Told::default();
    let running = setup().server("s", server(&told)).run();
    let (mut first, mut second) = (introduced(&running).await, introduced(&running).await);
    first.result("resources/subscribe", A).await;
    second.result("resources/subscribe", A).await;
    assert_eq!(first.result("resources/unsubscribe", A).await.to_json(), "{}");
    assert_eq!(*told.lock().unwrap(), [Verb::Subscribe, Verb::Subscribe], "the other one wants to hear still");
    update(&running, "file:///a");
    second.expect(UPDATED).await;
    assert!(!first.hears(UPDATED).await);
    first.result("resources/unsubscribe", A).await;
    update(&running, "file:///a");
    second.expect(UPDATED).await;
    second.result("resources/unsubscribe", A).await;
    assert_eq!(told.lock().unwrap().last(), Some(&Verb::Unsubscribe));
}

#[tokio::test]
async fn a_session_that_ends_gives_up_its_subscriptions_in_either_era() {
    let told = Told::default();
    let running = setup().server("s", server(&told)).run();
    let mut first = introduced(&running).await;
    first.result("resources/subscribe", A).await;
    first.result("resources/subscribe", r#"{"uri":"file:///b"}"#).await;
    let mut listener = running.connect();
    let wanted = r#""notifications":{"resourceSubscriptions":["file:///a"]},"#;
    listener.start_stateless("subscriptions/listen", "{}", wanted).await;
    listener.expect("notifications/subscriptions/acknowledged").await;
    drop(first);
    running.wait_for("the end", |running| !asked(running, "resources/unsubscribe").is_empty()).await;
    assert_eq!(asked(&running, "resources/unsubscribe"), [json(r#"{"uri":"file:///b"}"#)], "nobody else has that one");
    update(&running, "file:///a");
    listener.expect(UPDATED).await;
    drop(listener);
    running.wait_for("the end", |running| asked(running, "resources/unsubscribe").len() == 2).await;
    assert_eq!(asked(&running, "resources/unsubscribe").last(), Some(&json(A)));
}

#[tokio::test]
async fn a_subscription_that_came_to_nothing_is_ended_at_the_server() {
    let told = Told::default();
    let gate = judging("results", portcullis_model::GateName::Result, |subject| {
        let portcullis_model::Subject::Result(result) = subject else { panic!("the result gate") };
        if result.name == "file:///b" {
            portcullis_gates::testing::deny("not-this-one")
        } else {
            portcullis_model::Verdict::allow()
        }
    });
    let running = setup().server("s", server(&told)).policy(gate).run();
    let mut client = introduced(&running).await;
    client.request("resources/subscribe", r#"{"uri":"file:///b"}"#).await;
    assert_eq!(asked(&running, "resources/unsubscribe"), [json(r#"{"uri":"file:///b"}"#)]);
    update(&running, "file:///b");
    assert!(!client.hears(UPDATED).await);
}

#[tokio::test]
async fn a_server_that_is_connected_anew_is_told_of_all_subscriptions() {
    let told = Told::default();
    let running = setup().server("s", server(&told)).run();
    let mut client = introduced(&running).await;
    client.result("resources/subscribe", A).await;
    let first = running.server("s").peer();
    first.closed("it ended".to_owned());
    let times = |told: &Told| told.lock().unwrap().iter().filter(|verb| **verb == Verb::Subscribe).count();
    running.wait_for("another connection", |_| times(&told) == 2).await;
    assert_eq!(running.server("s").calls().last().unwrap(), &format!("file:///a {A}"));
    update(&running, "file:///a");
    client.expect(UPDATED).await;
    running.reload("mcp_servers:\n  s: {command: scripted, args: [other]}\n");
    running.wait_for("the changed server", |_| times(&told) == 3).await;
    update(&running, "file:///a");
    client.expect(UPDATED).await;
}

#[tokio::test]
async fn a_subscription_passes_the_call_gate_again_before_a_server_that_is_connected_anew_hears_of_it() {
    let told = Told::default();
    let is_denied = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let denied = std::sync::Arc::clone(&is_denied);
    let gate = judging("calls", portcullis_model::GateName::Call, move |subject| {
        let portcullis_model::Subject::Call(call) = subject else { panic!("the call gate") };
        if call.name == "file:///b" && denied.load(std::sync::atomic::Ordering::SeqCst) {
            portcullis_gates::testing::deny("not-any-more")
        } else {
            portcullis_model::Verdict::allow()
        }
    });
    let running = setup().server("s", server(&told)).policy(gate).run();
    let mut client = introduced(&running).await;
    client.result("resources/subscribe", A).await;
    client.result("resources/subscribe", r#"{"uri":"file:///b"}"#).await;
    is_denied.store(true, std::sync::atomic::Ordering::SeqCst);
    running.server("s").peer().closed("it ended".to_owned());
    running.wait_for("another connection", |_| told.lock().unwrap().len() == 3).await;
    // The other one is judged by now or never told of: a reload is behind it.
    running.reload("mcp_servers:\n  s: {command: scripted, args: [other]}\n");
    running.wait_for("the changed server", |_| told.lock().unwrap().len() == 4).await;
    let calls = running.server("s").calls();
    assert_eq!(calls.iter().filter(|call| call.starts_with("file:///b")).count(), 1, "{calls:?}");
    update(&running, "file:///b");
    assert!(!client.hears(UPDATED).await, "what is denied is not told of either");
    update(&running, "file:///a");
    client.expect(UPDATED).await;
}
