//! What is offered to the policies folder, all or nothing.

use super::*;

/// Lays files beside the policies folder.
fn offered(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

impl Home {
    pub(super) fn offered_signed(&self, name: &str, bytes: &[u8]) -> TempDir {
        let signature = self.key.sign(bytes, name).unwrap();
        offered(&[(name, bytes), (&format!("{name}.minisig"), signature.as_bytes())])
    }

    fn expect_not_taken(&self, offered: &TempDir, reason: &str) {
        let before = (self.names(), self.gates.set().generation, fs::read_dir(self.folder.path()).unwrap().count());
        let error = self.store.offer(&self.gates, offered.path()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(
            (self.names(), self.gates.set().generation, fs::read_dir(self.folder.path()).unwrap().count()),
            before
        );
        assert_eq!(self.store.refused(), [], "an offer that is not taken leaves nothing behind");
    }
}

#[test]
fn an_offer_counts_at_once_and_lies_in_the_policies_folder_afterwards() {
    let home = Home::new();
    let offer = home.offered_signed("acme1.wasm", &named("acme1", "1.0.0"));
    let generation = home.store.offer(&home.gates, offer.path()).unwrap();
    assert_eq!(generation, Some(home.gates.set().generation));
    assert_eq!(home.names(), ["acme1", "guest"]);
    assert_eq!(fs::read_dir(offer.path()).unwrap().count(), 0);
    assert!(home.file("acme1.wasm").exists() && home.file("acme1.wasm.minisig").exists());
    assert!(!home.refresh(), "the folder says what counts already");
    // The next version, and a bundle beside it.
    let next = home.offered_signed("acme1.wasm", &named("acme1", "1.1.0"));
    home.store.offer(&home.gates, next.path()).unwrap();
    assert_eq!(home.version("acme1"), "1.1.0");
    let bundle = home.bundle(Home::manifest("1.0.0"), &[("acme2.wasm", named("acme2", "1.0.0"))]);
    home.store.offer(&home.gates, offered(&[("site.bundle", &bundle)]).path()).unwrap();
    assert_eq!(home.names(), ["acme1", "acme2", "guest"]);
    assert!(!home.refresh());
}

#[test]
fn an_offer_that_would_be_refused_leaves_what_counts_on_the_disk_too() {
    let home = Home::new();
    let first = home.offered_signed("acme1.wasm", &named("acme1", "1.1.0"));
    home.store.offer(&home.gates, first.path()).unwrap();
    let module = fs::read(home.file("acme1.wasm")).unwrap();
    home.expect_not_taken(&home.offered_signed("acme1.wasm", &named("acme1", "1.0.0")), "older than 1.1.0");
    home.expect_not_taken(&offered(&[("acme1.wasm", &named("acme1", "1.2.0"))]), "no signature of a trusted key");
    let broken = home.offered_signed("acme1.wasm", b"\0asm but not for long");
    home.expect_not_taken(&broken, "it could not be loaded");
    let older = home.bundle(
        Manifest { expires: Some("2001-01-01".to_owned()), ..Home::manifest("1.0.0") },
        &[("acme2.wasm", named("acme2", "1.0.0"))],
    );
    home.expect_not_taken(&offered(&[("site.bundle", &older)]), "has expired");
    assert_eq!(fs::read(home.file("acme1.wasm")).unwrap(), module);
    assert_eq!(home.version("acme1"), "1.1.0");
    assert!(!home.refresh());
}

#[test]
fn what_was_refused_before_is_no_reason_against_an_offer_that_has_nothing_to_do_with_it() {
    let home = Home::new();
    home.drop("acme9.wasm", b"nobody signed it");
    assert!(!home.refresh());
    let offer = home.offered_signed("acme1.wasm", &named("acme1", "1.0.0"));
    home.store.offer(&home.gates, offer.path()).unwrap();
    assert_eq!(home.names(), ["acme1", "guest"]);
}

#[test]
fn what_is_raised_is_a_concern_and_told_once_until_it_is_well_again() {
    let home = Home::new();
    let mut events = home.store.events();
    for _ in 0..3 {
        home.store.raise("updates", Some("the registry is silent".to_owned()));
    }
    assert_eq!(home.store.concerns(), [("updates".to_owned(), "the registry is silent".to_owned())]);
    assert!(matches!(events.try_recv(), Ok(PolicyEvent::Alarm { what, .. }) if what == "updates"));
    assert!(events.try_recv().is_err());
    home.store.raise("updates", None);
    assert_eq!(home.store.concerns(), []);
}
