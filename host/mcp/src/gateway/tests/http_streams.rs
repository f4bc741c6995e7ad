//! What precedes an answer, what belongs to none, and what a client gets that comes back.

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::testing;
use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, GateName};
use tokio::sync::Notify;

use super::http::{Client, Incoming, Open};
use super::support::*;
use crate::HttpOptions;

/// A server whose tools wait to be released, and tell of progress before: `slow` once, `chatty` twice.
fn server(release: &Arc<Notify>) -> Scripted {
    let release = Arc::clone(release);
    let mut server = Scripted::with_tools(&[&tool("slow"), &tool("chatty"), &tool("quick")])
        .greeting(|greeting| greeting.capabilities = json(r#"{"tools":{},"logging":{}}"#));
    server.on_call = Arc::new(move |call, _, progress| {
        let release = Arc::clone(&release);
        Box::pin(async move {
            let rounds = match call.name.as_str() {
                "slow" => 1,
                "chatty" => 2,
                _ => 0,
            };
            for round in 1..=rounds {
                if let Some(progress) = &progress {
                    progress(json(&format!(r#"{{"progress":{round}}}"#)));
                }
                release.notified().await;
            }
            Ok(Ok(json(&format!(r#"{{"content":[],"name":"{}"}}"#, call.name))))
        })
    });
    server
}

async fn open(options: HttpOptions) -> (Open, Arc<Notify>) {
    let release = Arc::new(Notify::new());
    let running = setup().server("s", server(&release)).run();
    (Open::new(running, options).await, release)
}

async fn answer_of(stream: &mut Incoming, id: u64) -> Value {
    loop {
        let event = stream.event().await.expect("the answer comes before the end");
        if !event.data.is_empty() && event.json().get("id").and_then(Value::as_u64) == Some(id) {
            return event.json();
        }
    }
}

async fn listed(client: &Client<'_>) {
    assert_eq!(client.ask(900, "tools/list", "{}").whole().await.status, 200);
}

#[tokio::test]
async fn what_precedes_an_answer_makes_it_a_stream() {
    let (door, release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut stream = client.call_with_token(1, "mcp__s__chatty").send().await;
    assert_eq!((stream.status, stream.header("content-type")), (200, "text/event-stream"));
    assert_eq!((stream.header("cache-control"), stream.header("x-accel-buffering")), ("no-store", "no"));
    let primed = stream.event().await.unwrap();
    assert_eq!((primed.data.as_str(), primed.retry), ("", Some(1_000)));
    let first = primed.id.unwrap();
    let progress = stream.event().await.unwrap();
    assert_eq!(progress.method(), "notifications/progress");
    assert_eq!(progress.json().pointer("/params/progressToken").unwrap().as_str(), Some("p1"));
    assert_ne!(progress.id.unwrap(), first);
    release.notify_one();
    assert_eq!(stream.event().await.unwrap().method(), "notifications/progress");
    release.notify_one();
    let answer = stream.event().await.unwrap().json();
    assert_eq!(answer.pointer("/result/name").unwrap().as_str(), Some("chatty"));
    assert!(stream.event().await.is_none(), "the answer is the end of the stream");
}

#[tokio::test]
async fn an_older_client_gets_no_event_without_a_message() {
    let (door, release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-06-18", "{}").await;
    listed(&client).await;
    let mut stream = client.call_with_token(1, "mcp__s__slow").send().await;
    let progress = stream.event().await.unwrap();
    assert_eq!((progress.method().as_str(), progress.retry), ("notifications/progress", None));
    release.notify_one();
    assert!(stream.event().await.unwrap().json().get("result").is_some());
}

#[tokio::test]
async fn a_call_that_takes_long_becomes_a_stream_that_shows_signs_of_life() {
    let patience = Duration::from_millis(50);
    let (door, release) = open(HttpOptions { patience, keep_alive: patience, ..HttpOptions::default() }).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut stream = client.call(1, "mcp__s__slow").send().await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    assert!(stream.block().await.unwrap().starts_with("id: "));
    for _ in 0..3 {
        assert_eq!(stream.block().await.unwrap(), ":");
    }
    release.notify_one();
    assert!(answer_of(&mut stream, 1).await.get("result").is_some());
}

#[tokio::test]
async fn two_calls_of_a_session_keep_to_their_own_streams() {
    let (door, release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut one = client.call_with_token(1, "mcp__s__slow").send().await;
    let mut other = client.call_with_token(2, "mcp__s__slow").send().await;
    for (stream, token) in [(&mut one, "p1"), (&mut other, "p2")] {
        stream.event().await.unwrap();
        let progress = stream.event().await.unwrap().json();
        assert_eq!(progress.pointer("/params/progressToken").unwrap().as_str(), Some(token));
    }
    release.notify_one();
    release.notify_one();
    assert_eq!(one.event().await.unwrap().json().get("id").unwrap().as_u64(), Some(1));
    assert_eq!(other.event().await.unwrap().json().get("id").unwrap().as_u64(), Some(2));
    assert!(one.event().await.is_none() && other.event().await.is_none());
}

#[tokio::test]
async fn a_client_that_comes_back_gets_what_it_missed_and_nothing_twice() {
    let (door, release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut stream = client.call_with_token(1, "mcp__s__chatty").send().await;
    stream.event().await.unwrap();
    let first = stream.event().await.unwrap().id.unwrap();
    drop(stream);
    // The call goes on: a connection that broke is no wish to cancel.
    release.notify_one();
    release.notify_one();
    let mut again = client.resume(&first).await;
    assert_eq!((again.status, again.header("content-type")), (200, "text/event-stream"));
    let missed = again.event().await.unwrap();
    assert_eq!(missed.json().pointer("/params/progress").unwrap().as_u64(), Some(2));
    assert_eq!(again.event().await.unwrap().json().get("id").unwrap().as_u64(), Some(1));
    assert!(again.event().await.is_none());
    // From further on, what is left; of a stream that is not there, nothing.
    let mut third = client.resume(&missed.id.unwrap()).await;
    assert!(third.event().await.unwrap().json().get("result").is_some());
    for unknown in ["p999.0", "l1", "", "x1.1", "p1.99999999999999999999999"] {
        assert_eq!(client.resume(unknown).await.status, 400, "{unknown}");
    }
    let stranger = door.introduce("2025-11-25", "{}").await;
    assert_eq!(stranger.resume(&first).await.status, 400, "streams belong to their session");
}

#[tokio::test]
async fn a_stream_has_one_reader_and_the_latest_one_counts() {
    let (door, release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut old = client.call_with_token(1, "mcp__s__slow").send().await;
    let primed = old.event().await.unwrap().id.unwrap();
    let mut new = client.resume(&primed).await;
    assert_eq!(new.event().await.unwrap().method(), "notifications/progress");
    old.event().await;
    assert!(old.event().await.is_none(), "the old one lost its place");
    release.notify_one();
    assert!(new.event().await.unwrap().json().get("result").is_some());
}

#[tokio::test]
async fn changed_lists_are_told_to_whoever_listens_once() {
    let (door, _release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let (mut first, mut second) = (client.listen().await, client.listen().await);
    assert_eq!(first.event().await.unwrap().data, "");
    assert_eq!(second.event().await.unwrap().data, "");
    let server = door.running.server("s");
    server.set(crate::method::Listable::Tools, &[&tool("fresh")]);
    server.peer().notification("notifications/tools/list_changed", json("{}"));
    assert_eq!(second.event().await.unwrap().method(), "notifications/tools/list_changed");
    assert!(first.is_silent().await, "a message goes on one stream only");
}

#[tokio::test]
async fn what_happened_before_a_client_listens_waits_for_it() {
    let (door, _release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let server = door.running.server("s");
    server.set(crate::method::Listable::Tools, &[&tool("fresh")]);
    server.peer().notification("notifications/tools/list_changed", json("{}"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut listening = client.listen().await;
    listening.event().await.unwrap();
    let changed = listening.event().await.unwrap();
    assert_eq!(changed.method(), "notifications/tools/list_changed");
    drop(listening);
    // It comes back to the stream: nothing is told again.
    let mut again = client.resume(&changed.id.unwrap()).await;
    assert!(again.is_silent().await);
}

#[tokio::test]
async fn a_server_asks_the_client_on_the_stream_of_the_call_that_it_is_about() {
    let (door, release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", r#"{"roots":{}}"#).await;
    listed(&client).await;
    let mut listening = client.listen().await;
    listening.event().await.unwrap();
    let peer = door.running.server("s").peer();
    let asking = |peer: &Arc<crate::gateway::ServerPeer>| {
        let peer = Arc::clone(peer);
        tokio::spawn(async move { peer.request("roots/list", json("{}"), None).await })
    };
    let call = client.call(1, "mcp__s__slow");
    let (mut stream, asked) = tokio::join!(call.send(), async {
        door.running.wait_for("the call runs", |running| running.server("s").calls().len() == 1).await;
        Some(asking(&peer))
    });
    stream.event().await.unwrap();
    let request = stream.event().await.unwrap().json();
    assert_eq!(request.get("method").unwrap().as_str(), Some("roots/list"));
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, request.get("id").unwrap().to_json());
    assert_eq!(client.post(&answer).whole().await.status, 202);
    assert_eq!(asked.unwrap().await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
    // What a server logs during a call goes with it, too.
    peer.notification("notifications/message", json(r#"{"level":"error","data":"x"}"#));
    assert_eq!(stream.event().await.unwrap().method(), "notifications/message");
    assert!(listening.is_silent().await);
    release.notify_one();
    assert!(answer_of(&mut stream, 1).await.get("result").is_some());
    // Between calls, where the client listens.
    let asked = asking(&peer);
    let request = listening.event().await.unwrap().json();
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, request.get("id").unwrap().to_json());
    assert_eq!(client.post(&answer).whole().await.status, 202);
    assert!(asked.await.unwrap().is_ok());
}

#[tokio::test]
async fn what_a_server_says_on_the_stream_of_one_call_goes_with_that_call_and_not_with_the_newest() {
    let (door, _release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    let other = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut listening = other.listen().await;
    listening.event().await.unwrap();
    let mut streams = Vec::new();
    for id in [1, 2] {
        let mut stream = client.call_with_token(id, "mcp__s__slow").send().await;
        stream.event().await.unwrap();
        assert_eq!(stream.event().await.unwrap().method(), "notifications/progress");
        streams.push(stream);
    }
    let server = door.running.server("s");
    let callers = server.callers.lock().unwrap().clone();
    for (stream, caller) in streams.iter_mut().zip(callers) {
        let line = format!(r#"{{"level":"error","data":{}}}"#, caller.call);
        server.peer().notification_of(caller, "notifications/message", json(&line));
        let told = stream.event().await.unwrap().json();
        assert_eq!(told.get("params").unwrap().to_json(), line);
    }
    assert!(listening.is_silent().await, "another client hears nothing of it");
}

#[tokio::test]
async fn a_call_that_the_client_cancels_ends_its_stream_without_an_answer() {
    let (door, _release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let cancel = |id| {
        client.post(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
    };
    let mut stream = client.call_with_token(1, "mcp__s__slow").send().await;
    stream.event().await.unwrap();
    stream.event().await.unwrap();
    assert_eq!(cancel(1).whole().await.status, 202);
    assert!(stream.event().await.is_none());
    let call = client.call(2, "mcp__s__slow");
    let (answer, ()) = tokio::join!(call.whole(), async {
        door.running.wait_for("the call runs", |running| running.server("s").calls().len() == 2).await;
        cancel(2).whole().await;
    });
    assert_eq!((answer.status, answer.body.len()), (202, 0));
}

#[tokio::test]
async fn a_session_that_is_deleted_cancels_what_runs_and_ends_its_streams() {
    let (door, _release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut listening = client.listen().await;
    let mut stream = client.call_with_token(1, "mcp__s__slow").send().await;
    stream.event().await.unwrap();
    stream.event().await.unwrap();
    listening.event().await.unwrap();
    assert_eq!(client.request("DELETE").whole().await.status, 204);
    assert!(stream.event().await.is_none() && listening.event().await.is_none());
    assert!(door.running.gateway.sessions().is_empty());
}

#[tokio::test]
async fn closing_the_door_ends_every_stream_in_good_order() {
    let (door, _release) = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    listed(&client).await;
    let mut listening = client.listen().await;
    listening.event().await.unwrap();
    door.close().await;
    assert!(listening.event().await.is_none());
}

#[tokio::test]
async fn a_question_about_a_call_goes_the_way_of_that_call() {
    let ask = judging("trust", GateName::Call, |_| testing::ask("write-capable", ApproverClass::Client));
    let running = setup().server("s", Scripted::with_tools(&[&tool("t")])).policy(ask).run();
    let door = Open::new(running, HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", r#"{"elicitation":{}}"#).await;
    listed(&client).await;
    let mut listening = client.listen().await;
    listening.event().await.unwrap();
    let mut stream = client.call(1, "mcp__s__t").send().await;
    stream.event().await.unwrap();
    let form = stream.event().await.unwrap();
    assert_eq!(form.method(), "elicitation/create");
    assert!(door.running.server("s").calls().is_empty(), "nothing is sent before the answer");
    let approval = r#"{"action":"accept","content":{"decision":"approve once","name":"t"}}"#;
    let id = form.json().get("id").unwrap().to_json();
    let answer = client.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{approval}}}"#)).whole().await;
    assert_eq!(answer.status, 202);
    assert!(answer_of(&mut stream, 1).await.get("result").is_some());
    assert_eq!(door.running.server("s").calls().len(), 1);
    assert!(listening.is_silent().await);
}
