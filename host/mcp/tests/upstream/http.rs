//! Servers over Streamable HTTP.

use libtest_mimic::Trial;
use portcullis_mcp::jsonrpc::MalformedReason;
use portcullis_mcp::transport::http::HttpFailure;
use portcullis_mcp::upstream::{CallError, CallOptions, CallerId, CloseReason, ConnectError, ConnectFailure};
use portcullis_model::json::Value;
use portcullis_model::{Launch, Secret, ServerEntry};

use crate::http_server::HttpServer;
use crate::support::{Connected, Recorder, connect_with, options, stdio_entry, trial, until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("answers_come_as_json_and_as_events", answers_come_as_json_and_as_events),
        trial("headers_of_the_protocol_and_of_the_entry_are_sent", headers_of_the_protocol_and_of_the_entry_are_sent),
        trial("a_handshake_over_events_works", a_handshake_over_events_works),
        trial("what_comes_on_the_stream_of_a_call_belongs_to_it", what_comes_on_the_stream_of_a_call_belongs_to_it),
        trial("a_request_in_the_stream_is_answered_by_a_post", a_request_in_the_stream_is_answered_by_a_post),
        trial("a_stream_that_breaks_off_is_resumed", a_stream_that_breaks_off_is_resumed),
        trial(
            "an_exchange_without_an_answer_fails_its_call_at_once",
            an_exchange_without_an_answer_fails_its_call_at_once,
        ),
        trial("a_session_that_expired_closes_the_connection", a_session_that_expired_closes_the_connection),
        trial(
            "a_call_that_was_taken_before_its_session_expired_is_not_told_to_be_refused",
            a_call_that_was_taken_before_its_session_expired_is_not_told_to_be_refused,
        ),
        trial("an_unusable_body_fails_its_call_at_once", an_unusable_body_fails_its_call_at_once),
        trial("a_json_rpc_error_in_a_refusal_is_the_outcome", a_json_rpc_error_in_a_refusal_is_the_outcome),
        trial("redirects_are_followed_within_the_origin_only", redirects_are_followed_within_the_origin_only),
        trial("what_is_no_mcp_endpoint_is_reported", what_is_no_mcp_endpoint_is_reported),
        trial("what_the_server_says_by_itself_is_heard", what_the_server_says_by_itself_is_heard),
        trial("the_session_ends_with_the_connection", the_session_ends_with_the_connection),
    ]
}

fn entry(url: &str) -> ServerEntry {
    let headers = vec![("Authorization".to_owned(), Secret::new(["Bear", "er of-the-entry"].concat()))];
    let launch = Launch::Http { url: url.to_owned(), headers, legacy_sse: false };
    ServerEntry { launch, ..stdio_entry("", &[]) }
}

async fn try_connect(server: &HttpServer, path: &str) -> Result<Connected, ConnectError> {
    connect_with(entry(&server.url(path)), options(), Recorder::default()).await
}

async fn connect() -> (HttpServer, Connected) {
    let server = HttpServer::start().await;
    let connected = try_connect(&server, "/mcp").await.unwrap_or_else(|error| panic!("{error:?}"));
    (server, connected)
}

