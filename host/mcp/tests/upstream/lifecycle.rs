//! How connections begin and end.

use std::time::Duration;

use libtest_mimic::Trial;
use portcullis_mcp::transport::stdio::Ending;
use portcullis_mcp::upstream::{CallError, CloseReason, ConnectFailure, ConnectOptions};

use crate::support::{Recorder, connect, connect_with, entry, is_alive, options, stdio_entry, trial, until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_says_who_it_is", a_server_says_who_it_is),
        trial("an_old_version_is_spoken_and_an_unknown_one_is_not", an_old_version_is_spoken_and_an_unknown_one_is_not),
        trial("a_refused_handshake_is_reported", a_refused_handshake_is_reported),
        trial("the_last_words_of_a_server_that_dies_are_reported", the_last_words_of_a_server_that_dies_are_reported),
        trial(
            "a_command_that_is_not_found_is_reported_with_the_path",
            a_command_that_is_not_found_is_reported_with_the_path,
        ),
        trial("a_silent_server_runs_into_the_connect_limit", a_silent_server_runs_into_the_connect_limit),
        trial("the_entrys_variables_lie_over_the_selected_ones", the_entrys_variables_lie_over_the_selected_ones),
        trial("every_call_fails_at_once_when_the_server_dies", every_call_fails_at_once_when_the_server_dies),
        trial("a_death_is_seen_although_the_output_stays_open", a_death_is_seen_although_the_output_stays_open),
        trial("an_answer_given_before_the_end_arrives", an_answer_given_before_the_end_arrives),
        trial("a_closed_output_closes_the_connection", a_closed_output_closes_the_connection),
        trial("nothing_survives_a_shutdown", nothing_survives_a_shutdown),
        trial("nothing_survives_a_connection_that_is_dropped", nothing_survives_a_connection_that_is_dropped),
        trial("a_server_that_does_not_read_can_be_shut_down", a_server_that_does_not_read_can_be_shut_down),
        trial("a_flood_on_standard_error_is_cut_and_counted", a_flood_on_standard_error_is_cut_and_counted),
    ]
}

async fn a_server_says_who_it_is() {
    let server = connect("normal").await;
    let hello = server.upstream.hello();
    assert_eq!(hello.protocol_version, "2025-11-25");
    assert_eq!(hello.instructions(), Some("be kind"));
    assert_eq!(hello.server_info().unwrap().to_json(), r#"{"name":"fake","version":"1"}"#);
    assert!(hello.has_flag("tools", "listChanged") && !hello.has_flag("prompts", "listChanged"));
    assert_eq!(hello.capability("vendor").unwrap().to_json(), r#"{"x":1.50}"#);
}

async fn an_old_version_is_spoken_and_an_unknown_one_is_not() {
    assert_eq!(connect("old").await.upstream.hello().protocol_version, "2024-11-05");
    let error = connect_with(entry("future"), options(), Recorder::default()).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Version(version) if version == "2999-01-01"));
}

async fn a_refused_handshake_is_reported() {
    let error = connect_with(entry("refuses"), options(), Recorder::default()).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Refused(error) if error.message() == "go away"));
}

async fn the_last_words_of_a_server_that_dies_are_reported() {
    let error = connect_with(entry("dies"), options(), Recorder::default()).await.err().unwrap();
    assert_eq!(error.stderr, ["cannot find the database"]);
    let ConnectFailure::Handshake(failure) = error.failure else { panic!("{error:?}") };
    assert_eq!(failure, CallError::Closed(CloseReason::Ended(Ending::Code(3))));
}

async fn a_command_that_is_not_found_is_reported_with_the_path() {
    let error = connect_with(stdio_entry("no-such-server", &[]), options(), Recorder::default()).await.err().unwrap();
    assert_eq!(error.failure.to_string(), "`no-such-server` was not found on the server's PATH: /usr/bin:/bin");
}

async fn a_silent_server_runs_into_the_connect_limit() {
    let options = ConnectOptions { connect_timeout: Duration::from_millis(500), ..options() };
    let error = connect_with(entry("silent"), options, Recorder::default()).await.err().unwrap();
    assert!(matches!(error.failure, ConnectFailure::Timeout(_)), "{error:?}");
}

