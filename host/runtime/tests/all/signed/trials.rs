//! What is tried in shadow beside what counts, until it is promoted.

use super::*;

impl Home {
    fn tried(&self) -> Vec<(String, String, Option<String>)> {
        let tried = self.store.tried().into_iter();
        tried.map(|tried| (tried.name.to_string(), tried.version, tried.counts)).collect()
    }

    fn modes(&self) -> Vec<(String, Mode)> {
        let set = self.gates.set();
        set.policies().iter().map(|policy| (policy.description.version.clone(), policy.mode)).collect()
    }
}

#[test]
fn what_is_tried_judges_beside_what_counts_until_it_is_promoted_and_counts_after_a_restart_too() {
    let home = Home::new();
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    assert!(home.refresh());
    let offer = home.offered_signed("acme1.wasm", &named("acme1", "2.0.0"));
    home.store.offer_for_trial(&home.gates, offer.path()).unwrap();
    assert_eq!(home.tried(), [("acme1".to_owned(), "2.0.0".to_owned(), Some("1.0.0".to_owned()))]);
    assert!(home.modes().contains(&("1.0.0".to_owned(), Mode::Enforce)));
    assert!(home.modes().contains(&("2.0.0".to_owned(), Mode::Shadow)));
    assert_eq!(home.version("acme1"), "1.0.0");
    assert!(!home.refresh(), "the next look finds what is there");
    // It is tried after a restart, too.
    let home = home.restarted();
    assert_eq!(home.tried().len(), 1);
    let moved = home.store.promote(&home.gates, &policy("acme1")).unwrap();
    assert_eq!((moved.from.as_str(), moved.to.as_str()), ("1.0.0", "2.0.0"));
    assert_eq!((home.version("acme1").as_str(), home.tried().len()), ("2.0.0", 0));
    assert!(home.modes().iter().all(|(_, mode)| *mode == Mode::Enforce));
    assert!(!home.refresh(), "{:?}", home.store.refused());
    assert!(home.store.rollback(&home.gates, &policy("acme1")).is_ok(), "the former one stayed resident");
    let home = home.restarted();
    assert_eq!((home.version("acme1").as_str(), home.tried().len()), ("2.0.0", 0));
}

#[test]
fn of_what_is_tried_all_is_promoted_at_once_and_nothing_that_is_refused_is_tried() {
    let home = Home::new();
    let files = [("acme1.wasm", named("acme1", "1.0.0")), ("acme2.wasm", named("acme2", "1.0.0"))];
    let bundle = home.bundle(Home::manifest("1.0.0"), &files);
    let offer = TempDir::new().unwrap();
    fs::write(offer.path().join("site.bundle"), &bundle).unwrap();
    home.store.offer_for_trial(&home.gates, offer.path()).unwrap();
    assert_eq!(home.tried().len(), 2);
    let unsigned = TempDir::new().unwrap();
    fs::write(unsigned.path().join("acme3.wasm"), named("acme3", "1.0.0")).unwrap();
    let error = home.store.offer_for_trial(&home.gates, unsigned.path()).unwrap_err();
    assert!(error.to_string().contains("no signature"), "{error}");
    assert_eq!(home.tried().len(), 2, "the former trial goes on");
    let moved = home.store.promote(&home.gates, &policy("acme2")).unwrap();
    assert_eq!((moved.from.as_str(), moved.to.as_str()), ("nothing", "1.0.0"));
    assert_eq!(home.names(), ["acme1", "acme2", "guest"]);
    assert!(home.file("site.bundle").exists() && !home.refresh());
}

#[test]
fn what_is_tried_raises_no_floor_and_ends_with_its_files() {
    let home = Home::new();
    let offer = home.offered_signed("acme1.wasm", &named("acme1", "2.0.0"));
    home.store.offer_for_trial(&home.gates, offer.path()).unwrap();
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    assert!(home.refresh(), "{:?}", home.store.refused());
    assert_eq!(home.version("acme1"), "1.0.0");
    for entry in fs::read_dir(home.file(".trial")).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    assert!(home.refresh());
    assert_eq!((home.tried().len(), home.version("acme1").as_str()), (0, "1.0.0"));
}
