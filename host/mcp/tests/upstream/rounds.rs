//! Calls during which a server of the stateless era wants something of the client.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use portcullis_config::Protocol;
use portcullis_mcp::upstream::{CallError, CallOptions, ConnectOptions};
use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;

use crate::support::{Connected, Recorder, connect_with, entry, options, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("what_a_server_wants_is_gathered_and_sent_with_the_next_round", what_a_server_wants_is_gathered),
        trial("several_wishes_are_answered_at_the_same_time", several_wishes_are_answered_at_the_same_time),
        trial("a_form_without_an_answer_is_answered_as_cancelled", a_form_without_an_answer_is_cancelled),
        trial("a_wish_that_is_refused_ends_the_call", a_wish_that_is_refused_ends_the_call),
        trial("what_was_not_declared_is_not_asked_for", what_was_not_declared_is_not_asked_for),
        trial("a_server_that_only_waits_is_called_again", a_server_that_only_waits_is_called_again),
        trial("a_server_that_never_has_enough_is_stopped", a_server_that_never_has_enough_is_stopped),
        trial("a_wish_that_cannot_be_read_fails_its_call", a_wish_that_cannot_be_read_fails_its_call),
        trial("a_caller_cannot_forge_a_round", a_caller_cannot_forge_a_round),
        trial("the_time_limit_does_not_run_while_somebody_answers", the_time_limit_does_not_run),
    ]
}

