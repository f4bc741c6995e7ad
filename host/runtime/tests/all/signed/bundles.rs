//! Bundles: all or nothing.

use super::*;

#[test]
fn a_bundle_counts_whole_with_its_settings_and_packs() {
    let home = Home::new();
    let files = [
        ("acme1.wasm", named("acme1", "1.0.0")),
        ("acme2.wasm", named("acme2", "1.0.0")),
        ("acme2.yaml", b"root: /srv".to_vec()),
        ("iocs.pack.yaml", format!("{PACK}version: 1.1.0\ndata: [a, b]").into_bytes()),
    ];
    home.drop("acme-site.bundle", home.bundle(Home::manifest("1.0.0"), &files));
    assert!(home.refresh(), "{:?}", home.store.refused());
    assert_eq!(home.names(), ["acme1", "acme2", "guest"]);
    let status = home.store.status();
    assert_eq!(status[0].bundle, Some((policy("acme-site"), "1.0.0".to_owned())));
    assert_eq!((status[0].signed_by.as_deref(), status[2].packs[0].1.as_str()), (Some("acme"), "1.1.0"));
    assert_eq!(home.store.seen_bundles(), [(policy("acme-site"), "1.0.0".to_owned())]);
    // The next version is without one of them.
    home.drop("acme-site.bundle", home.bundle(Home::manifest("1.1.0"), &files[..1]));
    assert!(home.refresh(), "{:?}", home.store.refused());
    assert_eq!(home.names(), ["acme1", "guest"]);
}

#[test]
fn a_bundle_with_one_bad_policy_changes_nothing_at_all() {
    let home = Home::new();
    let good = [("acme1.wasm", named("acme1", "1.0.0"))];
    home.drop("acme-site.bundle", home.bundle(Home::manifest("1.0.0"), &good));
    assert!(home.refresh());
    let trap = component_of(
        "(func $configure (param i32 i32 i32 i32) (result i32) (unreachable))\n(data (i32.const 16) \"acme2\")",
    );
    let files = [
        ("acme1.wasm", named("acme1", "2.0.0")),
        ("acme2.wasm", trap),
        ("iocs.pack.yaml", format!("{PACK}version: 1.1.0\ndata: [a, b]").into_bytes()),
    ];
    home.drop("acme-site.bundle", home.bundle(Home::manifest("2.0.0"), &files));
    home.expect_refused("acme-site.bundle", "its policy `acme2` is refused");
    assert_eq!((home.version("acme1"), home.version("guest")), ("1.0.0".to_owned(), home.version("guest")));
    assert_eq!(home.store.status()[1].packs, [("iocs".to_owned(), "1.0.0".to_owned())]);
    assert_eq!(home.store.seen_bundles(), [(policy("acme-site"), "1.0.0".to_owned())]);
    home.expect_refused("acme-site.bundle", "its policy `acme2` is refused");
    home.drop("acme-site.bundle", home.bundle(Home::manifest("2.0.0"), &files[..1]));
    assert!(home.refresh(), "another bundle of that version may be sound: {:?}", home.store.refused());
    assert_eq!(home.version("acme1"), "2.0.0");
}

#[test]
fn each_way_in_which_a_bundle_is_refused_says_which() {
    let home = Home::new();
    let files = || vec![("acme1.wasm", named("acme1", "1.0.0"))];
    home.drop("acme-site.bundle", home.bundle(Home::manifest("1.5.0"), &files()));
    assert!(home.refresh());
    let refused = |manifest: Manifest, files: &[(&str, Vec<u8>)], reason: &str| {
        home.drop("acme-site.bundle", home.bundle(manifest, files));
        home.expect_refused("acme-site.bundle", reason);
    };
    refused(Home::manifest("1.4.0"), &files(), "version 1.4.0 of it is older than 1.5.0");
    refused(
        Home::manifest("1.5.0"),
        &[("acme1.wasm", named("acme1", "1.0.1"))],
        "differs from what was seen as version",
    );
    let later = Manifest { minimum_host: Some("99.0.0".to_owned()), ..Home::manifest("2.0.0") };
    refused(later, &files(), "needs portcullis 99.0.0 or later");
    let unknown = Manifest { capabilities: vec!["wasi:http".to_owned()], ..Home::manifest("2.0.0") };
    refused(unknown, &files(), "needs the capability `wasi:http`");
    let expired = Manifest { expires: Some("2001-01-01".to_owned()), ..Home::manifest("2.0.0") };
    refused(expired, &files(), "version 2.0.0 of it has expired");
    let nonsense = Manifest { expires: Some("soon".to_owned()), ..Home::manifest("2.0.0") };
    refused(nonsense, &files(), "no date");
    let wrong_line = wat::parse_str(r#"(component (import "portcullis:policy/types@0.9.0" (instance)))"#).unwrap();
    refused(Home::manifest("2.0.0"), &[("acme1.wasm", wrong_line)], "is of a line that this host does not have");
    let network = wat::parse_str(r#"(component (import "wasi:http/incoming-handler@0.2.0" (instance)))"#).unwrap();
    refused(Home::manifest("2.0.0"), &[("acme1.wasm", network)], "which no grant covers");
    refused(Home::manifest("2.0.0"), &[("other.wasm", named("other", "1.0.0"))], "not trusted for the policy `other`");
    refused(Home::manifest("2.0.0"), &[("guest.wasm", named("guest", "1.0.0"))], "not replace");
    refused(Home::manifest("2.0.0"), &[("notes.txt", Vec::new())], "`notes.txt` is no module, settings or pack");
    refused(Home::manifest("2.0.0"), &[("acme1.yaml", b"a: 1".to_vec())], "no module of that name");
    refused(
        Home::manifest("2.0.0"),
        &[("iocs.pack.yaml", format!("{PACK}version: 0.9.0\ndata: []").into_bytes())],
        "version 0.9.0 of the pack is older than 1.0.0",
    );
    let unsigned = Bundle::archive(
        Home::manifest("2.0.0"),
        &[
            BundleFile { name: "acme1.wasm".to_owned(), bytes: named("acme1", "1.0.0") },
            BundleFile {
                name: "acme1.wasm.minisig".to_owned(),
                bytes: home.key.sign(&named("acme1", "1.0.0"), "acme1.wasm").unwrap().into_bytes(),
            },
        ],
        |_| Ok(String::new()),
    );
    home.drop("acme-site.bundle", unsigned.unwrap());
    home.expect_refused("acme-site.bundle", "the manifest of the bundle is not signed");
    let whole = home.bundle(Home::manifest("2.0.0"), &files());
    home.drop("acme-site.bundle", &whole[..whole.len() / 2]);
    home.expect_refused("acme-site.bundle", "cut off");
    home.drop("acme-site.bundle", b"");
    home.expect_refused("acme-site.bundle", "does not begin with");
    // Through all of it, what was there first judges.
    assert_eq!(
        (home.names(), home.version("acme1")),
        (vec!["acme1".to_owned(), "guest".to_owned()], "1.0.0".to_owned())
    );
}
