//! Which era is spoken over two pipes, and how the stateless one is.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use portcullis_config::Protocol;
use portcullis_mcp::jsonrpc::MalformedReason;
use portcullis_mcp::transport::stdio::Ending;
use portcullis_mcp::upstream::{
    CallError, CallOptions, CloseReason, ConnectError, ConnectFailure, ConnectOptions, Eras, ListMethod,
};
use portcullis_model::json::{Value, parse_str};
use portcullis_model::{Era, object};

use crate::support::{Connected, Recorder, connect_with, entry, options, trial, until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_of_the_stateless_era_is_recognized", a_server_of_the_stateless_era_is_recognized),
        trial("a_server_without_the_era_is_initialized_at_once", a_server_without_the_era_is_initialized_at_once),
        trial("a_refusal_within_the_era_is_no_reason_to_go_back", a_refusal_within_the_era_is_no_reason_to_go_back),
        trial("a_server_that_lists_what_it_refused_is_asked_once_more", a_server_that_lists_what_it_refused),
        trial("a_server_that_offers_an_earlier_version_is_initialized", a_server_that_offers_an_earlier_version),
        trial("a_server_that_dies_of_the_question_is_started_again", a_server_that_dies_of_the_question),
        trial("a_server_that_ignores_the_question_is_initialized", a_server_that_ignores_the_question_is_initialized),
        trial("a_server_that_answers_late_is_still_spoken_to", a_server_that_answers_late_is_still_spoken_to),
        trial("the_config_decides_the_era", the_config_decides_the_era),
        trial("what_is_known_of_a_server_spares_the_question", what_is_known_of_a_server_spares_the_question),
        trial("what_is_known_is_forgotten_by_a_failure", what_is_known_is_forgotten_by_a_failure),
        trial("every_request_says_who_asks", every_request_says_who_asks),
        trial("the_log_level_is_said_with_every_request", the_log_level_is_said_with_every_request),
        trial("only_complete_results_are_taken", only_complete_results_are_taken),
        trial("what_the_era_does_not_have_is_not_sent", what_the_era_does_not_have_is_not_sent),
        trial("a_server_that_leaves_the_era_is_connected_anew", a_server_that_leaves_the_era_is_connected_anew),
        trial("a_request_of_the_server_is_not_answered", a_request_of_the_server_is_not_answered),
        trial("progress_and_cancellation_work", progress_and_cancellation_work),
        trial("members_of_the_era_do_not_reach_an_earlier_server", members_of_the_era_do_not_reach_an_earlier_server),
    ]
}

fn with(protocol: Protocol) -> ConnectOptions {
    ConnectOptions {
        protocol,
        capabilities: object! { "roots" => Value::from(object! {}) }.into(),
        client_info: object! { "name" => "tester", "version" => "1" }.into(),
        connect_timeout: Duration::from_secs(12),
        ..options()
    }
}

async fn try_connect(mode: &str, options: ConnectOptions) -> Result<Connected, ConnectError> {
    connect_with(entry(mode), options, Recorder::default()).await
}

