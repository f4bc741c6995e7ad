//! Which era is spoken over HTTP, and how the stateless one is.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use portcullis_config::Protocol;
use portcullis_mcp::transport::http::{HttpFailure, HttpSetupError};
use portcullis_mcp::upstream::{
    CallError, CallOptions, ConnectError, ConnectFailure, ConnectOptions, Eras, ListMethod,
};
use portcullis_model::{Era, Launch, Secret, ServerEntry};

use crate::http_server::HttpServer;
use crate::support::{Connected, Recorder, connect_with, options, stdio_entry, trial, until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_stateless_endpoint_is_recognized_by_its_first_answer", a_stateless_endpoint_is_recognized),
        trial("an_endpoint_of_the_earlier_era_is_initialized", an_endpoint_of_the_earlier_era_is_initialized),
        trial("a_refusal_of_the_era_over_http_is_final", a_refusal_of_the_era_over_http_is_final),
        trial("missing_credentials_are_reported_after_one_request", missing_credentials_are_reported),
        trial("a_known_endpoint_is_not_asked_again", a_known_endpoint_is_not_asked_again),
        trial("headers_repeat_what_the_body_says", headers_repeat_what_the_body_says),
        trial("a_tool_with_unusable_annotations_is_left_out", a_tool_with_unusable_annotations_is_left_out),
        trial("a_mismatch_has_the_tools_listed_again", a_mismatch_has_the_tools_listed_again),
        trial("a_stateless_answer_comes_as_json_or_events", a_stateless_answer_comes_as_json_or_events),
        trial("a_stateless_stream_is_not_resumed", a_stateless_stream_is_not_resumed),
        trial("a_call_that_is_dropped_closes_its_stream", a_call_that_is_dropped_closes_its_stream),
        trial("an_entry_cannot_set_headers_of_arguments", an_entry_cannot_set_headers_of_arguments),
    ]
}

fn entry(url: &str, headers: &[(&str, &str)]) -> ServerEntry {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
    let launch = Launch::Http { url: url.to_owned(), headers, legacy_sse: false };
    ServerEntry { launch, ..stdio_entry("", &[]) }
}

fn auto() -> ConnectOptions {
    ConnectOptions { protocol: Protocol::Auto, ..options() }
}

async fn try_connect(server: &HttpServer, path: &str, options: ConnectOptions) -> Result<Connected, ConnectError> {
    // What a session id or a version of the entry would do to a stateless request.
    let headers = [("Mcp-Session-Id", "of-the-entry"), ("MCP-Protocol-Version", "2025-03-26")];
    connect_with(entry(&server.url(path), &headers), options, Recorder::default()).await
}

async fn connect(path: &str) -> (HttpServer, Connected) {
    let server = HttpServer::start().await;
    let connected = try_connect(&server, path, auto()).await.unwrap_or_else(|error| panic!("{error:?}"));
    (server, connected)
}

fn methods(server: &HttpServer) -> Vec<String> {
    let method = |body: &str| {
        let message = portcullis_model::json::parse_str(body).unwrap();
        message.get("method").and_then(portcullis_model::json::Value::as_str).unwrap_or("an answer").to_owned()
    };
    server.seen("POST").iter().map(|seen| method(&seen.body)).collect()
}

