//! Servers over HTTP+SSE.

use std::sync::Arc;

use libtest_mimic::Trial;
use portcullis_config::Protocol;
use portcullis_mcp::transport::http::HttpFailure;
use portcullis_mcp::upstream::{CallError, CloseReason, ConnectError, ConnectFailure, ConnectOptions, Eras};
use portcullis_model::{Launch, Secret, ServerEntry};

use crate::sse_server::SseServer;
use crate::support::{Connected, Recorder, connect_with, options, stdio_entry, trial, until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_over_sse_is_spoken_to", a_server_over_sse_is_spoken_to),
        trial("a_stream_is_found_where_no_endpoint_is", a_stream_is_found_where_no_endpoint_is),
        trial("messages_are_sent_within_the_origin_only", messages_are_sent_within_the_origin_only),
        trial("what_is_no_stream_is_reported", what_is_no_stream_is_reported),
        trial("the_end_of_the_stream_closes_the_connection", the_end_of_the_stream_closes_the_connection),
        trial("a_message_that_is_refused_fails_its_call_at_once", a_message_that_is_refused_fails_its_call_at_once),
        trial("the_stream_ends_with_the_connection", the_stream_ends_with_the_connection),
    ]
}

async fn try_connect(url: &str, legacy_sse: bool, options: ConnectOptions) -> Result<Connected, ConnectError> {
    let headers = vec![("Authorization".to_owned(), Secret::new(["Bear", "er of-the-entry"].concat()))];
    let launch = Launch::Http { url: url.to_owned(), headers, legacy_sse };
    connect_with(ServerEntry { launch, ..stdio_entry("", &[]) }, options, Recorder::default()).await
}

async fn connect(server: &SseServer, path: &str) -> Connected {
    try_connect(&server.url(path), true, options()).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn a_server_over_sse_is_spoken_to() {
    for path in ["/sse", "/absolute"] {
        let server = SseServer::start().await;
        let connected = connect(&server, path).await;
        assert_eq!(connected.upstream.hello().protocol_version, "2024-11-05");
        assert_eq!(connected.result("plain").await, r#"{"n":1.0}"#);
        assert_eq!(connected.result("asks").await, r#"{"asked":true}"#);
        assert_eq!(connected.result("in-the-body").await, r#"{"body":true}"#);
        assert_eq!(connected.result("in-words").await, "{}");
        until("the answer", || {
            server.seen("POST").iter().any(|post| post.body.contains(r#""id":"q","result":{"roots":[]}"#))
        })
        .await;
        let posts = server.seen("POST");
        assert!(posts.iter().all(|post| post.path == "/messages?n=0"));
        assert!(posts.iter().all(|post| post.headers["authorization"] == "Bearer of-the-entry"));
        assert_eq!(server.seen("GET").len(), 1);
    }
}

async fn a_stream_is_found_where_no_endpoint_is() {
    let server = SseServer::start().await;
    let eras = Arc::<Eras>::default();
    for expected in [2, 0] {
        let options = ConnectOptions { protocol: Protocol::Auto, eras: Arc::clone(&eras), ..options() };
        let connected =
            try_connect(&server.url("/sse"), false, options).await.unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(connected.result("plain").await, r#"{"n":1.0}"#);
        // The question for the era and `initialize` were refused, the first time only.
        assert_eq!(server.seen("POST").iter().filter(|post| post.path == "/sse").count(), expected);
        server.seen.lock().unwrap().clear();
    }
}

async fn messages_are_sent_within_the_origin_only() {
    let server = SseServer::start().await;
    for path in ["/elsewhere", "/no-url"] {
        let error = try_connect(&server.url(path), true, options()).await.err().unwrap();
        let ConnectFailure::Handshake(failure) = error.failure else { panic!("{path}: {error:?}") };
        assert_eq!(failure, CallError::Http(HttpFailure::Endpoint), "{path}");
    }
    assert!(server.seen("POST").is_empty());
}

async fn what_is_no_stream_is_reported() {
    let server = SseServer::start().await;
    let error = try_connect(&server.url("/plain"), true, options()).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Handshake(CallError::Http(HttpFailure::ContentType))), "{error:?}");
    // Found by a guess it is no news: what the endpoint itself said is.
    let auto = ConnectOptions { protocol: Protocol::Auto, ..options() };
    let error = try_connect(&server.url("/plain"), false, auto).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Handshake(CallError::Http(HttpFailure::Status(405)))), "{error:?}");
}

async fn the_end_of_the_stream_closes_the_connection() {
    let server = SseServer::start().await;
    let connected = connect(&server, "/sse").await;
    assert_eq!(connected.call("ends").await, Err(CallError::Closed(CloseReason::OutputClosed)));
    until("the peer", || !connected.peer.closed.lock().unwrap().is_empty()).await;
    assert_eq!(*connected.peer.closed.lock().unwrap(), [CloseReason::OutputClosed]);
}

async fn a_message_that_is_refused_fails_its_call_at_once() {
    let server = SseServer::start().await;
    let connected = connect(&server, "/sse").await;
    assert_eq!(connected.call("fails").await, Err(CallError::Http(HttpFailure::Status(500))));
    assert_eq!(connected.result("plain").await, r#"{"n":1.0}"#);
}

async fn the_stream_ends_with_the_connection() {
    let server = SseServer::start().await;
    let connected = connect(&server, "/sse").await;
    connected.upstream.shutdown().await;
    until("the end of the stream", || !server.seen("CLOSED").is_empty()).await;
    assert_eq!(connected.call("plain").await, Err(CallError::Closed(CloseReason::Shutdown)));
}
