use std::cmp::Ordering;

use portcullis_model::Digest;

use super::{home, store};
use crate::versions::compare;
use crate::{Artifact, Observation, Versions as _};

#[test]
fn an_older_version_is_noticed_and_the_newest_stays_remembered() {
    let (_folder, home) = home();
    let observe = |version: &str| store(&home).observe(Artifact::Pack, "iocs", version, Digest::of(version.as_bytes()));
    assert_eq!(observe("1.9.0").unwrap(), Observation::First);
    assert_eq!(observe("1.10.0").unwrap(), Observation::Newer);
    assert_eq!(observe("1.10.0").unwrap(), Observation::Same);
    assert!(matches!(observe("1.9.0").unwrap(), Observation::Older(seen) if seen.version == "1.10.0"));
    assert_eq!(store(&home).seen(Artifact::Pack, "iocs").unwrap().unwrap().version, "1.10.0");
    assert_eq!(store(&home).seen(Artifact::Policy, "iocs").unwrap(), None);
}

#[test]
fn the_same_version_with_other_bytes_is_noticed() {
    let (_folder, home) = home();
    let store = store(&home);
    store.observe(Artifact::Policy, "trust", "1.0.0", Digest::of(b"one")).unwrap();
    let second = store.observe(Artifact::Policy, "trust", "1.0.0", Digest::of(b"two")).unwrap();
    assert!(matches!(second, Observation::Altered(seen) if seen.digest == Digest::of(b"one")));
}

#[test]
fn an_explicit_rollback_makes_an_older_version_the_newest() {
    let (_folder, home) = home();
    let store = store(&home);
    store.observe(Artifact::Pack, "iocs", "2", Digest::of(b"2")).unwrap();
    store.roll_back(Artifact::Pack, "iocs", "1", Digest::of(b"1")).unwrap();
    assert_eq!(store.observe(Artifact::Pack, "iocs", "1", Digest::of(b"1")).unwrap(), Observation::Same);
}

#[test]
fn versions_are_ordered_by_their_numbers() {
    let ascending = [
        "0.9",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-rc.2",
        "1.0.0-rc.10",
        "1.0.0",
        "1.0.1",
        "1.2",
        "1.10",
        "2026.11.30",
        "2026.12.1",
        "99999999999999999999999.1",
    ];
    for pair in ascending.windows(2) {
        assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{} < {}", pair[0], pair[1]);
        assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{} > {}", pair[1], pair[0]);
    }
    assert_eq!(compare("1.01+build.7", "1.1+other"), Ordering::Equal);
}