async fn a_stateless_endpoint_is_recognized() {
    let (server, connected) = connect("/stateless").await;
    assert_eq!(connected.upstream.hello().era, Era::Stateless);
    assert_eq!(connected.result("json").await, r#"{"resultType":"complete","n":1.0}"#);
    connected.upstream.shutdown().await;
    assert_eq!(methods(&server), ["server/discover", "tools/call"]);
    assert!(server.seen("GET").is_empty() && server.seen("DELETE").is_empty());
}

async fn an_endpoint_of_the_earlier_era_is_initialized() {
    for path in ["/mcp", "/strict", "/terse"] {
        let (server, connected) = connect(path).await;
        assert_eq!(connected.upstream.hello().era, Era::Initialize, "{path}");
        assert_eq!(connected.result("json").await, r#"{"n":1.0}"#, "{path}");
        let expected = ["server/discover", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(methods(&server), expected, "{path}");
        let posts = server.seen("POST");
        assert_eq!(posts[0].headers["mcp-protocol-version"], "2026-07-28", "{path}");
        assert_eq!(posts[3].headers["mcp-protocol-version"], "2025-06-18", "{path}");
        assert_eq!(posts[3].headers["mcp-session-id"], "session-1", "{path}");
        assert!(!posts[3].headers.contains_key("mcp-method"), "{path}");
    }
}

async fn a_refusal_of_the_era_over_http_is_final() {
    let server = HttpServer::start().await;
    let error = try_connect(&server, "/stateless-other", auto()).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Refused(error) if error.code() == -32022));
    assert_eq!(methods(&server), ["server/discover"]);
}

async fn missing_credentials_are_reported() {
    let server = HttpServer::start().await;
    let error = try_connect(&server, "/locked", auto()).await.err().unwrap();
    let ConnectFailure::Handshake(CallError::Http(HttpFailure::Unauthorized { status: 401, .. })) = error.failure
    else {
        panic!("{error:?}")
    };
    assert_eq!(server.seen("POST").len(), 1);
}

async fn a_known_endpoint_is_not_asked_again() {
    let server = HttpServer::start().await;
    let eras = Arc::<Eras>::default();
    let options = || ConnectOptions { eras: Arc::clone(&eras), ..auto() };
    for expected in [3, 5] {
        try_connect(&server, "/strict", options()).await.unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(server.seen("POST").len(), expected);
    }
    let legacy = ConnectOptions { protocol: Protocol::Legacy, ..auto() };
    try_connect(&server, "/mcp", legacy).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(methods(&server)[5..], ["initialize", "notifications/initialized"]);
}

async fn headers_repeat_what_the_body_says() {
    // The server refuses whatever does not agree.
    let (server, connected) = connect("/stateless").await;
    connected.upstream.list(ListMethod::Tools).await.unwrap();
    assert_eq!(connected.result("json").await, r#"{"resultType":"complete","n":1.0}"#);
    let posts = server.seen("POST");
    assert_eq!((posts[1].headers.get("mcp-name"), posts[2].headers["mcp-name"].as_str()), (None, "json"));
    assert_eq!(connected.call("unknown").await.unwrap().unwrap_err().code(), -32602);
    assert_eq!(connected.upstream.request("vendor/thing", None).await.unwrap().unwrap_err().code(), -32601);
}

async fn a_tool_with_unusable_annotations_is_left_out() {
    let (_server, connected) = connect("/stateless").await;
    let listing = connected.upstream.list(ListMethod::Tools).await.unwrap();
    assert_eq!(listing.items.len(), 2);
    assert_eq!(listing.excluded.len(), 1);
    assert_eq!(listing.excluded[0].name, "broken");
    assert!(listing.excluded[0].reason.contains("x-mcp-header"));
}

async fn a_mismatch_has_the_tools_listed_again() {
    let (server, connected) = connect("/stateless").await;
    connected.upstream.list(ListMethod::Tools).await.unwrap();
    let params = r#"{"arguments":{"region":"us-west"}}"#;
    let result = connected.call_with("bound", params, CallOptions::default()).await.unwrap().unwrap();
    assert_eq!(result.to_json(), r#"{"place":"us-west"}"#);
    assert_eq!(methods(&server), ["server/discover", "tools/list", "tools/call", "tools/list", "tools/call"]);
    assert_eq!(server.seen("POST")[2].headers["mcp-param-region"], "us-west");
    // Once only: what does not help is no reason to go on.
    assert_eq!(connected.call("mismatch").await.unwrap().unwrap_err().code(), -32020);
    assert_eq!(methods(&server)[5..], ["tools/call", "tools/list", "tools/call"]);
}

async fn a_stateless_answer_comes_as_json_or_events() {
    let (_server, connected) = connect("/stateless").await;
    assert_eq!(connected.result("events").await, r#"{"resultType":"complete","n":1.0}"#);
    assert_eq!(connected.peer.notifications.lock().unwrap().len(), 1);
}

async fn a_stateless_stream_is_not_resumed() {
    let (server, connected) = connect("/stateless").await;
    assert_eq!(connected.call("breaks-off").await, Err(CallError::Http(HttpFailure::NoAnswer)));
    assert!(server.seen("GET").is_empty());
}

async fn a_call_that_is_dropped_closes_its_stream() {
    let (server, connected) = connect("/stateless").await;
    assert!(tokio::time::timeout(Duration::from_millis(200), connected.call("hangs")).await.is_err());
    until("the end of the stream", || !server.seen("CLOSED").is_empty()).await;
    assert_eq!(methods(&server), ["server/discover", "tools/call"]);
    assert_eq!(connected.result("json").await, r#"{"resultType":"complete","n":1.0}"#);
}

async fn an_entry_cannot_set_headers_of_arguments() {
    let entry = entry("http://127.0.0.1:9/mcp", &[("mcp-Param-Region", "x")]);
    let error = connect_with(entry, auto(), Recorder::default()).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Http(HttpSetupError::Reserved(_))), "{error:?}");
}
