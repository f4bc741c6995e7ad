//! What a server may answer, and what becomes of it.

use libtest_mimic::Trial;
use portcullis_mcp::jsonrpc::MalformedReason;
use portcullis_mcp::upstream::CallError;
use portcullis_model::json::ParseErrorKind;

use crate::support::{connect, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_result_arrives_value_for_value", a_result_arrives_value_for_value),
        trial("an_error_of_the_server_is_an_outcome", an_error_of_the_server_is_an_outcome),
        trial("noise_on_the_output_harms_nothing", noise_on_the_output_harms_nothing),
        trial("known_deviations_are_accepted", known_deviations_are_accepted),
        trial("an_unusable_answer_fails_its_call_at_once", an_unusable_answer_fails_its_call_at_once),
        trial("an_answer_that_is_too_large_fails_its_call_at_once", an_answer_that_is_too_large_fails_its_call_at_once),
        trial("second_and_stray_answers_are_counted_and_ignored", second_and_stray_answers_are_counted_and_ignored),
        trial("an_error_without_an_id_fails_the_only_call", an_error_without_an_id_fails_the_only_call),
        trial("a_call_that_the_server_cancels_fails_at_once", a_call_that_the_server_cancels_fails_at_once),
    ]
}

async fn a_result_arrives_value_for_value() {
    let server = connect("normal").await;
    assert_eq!(
        server.result("lossless").await,
        r#"{"z":1.0,"content":[],"a":12345678901234567890123,"$serde_json::private::Number":"1e5"}"#
    );
}

async fn an_error_of_the_server_is_an_outcome() {
    let server = connect("normal").await;
    let error = server.call("exit-code").await.unwrap().unwrap_err();
    assert_eq!(error.into_value().to_json(), r#"{"code":-32000,"message":"mine","data":{"n":1.0}}"#);
    let error = server.upstream.request("logging/setLevel", None).await.unwrap().unwrap_err();
    assert_eq!(error.into_value().to_json(), r#"{"code":-32601,"message":"nf","vendor":1.0}"#);
}

async fn noise_on_the_output_harms_nothing() {
    let server = connect("normal").await;
    assert_eq!(server.text("noise").await, "after noise");
    assert_eq!(server.upstream.counters().noise, 6);
    server.assert_alive().await;
}

async fn known_deviations_are_accepted() {
    let server = connect("normal").await;
    for tool in ["both", "no-jsonrpc", "string-id", "float-id", "batch"] {
        assert_eq!(server.result(tool).await, r#"{"ok":true}"#, "{tool}");
    }
    assert_eq!(server.peer.notifications.lock().unwrap().len(), 1);
}

async fn an_unusable_answer_fails_its_call_at_once() {
    let server = connect("normal").await;
    for (tool, expected) in [
        ("bad-utf8", Some(ParseErrorKind::InvalidUtf8)),
        ("duplicate-keys", Some(ParseErrorKind::DuplicateKey("a".to_owned()))),
        ("deep", Some(ParseErrorKind::TooDeep)),
        ("surrogate", None),
        ("float-code", None),
    ] {
        let error = server.call(tool).await.unwrap_err();
        let CallError::Malformed(reason) = error else { panic!("{tool}: {error:?}") };
        let kind = if let MalformedReason::Text(error) = reason { Some(error.kind) } else { None };
        assert!(expected.is_none() || kind == expected, "{tool}: {kind:?}");
    }
    server.assert_alive().await;
}

async fn an_answer_that_is_too_large_fails_its_call_at_once() {
    let server = connect("normal").await;
    for tool in ["big", "big-id-last"] {
        let error = server.call(tool).await.unwrap_err();
        assert!(matches!(error, CallError::Malformed(MalformedReason::Oversize { .. })), "{tool}: {error:?}");
        server.assert_alive().await;
    }
}

async fn second_and_stray_answers_are_counted_and_ignored() {
    let server = connect("normal").await;
    assert_eq!(server.text("twice").await, "first");
    assert_eq!(server.text("wrong-id").await, "right");
    assert_eq!(server.upstream.counters().unexpected, 3);
    server.assert_alive().await;
}

async fn an_error_without_an_id_fails_the_only_call() {
    let server = connect("normal").await;
    assert_eq!(server.call("null-id").await, Err(CallError::Unattributed));
    server.assert_alive().await;
}

async fn a_call_that_the_server_cancels_fails_at_once() {
    let server = connect("normal").await;
    assert_eq!(server.call("cancels").await, Err(CallError::Cancelled));
    server.assert_alive().await;
}
