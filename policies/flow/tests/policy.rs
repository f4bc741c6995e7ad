//! The fixtures, a snapshot of what they give, and refused settings.

use portcullis_policy_flow::Flow;
use portcullis_sdk::serde_json::{Value, json};
use portcullis_sdk::{Pack, Packs, testing};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn fixtures_hold() {
    testing::fixtures::<Flow>(FIXTURES);
}

#[test]
fn verdicts_are_as_reviewed() {
    insta::assert_snapshot!(testing::report::<Flow>(FIXTURES));
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let yaml = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/packs/kinds.yaml")).unwrap();
    let data: Value = serde_yaml::from_str(&yaml).unwrap();
    let pack = || [Pack::new("kinds", "1", data["data"].to_string())].into_iter().collect::<Packs>();
    let refused = |settings| testing::configure::<Flow>(&settings, &pack()).unwrap_err();
    assert_eq!(refused(json!({ "tools": { "outward": { "web": [""] } } })).place, "/tools/outward/web/0");
    assert!(refused(json!({ "target_from_prose": "maybe" })).message.contains("expected one of"));
    assert!(testing::configure::<Flow>(&json!({}), &Packs::none()).is_err());
}