async fn connect(mode: &str) -> Connected {
    try_connect(mode, with(Protocol::Auto)).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn failure(mode: &str) -> ConnectFailure {
    try_connect(mode, with(Protocol::Auto)).await.err().unwrap().failure
}

/// Returns the methods that the server was sent, once there are so many.
async fn methods(server: &Connected, count: usize) -> Vec<String> {
    until("the methods", || server.peer.stderr.lock().unwrap().len() >= count).await;
    server.peer.stderr.lock().unwrap().iter().map(|line| line.trim_start_matches("got ").to_owned()).collect()
}

async fn a_server_of_the_stateless_era_is_recognized() {
    let server = connect("stateless").await;
    let hello = server.upstream.hello();
    assert_eq!((hello.era, hello.protocol_version.as_str()), (Era::Stateless, "2026-07-28"));
    assert_eq!(hello.instructions(), Some("be brief"));
    assert_eq!(hello.server_info().unwrap().to_json(), r#"{"name":"new","version":"2"}"#);
    assert!(hello.capability("tools").is_some());
    assert_eq!(server.upstream.list(ListMethod::Tools).await.unwrap().items.len(), 1);
    assert_eq!(methods(&server, 2).await, ["server/discover", "tools/list"]);
}

async fn a_server_without_the_era_is_initialized_at_once() {
    let server = connect("normal").await;
    assert_eq!(server.upstream.hello().era, Era::Initialize);
    server.assert_alive().await;
}

async fn a_refusal_within_the_era_is_no_reason_to_go_back() {
    assert!(matches!(failure("stateless-picky").await, ConnectFailure::Refused(error) if error.code() == -32021));
    assert!(matches!(failure("stateless-other").await, ConnectFailure::Refused(error) if error.code() == -32022));
}

async fn a_server_that_lists_what_it_refused() {
    let server = connect("hesitant").await;
    assert_eq!(server.upstream.hello().era, Era::Stateless);
    assert_eq!(methods(&server, 2).await, ["server/discover", "server/discover"]);
}

async fn a_server_that_offers_an_earlier_version() {
    assert_eq!(connect("both-eras").await.upstream.hello().protocol_version, "2025-11-25");
}

async fn a_server_that_dies_of_the_question() {
    let server = connect("touchy").await;
    assert_eq!(server.upstream.hello().era, Era::Initialize);
    assert_eq!(methods(&server, 3).await, ["server/discover", "initialize", "notifications/initialized"]);
    // The end of the first one is no end of the connection.
    assert_eq!(*server.peer.closed.lock().unwrap(), []);
    server.assert_alive().await;
}

async fn a_server_that_ignores_the_question_is_initialized() {
    let options = ConnectOptions { connect_timeout: Duration::from_millis(1500), ..with(Protocol::Auto) };
    let server = try_connect("ignores", options).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(methods(&server, 3).await, ["server/discover", "initialize", "notifications/initialized"]);
    server.assert_alive().await;
}

async fn a_server_that_answers_late_is_still_spoken_to() {
    let options = ConnectOptions { connect_timeout: Duration::from_secs(3), ..with(Protocol::Auto) };
    let server = try_connect("sluggish", options).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(server.upstream.hello().era, Era::Stateless);
    assert_eq!(methods(&server, 2).await, ["server/discover", "initialize"]);
    server.assert_alive().await;
}

async fn the_config_decides_the_era() {
    let legacy = try_connect("both-eras", with(Protocol::Legacy)).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(methods(&legacy, 2).await, ["initialize", "notifications/initialized"]);
    let error = try_connect("stateless", with(Protocol::Legacy)).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Refused(error) if error.code() == -32601));
    let refused = try_connect("normal", with(Protocol::Stateless)).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(refused.upstream.hello().era, Era::Initialize);
    let error = try_connect("touchy", with(Protocol::Stateless)).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Handshake(CallError::Closed(CloseReason::Ended(Ending::Code(7))))));
}

async fn what_is_known_of_a_server_spares_the_question() {
    let eras = Arc::<Eras>::default();
    for expected in [3, 2] {
        let options = ConnectOptions { eras: Arc::clone(&eras), ..with(Protocol::Auto) };
        let server = try_connect("both-eras", options).await.unwrap_or_else(|error| panic!("{error:?}"));
        let methods = methods(&server, expected).await;
        assert_eq!(methods.len(), expected, "{methods:?}");
    }
}

async fn what_is_known_is_forgotten_by_a_failure() {
    let eras = Arc::<Eras>::default();
    let options = || ConnectOptions { eras: Arc::clone(&eras), ..with(Protocol::Auto) };
    let refused = ConnectOptions { protocol: Protocol::Legacy, ..options() };
    let first = try_connect("both-eras", options()).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(methods(&first, 3).await.len(), 3);
    // The same command, which can't be started for want of a supervisor.
    let broken = ConnectOptions {
        launcher: Some(portcullis_supervisor::Launcher { program: "/nowhere".into(), arguments: Vec::new() }),
        ..refused
    };
    assert!(try_connect("both-eras", broken).await.is_err());
    let again = try_connect("both-eras", options()).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(methods(&again, 3).await[0], "server/discover");
}

async fn sent(server: &Connected, params: &str) -> String {
    let result = server.call_with("params", params, CallOptions::default()).await.unwrap().unwrap();
    assert_eq!(result.get("resultType").and_then(Value::as_str), Some("complete"));
    result.get("params").unwrap().to_json()
}

const OWN_META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"}"#;

