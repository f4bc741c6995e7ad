//! The fixtures, a snapshot of what they give, and refused settings.

use portcullis_policy_server_requests::ServerRequests;
use portcullis_sdk::{Packs, serde_json::json, testing};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn fixtures_hold() {
    testing::fixtures::<ServerRequests>(FIXTURES);
}

#[test]
fn verdicts_are_as_reviewed() {
    insta::assert_snapshot!(testing::report::<ServerRequests>(FIXTURES));
}

#[test]
fn settings_that_make_no_sense_are_refused_at_their_place() {
    let refused = |settings| testing::configure::<ServerRequests>(&settings, &Packs::none()).unwrap_err().place;
    assert_eq!(refused(json!({ "sampling": { "max_rpm": 0 } })), "/sampling/max_rpm");
    assert_eq!(
        refused(json!({ "servers": { "a": { "sampling": { "timeout": -1 } } } })),
        "/servers/a/sampling/timeout"
    );
    assert_eq!(refused(json!({ "elicitation": { "timeout": 0 } })), "/elicitation/timeout");
    assert_eq!(refused(json!({ "secret_words": ["Pass word"] })), "/secret_words/0");
    assert_eq!(refused(json!({ "sampling": { "rpm": 1 } })), "");
}

#[test]
fn the_blocks_of_an_entry_are_accepted_as_they_are() {
    let sampling = json!({
        "enabled": true, "max_rpm": 5, "timeout": 30.0, "max_tokens_cap": 100, "max_tool_rounds": 0, "model": "small",
        "allowed_models": ["small"], "log_level": "info", "expose_client_tools": false,
    });
    let settings =
        json!({ "servers": { "a": { "sampling": sampling, "elicitation": { "enabled": true, "timeout": 86400.0 } } } });
    testing::configure::<ServerRequests>(&settings, &Packs::none()).unwrap();
}
