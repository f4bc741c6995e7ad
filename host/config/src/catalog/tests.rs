use std::collections::BTreeMap;

use portcullis_model::Origin;
use portcullis_model::json::Value;
use portcullis_model::object;

use super::*;
use crate::{Config, Surroundings};

#[test]
fn every_manifest_that_is_built_in_can_be_read_and_becomes_an_entry_that_can_run() {
    assert_eq!(BUILT_IN.len(), 20);
    let mut names = Vec::new();
    for text in BUILT_IN {
        let manifest = Manifest::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let values = |names: Vec<&str>| names.into_iter().map(|name| (name.to_owned(), "value".to_owned())).collect();
        let parameters: BTreeMap<_, _> = values(manifest.parameters.iter().map(|one| one.name.as_str()).collect());
        let variables: BTreeMap<_, _> = values(manifest.variables.iter().map(|one| one.name.as_str()).collect());
        let entry = manifest.entry(&parameters, &variables);
        let shown = entry.to_json();
        assert!(!shown.contains("\"{") && !shown.contains("={"), "a parameter was not put in: {shown}");
        let document = Value::from(object! { "mcp_servers" => object! { manifest.name.as_str() => entry } });
        let config = Config::parse(
            &document.to_json(),
            "catalog",
            Origin::Catalog,
            &Surroundings::new(|_| None).with_home("/home/u"),
        );
        assert_eq!((config.servers.len(), config.diagnostics.len()), (1, 0), "{:?}", config.diagnostics);
        names.push(manifest.name);
    }
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(built_in().count(), 20);
}

#[test]
fn a_manifest_that_pins_nothing_is_refused() {
    let text = |version: &str, argument: &str| {
        format!(
            "manifest_version: 1\nname: a\ndescription: b\nsource: c\ntransport: {{type: stdio, version: \"{version}\", command: npx, args: [-y, \"{argument}\"]}}\nsandbox: {{network: none}}\n"
        )
    };
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (version, argument) in
        [("1.2.3", "a@1.2.3"), ("1.2.3", "a==1.2.3"), (commit, &format!("git+https://x.example/a@{commit}"))]
    {
        Manifest::parse(&text(version, argument)).unwrap();
    }
    for (version, argument) in [
        ("1.2.3", "a"),
        ("1.2.3", "a@latest"),
        ("1.2.3", "a@1.2.30"),
        ("latest", "a@latest"),
        ("^1.2.3", "a@^1.2.3"),
        ("0123456", "git+https://x.example/a@0123456"),
        ("main1", "git+https://x.example/a@main1"),
    ] {
        Manifest::parse(&text(version, argument)).expect_err(argument);
    }
}

#[test]
fn a_manifest_of_a_later_version_is_told_from_one_with_a_mistake() {
    assert_eq!(Manifest::parse("manifest_version: 2\nname: a"), Err(ManifestError::Future("2".to_owned())));
    let error = Manifest::parse("manifest_version: 1\nname: a\ndescription: b\nsource: c\ntransport: {type: smoke}\n");
    assert_eq!(error, Err(ManifestError::Value { key: "transport.type".to_owned(), expected: "`stdio` or `http`" }));
}
