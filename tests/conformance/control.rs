//! The control: without a gateway between, our fixture passes every check of both revisions.

use portcullis_tests::conformance::{Fixture, Suite};

use crate::{PROGRAM, REVISIONS};

#[test]
fn the_fixture_alone_passes_every_check_of_both_revisions() {
    let suite = match Suite::install() {
        Ok(suite) => suite,
        Err(reason) => return println!("skipped: the registries cannot be reached: {reason}"),
    };
    for (revision, expected) in REVISIONS {
        let fixture = Fixture::start(PROGRAM, "both").expect("the fixture starts");
        let report = suite.test_server(&fixture.url, revision).expect("the suite reports");
        assert_eq!(report.failures(), Vec::<String>::new(), "of {revision}");
        assert_eq!(report.passed(), expected, "of {revision}");
    }
}
