//! The fixtures, a snapshot of what they give, and refused packs and settings.

use portcullis_policy_pins::Pins;
use portcullis_sdk::serde_json::json;
use portcullis_sdk::{Pack, Packs, testing};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn fixtures_hold() {
    testing::fixtures::<Pins>(FIXTURES);
}

#[test]
fn verdicts_are_as_reviewed() {
    insta::assert_snapshot!(testing::report::<Pins>(FIXTURES));
}

#[test]
fn packs_and_settings_that_mean_nothing_are_refused() {
    let pack = |data: &str| [Pack::new("phrases", "1", data)].into_iter().collect::<Packs>();
    let refused = |settings, packs: &Packs| testing::configure::<Pins>(&settings, packs).unwrap_err();
    let sound = pack(r#"{"instructions":["do not tell"],"parameters":[]}"#);
    assert!(refused(json!({ "cosmetic": "deny" }), &sound).message.contains("expected `record` or `ask`"));
    let shouting = pack(r#"{"instructions":["ok","Do not tell"],"parameters":[]}"#);
    assert_eq!(refused(json!({}), &shouting).place, "pack:phrases/instructions/1");
    assert!(testing::configure::<Pins>(&json!({}), &Packs::none()).is_err());
}
