//! The fixtures, a snapshot of what they give, and refused settings.

use portcullis_policy_environment::Environment;
use portcullis_sdk::environment_gate::Platform;
use portcullis_sdk::{EnvironmentGate as _, Packs, Policy as _, serde_json::json, testing};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn fixtures_hold() {
    testing::fixtures::<Environment>(FIXTURES);
}

#[test]
fn answers_are_as_reviewed() {
    insta::assert_snapshot!(testing::report::<Environment>(FIXTURES));
}

#[test]
fn settings_that_would_pass_everything_or_hold_values_are_refused_at_their_place() {
    let refused = |settings| testing::configure::<Environment>(&settings, &Packs::none()).unwrap_err().place;
    assert_eq!(refused(json!({ "pass": ["A", "*"] })), "/pass/1");
    assert_eq!(refused(json!({ "pass": [""] })), "/pass/0");
    assert_eq!(refused(json!({ "withhold": ["A*B"] })), "/withhold/0");
    assert_eq!(refused(json!({ "servers": { "web": { "pass": ["TOKEN=abc"] } } })), "/servers/web/pass/0");
    assert_eq!(refused(json!({ "passes": [] })), "");
}

#[test]
fn ten_thousand_names_fit_one_message() {
    let policy = Environment::new(portcullis_policy_environment::Settings::default(), &Packs::none()).unwrap();
    let names: Vec<String> = (0..10_000).map(|index| format!("NAME_{index}")).collect();
    let offered: Vec<&str> = names.iter().map(String::as_str).collect();
    let subject = testing::environment(testing::entry("server", &json!({})), Platform::Linux, &offered, &[]);
    let selection = policy.select(&testing::facts(), &subject);
    assert_eq!(selection.removed, names);
    assert!(selection.findings.iter().all(|finding| finding.message.len() <= 1_024));
}