async fn every_request_says_who_asks() {
    let server = connect("stateless").await;
    assert_eq!(
        sent(&server, r#"{"arguments":{"n":1.0}}"#).await,
        format!(r#"{{"arguments":{{"n":1.0}},"name":"params","_meta":{{{OWN_META}}}}}"#)
    );
    // What others put there stays, but for what the gateway says itself.
    let params = r#"{"_meta":{"traceparent":"00-1","progressToken":"x","io.modelcontextprotocol/clientInfo":{"name":"liar"}},"name":"other"}"#;
    assert_eq!(
        sent(&server, params).await,
        format!(r#"{{"_meta":{{"traceparent":"00-1",{OWN_META}}},"name":"params"}}"#)
    );
    assert_eq!(sent(&server, r#"{"_meta":null}"#).await, format!(r#"{{"_meta":{{{OWN_META}}},"name":"params"}}"#));
}

async fn the_log_level_is_said_with_every_request() {
    let server = connect("stateless").await;
    let level = parse_str(r#"{"level":"warning"}"#).unwrap();
    assert_eq!(server.upstream.request("logging/setLevel", Some(&level)).await.unwrap().unwrap().to_json(), "{}");
    let key = r#""io.modelcontextprotocol/logLevel""#;
    assert_eq!(sent(&server, "{}").await, format!(r#"{{"name":"params","_meta":{{{key}:"warning",{OWN_META}}}}}"#));
    // Whoever wishes another one for one request has it.
    let params = format!(r#"{{"_meta":{{{key}:"debug"}}}}"#);
    assert_eq!(sent(&server, &params).await, format!(r#"{{"_meta":{{{key}:"debug",{OWN_META}}},"name":"params"}}"#));
    assert!(!methods(&server, 3).await.contains(&"logging/setLevel".to_owned()));
}

async fn only_complete_results_are_taken() {
    let server = connect("stateless").await;
    assert_eq!(server.result("untyped").await, r#"{"ok":1.0}"#);
    for tool in ["odd-type", "no-type"] {
        let error = server.call(tool).await.unwrap_err();
        assert!(matches!(error, CallError::Malformed(MalformedReason::Envelope(_))), "{tool}: {error:?}");
    }
    server.assert_alive().await;
}

async fn what_the_era_does_not_have_is_not_sent() {
    let server = connect("stateless").await;
    server.upstream.notify("notifications/roots/list_changed", None).await.unwrap();
    let alive = server.upstream.request("ping", None).await.unwrap().unwrap();
    assert!(alive.get("supportedVersions").is_some());
    assert_eq!(methods(&server, 2).await, ["server/discover", "server/discover"]);
}

async fn a_server_that_leaves_the_era_is_connected_anew() {
    let server = connect("stateless-once").await;
    server.assert_alive().await;
    assert_eq!(server.upstream.request("ping", None).await.unwrap().unwrap_err().code(), -32601);
    assert_eq!(server.upstream.closed(), Some(CloseReason::EraEnded));
    assert_eq!(*server.peer.closed.lock().unwrap(), [CloseReason::EraEnded]);
    let lasting = connect("stateless").await;
    lasting.upstream.request("ping", None).await.unwrap().unwrap();
    assert_eq!(lasting.upstream.closed(), None);
}

async fn a_request_of_the_server_is_not_answered() {
    let server = connect("stateless").await;
    assert_eq!(server.result("asks").await, r#"{"asked":true}"#);
    server.assert_alive().await;
    assert!(!methods(&server, 3).await.contains(&"an answer".to_owned()));
    let counters = server.upstream.counters();
    assert_eq!((counters.refused, counters.malformed), (2, 1));
    assert!(server.peer.requests.lock().unwrap().is_empty());
}

async fn progress_and_cancellation_work() {
    let server = connect("stateless").await;
    let options = CallOptions { progress_token: Some(Value::from("mine")), ..CallOptions::default() };
    assert!(server.call_with("progress", "{}", options).await.unwrap().is_ok());
    let notifications = server.peer.notifications.lock().unwrap().clone();
    assert_eq!(notifications[0].1, r#"{"progressToken":"mine","progress":1}"#);
    let limit = Duration::from_millis(100);
    assert!(tokio::time::timeout(limit, server.call("hang")).await.is_err());
    assert_eq!(methods(&server, 4).await[3], "notifications/cancelled");
}

async fn members_of_the_era_do_not_reach_an_earlier_server() {
    let server = connect("both-eras").await;
    let params = format!(r#"{{"_meta":{{"k":1,{OWN_META},"io.modelcontextprotocol/logLevel":"debug"}}}}"#);
    assert_eq!(sent(&server, &params).await, r#"{"_meta":{"k":1},"name":"params"}"#);
}