async fn answers_come_as_json_and_as_events() {
    let (server, connected) = connect().await;
    // Whoever has a connection is being listened to already.
    assert_eq!(server.seen("GET").len(), 1);
    assert_eq!(connected.upstream.hello().protocol_version, "2025-06-18");
    assert_eq!(connected.result("json").await, r#"{"n":1.0}"#);
    assert_eq!(connected.result("events").await, r#"{"n":1.0}"#);
    assert_eq!(connected.peer.notifications.lock().unwrap().len(), 1);
}

async fn headers_of_the_protocol_and_of_the_entry_are_sent() {
    let (server, connected) = connect().await;
    let result = connected.call("headers").await.unwrap().unwrap();
    assert_eq!(
        result.get("t").and_then(Value::as_str).unwrap(),
        "mcp-session-id=session-1;mcp-protocol-version=2025-06-18;authorization=Bearer of-the-entry;\
         accept=application/json, text/event-stream;content-type=application/json"
    );
    let posts = server.seen("POST");
    assert!(!posts[0].headers.contains_key("mcp-protocol-version"));
    assert!(!posts[0].headers.contains_key("mcp-session-id"));
    assert!(posts[1].body.contains("notifications/initialized"));
    assert_eq!(posts[1].headers["mcp-protocol-version"], "2025-06-18");
}

async fn a_handshake_over_events_works() {
    let server = HttpServer::start().await;
    let connected = try_connect(&server, "/events").await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(connected.result("json").await, r#"{"n":1.0}"#);
}

async fn a_request_in_the_stream_is_answered_by_a_post() {
    let (server, connected) = connect().await;
    assert_eq!(connected.result("asks").await, r#"{"n":1.0}"#);
    until("the answer", || {
        server.seen("POST").iter().any(|post| post.body.contains(r#""id":"q","result":{"roots":[]}"#))
    })
    .await;
}

async fn what_comes_on_the_stream_of_a_call_belongs_to_it() {
    let (_server, connected) = connect().await;
    let of = |session, call| CallOptions { caller: Some(CallerId { session, call }), ..CallOptions::default() };
    for (tool, caller) in [("events", of(7, 1)), ("asks", of(8, 2)), ("events", of(9, 3))] {
        connected.call_with(tool, "{}", caller).await.unwrap().unwrap();
    }
    let told_of: Vec<_> = connected.peer.told_of.lock().unwrap().iter().map(|caller| caller.session).collect();
    assert_eq!(told_of, [7, 9]);
    assert_eq!(*connected.peer.callers.lock().unwrap(), [Some(8)]);
    assert_eq!(connected.peer.notifications.lock().unwrap().len(), 2);
}

async fn a_stream_that_breaks_off_is_resumed() {
    let (_server, connected) = connect().await;
    assert_eq!(connected.result("resumes").await, r#"{"resumed":true}"#);
}

async fn an_exchange_without_an_answer_fails_its_call_at_once() {
    let (_server, connected) = connect().await;
    assert_eq!(connected.call("ends").await, Err(CallError::Http(HttpFailure::NoAnswer)));
    assert_eq!(connected.call("accepted").await, Err(CallError::Http(HttpFailure::NoAnswer)));
    let error = connected.call("closes").await.unwrap_err();
    assert!(matches!(error, CallError::Http(HttpFailure::Interrupted(_))), "{error:?}");
    assert_eq!(connected.result("json").await, r#"{"n":1.0}"#);
}

async fn a_session_that_expired_closes_the_connection() {
    let (_server, connected) = connect().await;
    let closed = CallError::Closed(CloseReason::SessionExpired);
    assert_eq!(connected.call("expired").await, Err(CallError::Http(HttpFailure::SessionExpired)), "it was refused");
    assert_eq!(connected.call("json").await, Err(closed));
    assert_eq!(*connected.peer.closed.lock().unwrap(), [CloseReason::SessionExpired]);
}

async fn a_call_that_was_taken_before_its_session_expired_is_not_told_to_be_refused() {
    let (_server, connected) = connect().await;
    let closed = CallError::Closed(CloseReason::SessionExpired);
    assert_eq!(connected.call("resumes-in-vain").await, Err(closed));
}

async fn an_unusable_body_fails_its_call_at_once() {
    let (_server, connected) = connect().await;
    for tool in ["duplicate-keys", "big", "big-event"] {
        let error = connected.call(tool).await.unwrap_err();
        assert!(
            matches!(error, CallError::Malformed(MalformedReason::Text(_) | MalformedReason::Oversize { .. })),
            "{tool}: {error:?}"
        );
    }
    assert_eq!(connected.call("not-json").await, Err(CallError::Http(HttpFailure::NoAnswer)));
    assert_eq!(connected.result("json").await, r#"{"n":1.0}"#);
}

async fn a_json_rpc_error_in_a_refusal_is_the_outcome() {
    let (server, connected) = connect().await;
    assert_eq!(connected.call("error-status").await.unwrap().unwrap_err().code(), -32602);
    let error = try_connect(&server, "/refuses").await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Refused(error) if error.code() == -32022));
}

async fn redirects_are_followed_within_the_origin_only() {
    let server = HttpServer::start().await;
    assert_eq!(
        try_connect(&server, "/moved").await.unwrap_or_else(|error| panic!("{error:?}")).result("json").await,
        r#"{"n":1.0}"#
    );
    for (path, status) in [("/elsewhere", 307), ("/moved-as-get", 302), ("/round", 307)] {
        let error = try_connect(&server, path).await.err().unwrap();
        let ConnectFailure::Handshake(failure) = error.failure else { panic!("{path}: {error:?}") };
        assert_eq!(failure, CallError::Http(HttpFailure::Redirected(status)), "{path}");
    }
}

async fn what_is_no_mcp_endpoint_is_reported() {
    let server = HttpServer::start().await;
    let unauthorized = HttpFailure::Unauthorized { status: 401, challenge: Some("Bearer realm=\"x\"".to_owned()) };
    for (path, expected) in
        [("/html", HttpFailure::ContentType), ("/locked", unauthorized), ("/broken", HttpFailure::Status(500))]
    {
        let error = try_connect(&server, path).await.err().unwrap();
        let ConnectFailure::Handshake(failure) = error.failure else { panic!("{path}: {error:?}") };
        assert_eq!(failure, CallError::Http(expected), "{path}");
    }
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/mcp?key=of-the-url", listener.local_addr().unwrap())
    };
    let error = connect_with(entry(&closed), options(), Recorder::default()).await.err().unwrap();
    let text = format!("{error:?}");
    assert!(text.contains("Unreachable") && !text.contains("of-the-url"), "{text}");
}

async fn what_the_server_says_by_itself_is_heard() {
    let server = HttpServer::start().await;
    let connected = try_connect(&server, "/talks").await.unwrap_or_else(|error| panic!("{error:?}"));
    until("the notification", || !connected.peer.notifications.lock().unwrap().is_empty()).await;
    assert_eq!(connected.peer.notifications.lock().unwrap()[0].0, "notifications/tools/list_changed");
}

async fn the_session_ends_with_the_connection() {
    let (server, connected) = connect().await;
    connected.upstream.shutdown().await;
    let deletes = server.seen("DELETE");
    assert_eq!(deletes[0].headers["mcp-session-id"], "session-1");
}
