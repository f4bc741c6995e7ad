use std::cmp::Ordering;

use super::{home, store};
use crate::{Artifact, Observation, Versions as _};

/// Versions that are numbers, for these tests.
fn compare(left: &str, right: &str) -> Ordering {
    left.parse::<u32>().unwrap().cmp(&right.parse().unwrap())
}

#[test]
fn an_older_version_is_noticed_and_the_newest_stays_remembered() {
    let (_folder, home) = home();
    let observe =
        |version: &str| store(&home).observe(Artifact::Pack, "config-screen", "iocs", version, compare).unwrap();
    assert_eq!(observe("9"), Observation::First);
    assert_eq!(observe("10"), Observation::Newer);
    assert_eq!(observe("10"), Observation::Same);
    assert!(matches!(observe("9"), Observation::Older(seen) if seen.version == "10"));
    let seen = store(&home).seen(Artifact::Pack).unwrap();
    let [seen] = seen.as_slice() else { panic!("one version, not {seen:?}") };
    assert_eq!((seen.policy.as_str(), seen.pack.as_str(), seen.version.as_str()), ("config-screen", "iocs", "10"));
    assert_eq!(store(&home).seen(Artifact::Policy).unwrap(), []);
}

#[test]
fn packs_of_one_name_for_two_policies_are_two() {
    let (_folder, home) = home();
    let store = store(&home);
    store.observe(Artifact::Pack, "config-screen", "hosts", "2", compare).unwrap();
    assert_eq!(store.observe(Artifact::Pack, "flow", "hosts", "1", compare).unwrap(), Observation::First);
}

#[test]
fn an_explicit_rollback_makes_an_older_version_the_newest() {
    let (_folder, home) = home();
    let store = store(&home);
    store.observe(Artifact::Pack, "config-screen", "iocs", "2", compare).unwrap();
    store.roll_back(Artifact::Pack, "config-screen", "iocs", "1").unwrap();
    assert_eq!(store.observe(Artifact::Pack, "config-screen", "iocs", "1", compare).unwrap(), Observation::Same);
}