async fn the_entrys_variables_lie_over_the_selected_ones() {
    let server = connect("normal").await;
    let text = server.text("environment").await;
    let mut variables: Vec<_> = text.lines().collect();
    variables.sort_unstable();
    assert_eq!(variables, ["OWN=entry", "PATH=/usr/bin:/bin", "SHARED=entry"]);
}

async fn every_call_fails_at_once_when_the_server_dies() {
    let server = connect("normal").await;
    let (a, b, c, crash) =
        tokio::join!(server.call("hang"), server.call("hang"), server.call("hang"), server.call("crash"));
    let reason = CloseReason::Ended(Ending::Code(3));
    for outcome in [a, b, c, crash] {
        assert_eq!(outcome, Err(CallError::Closed(reason.clone())));
    }
    assert_eq!(server.call("both").await, Err(CallError::Closed(reason.clone())));
    // The peer is told right behind the callers.
    until("the peer", || !server.peer.closed.lock().unwrap().is_empty()).await;
    assert_eq!(*server.peer.closed.lock().unwrap(), [reason]);
}

async fn a_death_is_seen_although_the_output_stays_open() {
    let server = connect("normal").await;
    let outcome = server.call("crash-with-heir").await;
    assert_eq!(outcome, Err(CallError::Closed(CloseReason::Ended(Ending::Code(3)))));
}

async fn an_answer_given_before_the_end_arrives() {
    for _ in 0..5 {
        assert_eq!(connect("normal").await.text("last-words").await, "said at the end");
    }
}

async fn a_closed_output_closes_the_connection() {
    let server = connect("normal").await;
    let pid = server.text("pid").await;
    let outcome = server.call("closes-output").await;
    assert_eq!(outcome, Err(CallError::Closed(CloseReason::OutputClosed)));
    until("the server's end", || !is_alive(&pid)).await;
}

async fn nothing_survives_a_shutdown() {
    let server = connect("normal").await;
    let (server_pid, grandchild) = (server.text("pid").await, server.text("grandchild").await);
    assert!(is_alive(&server_pid) && is_alive(&grandchild));
    // The supervisor says so beside the byte path: the server may have answered before.
    until("the process to be known", || server.upstream.process_id().is_some()).await;
    assert_eq!(server.upstream.process_id().unwrap().to_string(), server_pid);
    server.upstream.shutdown().await;
    assert!(!is_alive(&server_pid) && !is_alive(&grandchild));
    assert_eq!(server.call("both").await, Err(CallError::Closed(CloseReason::Shutdown)));
    assert_eq!(*server.peer.closed.lock().unwrap(), [CloseReason::Shutdown]);
}

async fn nothing_survives_a_connection_that_is_dropped() {
    let server = connect("normal").await;
    let (server_pid, grandchild) = (server.text("pid").await, server.text("grandchild").await);
    drop(server);
    until("the end of all", || !is_alive(&server_pid) && !is_alive(&grandchild)).await;
}

async fn a_flood_on_standard_error_is_cut_and_counted() {
    let server = connect("noisy").await;
    until("the lines", || server.peer.stderr.lock().unwrap().len() >= 500).await;
    server.assert_alive().await;
    server.upstream.shutdown().await;
    let lines = server.peer.stderr.lock().unwrap().clone();
    assert!(lines.len() < 1000, "{}", lines.len());
    assert!(lines.iter().any(|line| line.ends_with("lines were dropped: too many at once]")), "{:?}", lines.last());
}

async fn a_server_that_does_not_read_can_be_shut_down() {
    let server = connect("deaf").await;
    let params = format!(r#"{{"text":"{}"}}"#, "y".repeat(300_000));
    let params = portcullis_model::json::parse_str(&params).unwrap();
    let stuck = server.upstream.notify("notifications/x", Some(&params));
    let shutdown = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        server.upstream.shutdown().await;
    };
    // The write fails as soon as the server is gone.
    let (sent, ()) = tokio::join!(stuck, shutdown);
    assert!(matches!(sent, Err(CallError::Closed(_))), "{sent:?}");
}
