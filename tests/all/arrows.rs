//! The dependency arrows between the crates, and who may know whom.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use portcullis_model::json::{Limits, Value, parse_with};

/// Each crate of the host with the crates of the workspace that it may use.
const ARROWS: [(&str, &[&str]); 15] = [
    ("portcullis-model", &[]),
    ("portcullis-gates", &["portcullis-model"]),
    // Beside the gates: the config reads keys with it, the runtime asks it.
    ("portcullis-signatures", &["portcullis-model"]),
    // Beside the signatures, which it knows nothing of: it moves bytes that nobody has vouched for yet.
    ("portcullis-oci", &["portcullis-model"]),
    ("portcullis-config", &["portcullis-model", "portcullis-gates", "portcullis-signatures"]),
    ("portcullis-registry", &["portcullis-model", "portcullis-gates", "portcullis-config"]),
    ("portcullis-store", &["portcullis-model", "portcullis-gates"]),
    ("portcullis-bindings", &["portcullis-model"]),
    ("portcullis-runtime", &["portcullis-model", "portcullis-gates", "portcullis-bindings", "portcullis-signatures"]),
    ("portcullis-supervisor", &[]),
    ("portcullis-door", &["portcullis-model"]),
    // Beside the registry: the gateway as an OAuth client. Only the wire sends what it keeps.
    ("portcullis-oauth", &["portcullis-model", "portcullis-config"]),
    (
        "portcullis-mcp",
        &[
            "portcullis-model",
            "portcullis-gates",
            "portcullis-config",
            "portcullis-registry",
            "portcullis-store",
            "portcullis-door",
            "portcullis-oauth",
            "portcullis-supervisor",
        ],
    ),
    ("portcullis-sdk", &[]),
    // What a new policy begins with: files, and names for them. Only the composition root writes them.
    ("portcullis-templates", &["portcullis-model"]),
];

/// Crates that only the named members may use.
const RESERVED: [(&str, &[&str]); 7] = [
    ("wasmtime", &["portcullis-bindings", "portcullis-runtime"]),
    ("wasmtime-wasi", &["portcullis-runtime"]),
    ("wasmtime-wasi-http", &["portcullis-runtime"]),
    ("wasmtime-wasi-io", &["portcullis-runtime"]),
    ("wasmtime-wizer", &["portcullis-runtime"]),
    ("oci-client", &["portcullis-oci"]),
    ("rmcp", &["portcullis-mcp", "portcullis-conformance-fixture"]),
];

/// Returns the direct dependencies of each member, development dependencies left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let limits = Limits { bytes: 64 * 1024 * 1024, depth: 64 };
    let metadata = parse_with(output.stdout.trim_ascii(), limits).expect("cargo prints JSON");
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let packages = metadata.get("packages").and_then(Value::as_array).expect("packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package.get("dependencies").and_then(Value::as_array).expect("dependencies");
            let names = dependencies.iter().filter(|entry| text(entry, "kind").as_deref() != Some("dev"));
            (text(package, "name").expect("a name"), names.filter_map(|entry| text(entry, "name")).collect())
        })
        .collect()
}

#[test]
fn a_crate_uses_only_what_is_below_it() {
    let dependencies = dependencies();
    for (member, allowed) in ARROWS {
        let used = dependencies.get(member).unwrap_or_else(|| panic!("{member} is no member"));
        let ours = used.iter().filter(|name| name.starts_with("portcullis"));
        let upward: Vec<_> = ours.filter(|name| !allowed.contains(&name.as_str())).collect();
        assert!(upward.is_empty(), "{member} must not use {upward:?}");
    }
}

/// What a policy may use: the SDK, and the way to read text as a model may read it, which several policies share and
/// which knows nothing of gates.
const BELOW_POLICIES: [&str; 2] = ["portcullis-sdk", "portcullis-text"];

#[test]
fn a_policy_uses_the_sdk_and_nothing_of_the_host() {
    for (member, used) in dependencies() {
        if member.starts_with("portcullis-policy-") {
            let ours = used.iter().filter(|name| name.starts_with("portcullis"));
            let other: Vec<_> = ours.filter(|name| !BELOW_POLICIES.contains(&name.as_str())).collect();
            assert!(other.is_empty() && used.contains("portcullis-sdk"), "{member} uses {other:?}");
        }
    }
}

#[test]
fn what_is_built_is_pinned_by_version_and_digest() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).expect("a lock file");
    let mut pinned = 0_usize;
    for package in lock.split("[[package]]").skip(1) {
        let member = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        let name = member("name").expect("a name");
        let Some(source) = member("source") else {
            assert!(name.starts_with("portcullis"), "{name} comes from nowhere");
            continue;
        };
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        assert_eq!(member("checksum").map_or(0, |digest| digest.len()), 64, "{name} could change");
        pinned += 1;
    }
    assert!(pinned > 100);
}

#[test]
fn only_the_named_crates_know_the_compiler_and_the_official_sdk() {
    let dependencies = dependencies();
    for (reserved, allowed) in RESERVED {
        for (member, used) in &dependencies {
            let knows = used.contains(reserved);
            assert!(!knows || allowed.contains(&member.as_str()), "{member} must not use {reserved}");
        }
    }
}
