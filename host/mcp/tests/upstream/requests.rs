//! What goes to the server, and what the server asks.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use portcullis_mcp::upstream::{CallError, CallOptions};
use portcullis_model::json::Value;

use crate::support::{Recorder, connect, connect_with, entry, options, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the_name_that_was_judged_is_sent", the_name_that_was_judged_is_sent),
        trial("a_gated_method_needs_a_cleared_call", a_gated_method_needs_a_cleared_call),
        trial("progress_comes_back_under_the_callers_token", progress_comes_back_under_the_callers_token),
        trial("progress_extends_the_time_of_a_call", progress_extends_the_time_of_a_call),
        trial("a_server_that_hangs_runs_into_the_time_limit", a_server_that_hangs_runs_into_the_time_limit),
        trial("a_call_that_is_dropped_is_cancelled_at_the_server", a_call_that_is_dropped_is_cancelled_at_the_server),
        trial("a_request_of_the_server_is_answered_during_a_call", a_request_of_the_server_is_answered_during_a_call),
        trial("the_time_stands_still_while_the_peer_answers", the_time_stands_still_while_the_peer_answers),
        trial("a_ping_is_answered_without_the_peer", a_ping_is_answered_without_the_peer),
        trial("a_malformed_request_of_the_server_is_refused", a_malformed_request_of_the_server_is_refused),
        trial("a_request_that_the_server_withdraws_is_dropped", a_request_that_the_server_withdraws_is_dropped),
        trial("a_flood_of_requests_is_refused_and_counted", a_flood_of_requests_is_refused_and_counted),
        trial("a_large_call_reaches_the_server", a_large_call_reaches_the_server),
        trial(
            "a_server_that_does_not_read_runs_into_the_time_limit",
            a_server_that_does_not_read_runs_into_the_time_limit,
        ),
    ]
}

fn within(limit: Duration) -> CallOptions {
    CallOptions { timeout: Some(limit), ..CallOptions::default() }
}

async fn the_name_that_was_judged_is_sent() {
    let server = connect("normal").await;
    let params = r#"{"name":"another","arguments":{"n":1.0},"_meta":{"progressToken":"stray","k":1}}"#;
    let result = server.call_with("params", params, CallOptions::default()).await.unwrap().unwrap();
    assert_eq!(result.to_json(), r#"{"name":"params","arguments":{"n":1.0},"_meta":{"k":1}}"#);
}

async fn a_gated_method_needs_a_cleared_call() {
    let server = connect("normal").await;
    for method in ["tools/call", "prompts/get", "resources/read", "completion/complete"] {
        assert_eq!(server.upstream.request(method, None).await, Err(CallError::Gated));
    }
    assert_eq!(server.upstream.request("ping", None).await.unwrap().unwrap().to_json(), "{}");
}

async fn progress_comes_back_under_the_callers_token() {
    let server = connect("normal").await;
    let token = Some(Value::from("client-7"));
    let options = CallOptions { progress_token: token, ..CallOptions::default() };
    let result = server.call_with("progress", "{}", options).await.unwrap().unwrap();
    assert!(result.pointer("/content/0/text").and_then(Value::as_str).unwrap().parse::<u64>().is_ok());
    let notifications = server.peer.notifications.lock().unwrap().clone();
    let expected = |number| format!(r#"{{"progressToken":"client-7","progress":{number}.0,"message":"m"}}"#);
    assert_eq!(notifications.iter().map(|(_, params)| params.clone()).collect::<Vec<_>>(), [expected(1), expected(3)]);
    assert_eq!(server.upstream.counters().unexpected, 1);
}

async fn progress_extends_the_time_of_a_call() {
    let server = connect("normal").await;
    let options = CallOptions {
        timeout: Some(Duration::from_secs(2)),
        progress_token: Some(Value::from(1_u64)),
        ..CallOptions::default()
    };
    assert!(server.call_with("slow-progress", "{}", options).await.is_ok());
}

async fn a_server_that_hangs_runs_into_the_time_limit() {
    let server = connect("normal").await;
    let limit = Duration::from_millis(300);
    let from = Instant::now();
    assert_eq!(server.call_with("hang", "{}", within(limit)).await, Err(CallError::Timeout(limit)));
    assert!(from.elapsed() >= limit);
    server.assert_alive().await;
}

async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let server = connect("normal").await;
    let limit = Duration::from_millis(100);
    assert!(tokio::time::timeout(limit, server.call("reports-cancel")).await.is_err());
    tokio::time::sleep(limit).await;
    let seen = server.result("both").await;
    assert!(seen.contains(r#""method":"notifications/cancelled""#) && seen.contains(r#""requestId":2"#), "{seen}");
}

async fn a_request_of_the_server_is_answered_during_a_call() {
    let server = connect("normal").await;
    assert_eq!(server.result("asks").await, r#"{"jsonrpc":"2.0","id":"r1","result":{"roots":[]}}"#);
    assert_eq!(*server.peer.requests.lock().unwrap(), ["roots/list"]);
}

async fn the_time_stands_still_while_the_peer_answers() {
    let peer = Recorder { delay: Duration::from_secs(4), ..Recorder::default() };
    let server = connect_with(entry("normal"), options(), peer).await.unwrap();
    assert!(server.call_with("asks", "{}", within(Duration::from_secs(3))).await.is_ok());
}

async fn a_ping_is_answered_without_the_peer() {
    let server = connect("normal").await;
    assert_eq!(server.result("pings").await, r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    assert!(server.peer.requests.lock().unwrap().is_empty());
}

async fn a_malformed_request_of_the_server_is_refused() {
    let server = connect("normal").await;
    let answer = server.result("asks-badly").await;
    assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"#), "{answer}");
}

async fn a_request_that_the_server_withdraws_is_dropped() {
    let peer = Recorder { delay: Duration::from_millis(200), ..Recorder::default() };
    let server = connect_with(entry("normal"), options(), peer).await.unwrap();
    assert_eq!(server.text("asks-and-withdraws").await, "withdrawn");
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(*server.peer.finished.lock().unwrap(), 0);
    server.assert_alive().await;
}

async fn a_flood_of_requests_is_refused_and_counted() {
    let peer = Recorder { delay: Duration::from_millis(500), ..Recorder::default() };
    let server = connect_with(entry("normal"), options(), peer).await.unwrap();
    assert_eq!(server.text("floods").await, "flooded");
    assert!(server.upstream.counters().refused >= 900, "{:?}", server.upstream.counters());
    assert!(server.peer.requests.lock().unwrap().len() <= 32);
}

async fn a_large_call_reaches_the_server() {
    let server = connect("normal").await;
    let params = format!(r#"{{"arguments":{{"text":"{}"}}}}"#, "y".repeat(3_000_000));
    let result = server.call_with("length", &params, CallOptions::default()).await.unwrap().unwrap();
    assert_eq!(result.pointer("/content/0/text").and_then(Value::as_str), Some("3000000"));
}

async fn a_server_that_does_not_read_runs_into_the_time_limit() {
    let server = connect("deaf").await;
    let params = format!(r#"{{"arguments":{{"text":"{}"}}}}"#, "y".repeat(300_000));
    let limit = Duration::from_millis(300);
    for _ in 0..2 {
        assert_eq!(server.call_with("length", &params, within(limit)).await, Err(CallError::Timeout(limit)));
    }
}