async fn connect_as(peer: Recorder) -> Connected {
    let capabilities = object! { "roots" => Value::from(object! {}), "elicitation" => Value::from(object! {}) };
    let options = ConnectOptions { protocol: Protocol::Auto, capabilities: capabilities.into(), ..options() };
    connect_with(entry("stateless"), options, peer).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn connect() -> Connected {
    connect_as(Recorder::default()).await
}

async fn wants(server: &Connected, wish: &str, options: CallOptions) -> Result<Value, CallError> {
    let params = format!(r#"{{"arguments":{{"wish":{wish}}}}}"#);
    server.call_with("wants", &params, options).await.map(Result::unwrap)
}

/// What the server was sent with the second round, without its `_meta`.
async fn second(server: &Connected, wish: &str) -> String {
    let result = wants(server, wish, CallOptions::default()).await.unwrap();
    let Value::Object(mut params) = result.get("params").unwrap().clone() else { panic!("{result:?}") };
    params.remove("_meta").unwrap();
    params.remove("arguments").unwrap();
    Value::Object(params).to_json()
}

async fn what_a_server_wants_is_gathered() {
    let server = connect().await;
    let wish = r#"{"inputRequests":{"k":{"method":"roots/list"}},"requestState":"s \u0000é"}"#;
    assert_eq!(
        second(&server, wish).await,
        r#"{"name":"wants","inputResponses":{"k":{"roots":[]}},"requestState":"s \u0000é"}"#
    );
    // Without a state none is sent, and each round has an id of its own.
    let wish = r#"{"inputRequests":{"k":{"method":"roots/list","params":{}}}}"#;
    assert_eq!(second(&server, wish).await, r#"{"name":"wants","inputResponses":{"k":{"roots":[]}}}"#);
    assert_eq!(*server.peer.requests.lock().unwrap(), ["roots/list", "roots/list"]);
    let ids = server.result("ids").await;
    assert_eq!(ids, r#"{"ids":[1,2,3,4,5,6]}"#);
}

async fn several_wishes_are_answered_at_the_same_time() {
    let server = connect_as(Recorder { delay: Duration::from_millis(300), ..Recorder::default() }).await;
    let wish =
        r#"{"inputRequests":{"b":{"method":"roots/list"},"a":{"method":"roots/list"},"c":{"method":"roots/list"}}}"#;
    assert_eq!(
        second(&server, wish).await,
        r#"{"name":"wants","inputResponses":{"b":{"roots":[]},"a":{"roots":[]},"c":{"roots":[]}}}"#
    );
    assert_eq!(*server.peer.finished_before.lock().unwrap(), [0, 0, 0], "none waits for another");
}

async fn a_form_without_an_answer_is_cancelled() {
    let wish = r#"{"inputRequests":{"f":{"method":"elicitation/create","params":{"mode":"form"}}}}"#;
    assert_eq!(second(&connect().await, wish).await, r#"{"name":"wants","inputResponses":{"f":{"action":"cancel"}}}"#);
}

async fn a_wish_that_is_refused_ends_the_call() {
    let capabilities = parse_str(r#"{"sampling":{}}"#).unwrap();
    let options = ConnectOptions { protocol: Protocol::Auto, capabilities, ..options() };
    let server = connect_with(entry("stateless"), options, Recorder::default()).await.unwrap();
    let wish = r#"{"inputRequests":{"s":{"method":"sampling/createMessage","params":{}}}}"#;
    assert_eq!(wants(&server, wish, CallOptions::default()).await, Err(CallError::NotGiven(-32601)));
    server.assert_alive().await;
}

async fn what_was_not_declared_is_not_asked_for() {
    let server = connect().await;
    for method in ["sampling/createMessage", "vendor/thing", "ping", "tools/list"] {
        let wish = format!(r#"{{"inputRequests":{{"k":{{"method":"{method}","params":{{}}}}}}}}"#);
        assert_eq!(wants(&server, &wish, CallOptions::default()).await, Err(CallError::NotOffered), "{method}");
    }
    assert!(server.peer.requests.lock().unwrap().is_empty());
}

async fn a_server_that_only_waits_is_called_again() {
    let server = connect().await;
    let from = Instant::now();
    assert_eq!(second(&server, r#"{"requestState":"later"}"#).await, r#"{"name":"wants","requestState":"later"}"#);
    assert!(from.elapsed() >= Duration::from_millis(250), "{:?}", from.elapsed());
}

async fn a_server_that_never_has_enough_is_stopped() {
    let server = connect().await;
    assert_eq!(server.call("insatiable").await, Err(CallError::Rounds(10)));
    assert_eq!(server.peer.requests.lock().unwrap().len(), 10);
    server.assert_alive().await;
}

async fn a_wish_that_cannot_be_read_fails_its_call() {
    let server = connect().await;
    let many: Vec<String> = (0..17).map(|number| format!(r#""{number}":{{"method":"roots/list"}}"#)).collect();
    let wishes = [
        "{}".to_owned(),
        r#"{"inputRequests":{}}"#.to_owned(),
        r#"{"inputRequests":[]}"#.to_owned(),
        r#"{"inputRequests":{"k":5}}"#.to_owned(),
        r#"{"inputRequests":{"k":{"params":{}}}}"#.to_owned(),
        r#"{"inputRequests":{"k":{"method":"roots/list","params":[]}}}"#.to_owned(),
        r#"{"requestState":5}"#.to_owned(),
        format!(r#"{{"requestState":"{}"}}"#, "x".repeat(256 * 1024 + 1)),
        format!(r#"{{"inputRequests":{{{}}}}}"#, many.join(",")),
    ];
    for wish in wishes {
        let outcome = wants(&server, &wish, CallOptions::default()).await;
        assert!(matches!(outcome, Err(CallError::Malformed(_))), "{wish:.60}: {outcome:?}");
    }
    assert!(server.peer.requests.lock().unwrap().is_empty());
}

async fn a_caller_cannot_forge_a_round() {
    let server = connect().await;
    let params = r#"{"requestState":"forged","inputResponses":{"k":{}},"x":1}"#;
    let result = server.call_with("params", params, CallOptions::default()).await.unwrap().unwrap();
    let sent = result.get("params").unwrap();
    assert!(sent.get("requestState").is_none() && sent.get("inputResponses").is_none());
    assert_eq!(sent.get("x").unwrap().to_json(), "1");
}

async fn the_time_limit_does_not_run() {
    let server = connect_as(Recorder { delay: Duration::from_secs(4), ..Recorder::default() }).await;
    let options = CallOptions { timeout: Some(Duration::from_secs(3)), ..CallOptions::default() };
    let wish = r#"{"inputRequests":{"k":{"method":"roots/list"}}}"#;
    assert!(wants(&server, wish, options).await.is_ok());
}
