//! The fixtures, a snapshot of what they give, and refused settings.

use portcullis_policy_package_advisories::PackageAdvisories;
use portcullis_sdk::{Packs, serde_json::json, testing};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn fixtures_hold() {
    testing::fixtures::<PackageAdvisories>(FIXTURES);
}

#[test]
fn settings_that_name_no_endpoint_are_refused_at_their_place() {
    let refused = |settings| testing::configure::<PackageAdvisories>(&settings, &Packs::none()).unwrap_err();
    for endpoint in
        ["api.osv.dev", "ftp://api.osv.dev", "https://", "https://user@host", "https://host/?a", "https://a b"]
    {
        assert_eq!(refused(json!({ "endpoint": endpoint })).place, "/endpoint", "{endpoint}");
    }
    assert!(refused(json!({ "silent": "maybe" })).message.contains("unknown variant"));
}
