//! The fixtures, a snapshot of what they give, and refused settings.

use portcullis_policy_trust::TrustTiers;
use portcullis_sdk::{Packs, serde_json::json, testing};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn fixtures_hold() {
    testing::fixtures::<TrustTiers>(FIXTURES);
}

#[test]
fn verdicts_are_as_reviewed() {
    insta::assert_snapshot!(testing::report::<TrustTiers>(FIXTURES));
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let refused = |settings| testing::configure::<TrustTiers>(&settings, &Packs::none()).unwrap_err();
    assert_eq!(refused(json!({ "tools": { "write": { "web": ["a", ""] } } })).place, "/tools/write/web/1");
    assert!(refused(json!({ "default_trust": "ful" })).message.contains("expected `full` or `untrusted`"));
    assert!(refused(json!({ "tools": { "readonly": {} } })).message.contains("unknown field `readonly`"));
}
