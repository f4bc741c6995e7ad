//! The fixtures, natively: `cargo test`. `portcullis policy test` runs the same on the component.

#[test]
fn fixtures_hold() {
    portcullis_sdk::testing::fixtures::<{{crate}}::PolicyType>(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
}
