//! Policies, packs and bundles through a real OCI registry. Skipped where none is installed.

use std::path::Path;
use std::process::Output;

use portcullis_model::json::{Value, parse};
use portcullis_model::object;
use portcullis_tests::{Home, Registry};

use crate::PROGRAM;
use crate::encode::{component, component_of};

pub(crate) fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).current_dir(home.path()).output().expect("the program runs")
}

/// Runs a command that must go well, and returns what it prints.
pub(crate) fn done(home: &Home, arguments: &[&str]) -> Value {
    let output = run(home, &[arguments, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {text}{}", home.stderr());
    parse(text.trim().as_bytes()).expect("one document")
}

pub(crate) fn member<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Makes a key without password and returns its public half.
pub(crate) fn key(home: &Home, file: &str) -> String {
    member(&done(home, &["policy", "keygen", "--no-password", file]), "key").to_owned()
}

/// Trusts a key for the guest.
fn trust(home: &Home, key: &str) {
    let key = object! { "name" => "ours", "key" => key, "names" => vec![Value::from("guest")] };
    let config = object! { "policies" => object! { "keys" => vec![Value::from(key)] } };
    std::fs::write(home.path().join("config.yaml"), Value::from(config).to_json()).expect("the config is written");
}

/// A home that trusts its key, and a signed module in it.
fn signed() -> Home {
    let home = Home::cold(PROGRAM, "{}");
    trust(&home, &key(&home, "ours.key"));
    write(&home, "guest.wasm", &component("denies-named"));
    done(&home, &["policy", "sign", "--key", "ours.key", "guest.wasm"]);
    home
}

pub(crate) fn write(home: &Home, name: &str, bytes: &[u8]) {
    std::fs::write(home.path().join(name), bytes).expect("it is written");
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("it is read")
}

fn refused(home: &Home, arguments: &[&str], reason: &str) {
    let before = home.stderr().len();
    let output = run(home, arguments);
    let said = home.stderr().split_off(before);
    assert!(!output.status.success(), "{arguments:?} went well");
    assert!(said.contains(reason), "nothing says {reason:?}: {said}");
}

#[test]
fn a_signed_module_comes_back_from_a_registry_and_without_one_by_its_digest() {
    let Some(mut registry) = Registry::start() else { return };
    let home = signed();
    let place = registry.place("acme/guest:1.0.0");
    let pushed = done(&home, &["policy", "push", "guest.wasm", &place]);
    let exactly = member(&pushed, "place").to_owned();
    assert!(exactly.ends_with(&format!("@sha256:{}", member(&pushed, "digest"))), "{exactly}");
    // The same file is the same artifact.
    assert_eq!(done(&home, &["policy", "push", "guest.wasm", &place]), pushed);

    let pulled = done(&home, &["policy", "pull", &place, "--into", "first"]);
    assert_eq!(member(&pulled, "place"), exactly);
    assert_eq!((member(&pulled, "file"), member(&pulled, "vouched")), ("first/guest.wasm", "by ours"));
    for name in ["guest.wasm", "guest.wasm.minisig"] {
        assert_eq!(read(&home.path().join("first").join(name)), read(&home.path().join(name)), "{name}");
    }
    let again = done(&home, &["policy", "pull", &place, "--into", "first", "--unless", member(&pulled, "digest")]);
    assert_eq!(again.get("same"), Some(&Value::Bool(true)));

    registry.stop();
    let offline = done(&home, &["policy", "pull", &exactly, "--into", "second"]);
    assert_eq!((offline.get("offline"), member(&offline, "vouched")), (Some(&Value::Bool(true)), "by ours"));
    assert_eq!(read(&home.path().join("second/guest.wasm")), read(&home.path().join("guest.wasm")));
    refused(&home, &["policy", "pull", &place], "a place with its digest is taken from what was pulled before");
}

#[test]
fn nothing_is_written_that_no_trusted_key_vouches_for() {
    let Some(registry) = Registry::start() else { return };
    let home = signed();
    let place = registry.place("acme/guest:1.0.0");
    write(&home, "bare.wasm", &component_of(""));
    refused(&home, &["policy", "push", "bare.wasm", &place], "nobody signed");
    done(&home, &["policy", "push", "bare.wasm", &place, "--unsigned"]);
    refused(&home, &["policy", "pull", &place, "--into", "in"], "nobody signed it");
    key(&home, "other.key");
    done(&home, &["policy", "sign", "--key", "other.key", "bare.wasm"]);
    done(&home, &["policy", "push", "bare.wasm", &place]);
    refused(&home, &["policy", "pull", &place, "--into", "in"], "none of `policies.keys`");
    done(&home, &["policy", "sign", "--key", "ours.key", "bare.wasm"]);
    done(&home, &["policy", "push", "bare.wasm", &place]);
    refused(&home, &["policy", "pull", &place, "--into", "in"], "not trusted for the policy `bare`");
    write(&home, "guest.wasm", &component_of(""));
    done(&home, &["policy", "push", "guest.wasm", &place]);
    refused(&home, &["policy", "pull", &place, "--into", "in"], "it was changed after");
    assert!(!home.path().join("in").exists(), "something was written");
    // With `--unsigned` it is the operator who vouches.
    done(&home, &["policy", "pull", &place, "--into", "in", "--unsigned"]);
}

#[test]
fn bundles_and_packs_travel_with_their_signatures() {
    let Some(registry) = Registry::start() else { return };
    let home = signed();
    std::fs::create_dir(home.path().join("source")).expect("the folder is created");
    write(&home, "source/guest.wasm", &component("denies-named"));
    let make = ["policy", "bundle", "source", "--name", "site", "--bundle-version", "1.0.0", "--key", "ours.key"];
    done(&home, &make);
    let place = registry.place("acme/site:stable");
    done(&home, &["policy", "push", "site.bundle", &place]);
    let pulled = done(&home, &["policy", "pull", &place, "--into", "in"]);
    assert_eq!(member(&pulled, "vouched"), "site 1.0.0, 1 file, by ours");
    assert_eq!(read(&home.path().join("in/site.bundle")), read(&home.path().join("site.bundle")));

    write(&home, "words.pack.yaml", b"policy: guest\nname: words\nversion: 1.0.0\ndata: []");
    let place = registry.place("acme/words:1.0.0");
    refused(&home, &["policy", "push", "words.pack.yaml", &place], "nobody signed");
    done(&home, &["policy", "sign", "--key", "ours.key", "words.pack.yaml"]);
    done(&home, &["policy", "push", "words.pack.yaml", &place]);
    let pulled = done(&home, &["policy", "pull", &place, "--into", "in"]);
    assert_eq!(member(&pulled, "vouched"), "by ours");
    assert!(home.path().join("in/words.pack.yaml.minisig").exists());
    refused(&home, &["policy", "push", "config.yaml", &place], "no module, pack or bundle");
}

#[test]
fn what_a_registry_changed_is_refused_by_its_digest() {
    let Some(registry) = Registry::start() else { return };
    let home = signed();
    let place = registry.place("acme/guest:1.0.0");
    let exactly = member(&done(&home, &["policy", "push", "guest.wasm", &place]), "place").to_owned();
    let length = read(&home.path().join("guest.wasm")).len();
    let mut changed = 0;
    change(&registry.storage(), length, &mut changed);
    assert_eq!(changed, 1, "the layer is stored once");
    for place in [&place, &exactly] {
        refused(&home, &["policy", "pull", place, "--into", "in"], "the layer broke off or has another digest");
    }
    assert!(!home.path().join("in").exists());
}

/// Changes a byte of every stored file of that length.
fn change(folder: &Path, length: usize, changed: &mut usize) {
    for entry in std::fs::read_dir(folder).expect("the storage is read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            change(&path, length, changed);
        } else if entry.metadata().expect("it is there").len() == length as u64 {
            let mut bytes = read(&path);
            *bytes.get_mut(length / 2).expect("it has bytes") ^= 1;
            std::fs::write(&path, bytes).expect("it is written");
            *changed += 1;
        }
    }
}

#[test]
fn a_registry_elsewhere_is_never_spoken_to_in_the_clear() {
    let home = signed();
    // Nothing listens for TLS there; what matters is that it was TLS which failed.
    let Some(registry) = Registry::start() else { return };
    let port = registry.place("a").rsplit_once(':').map(|(_, rest)| rest.to_owned()).expect("a port");
    let port = port.trim_end_matches("/a");
    let elsewhere = format!("oci://localhost.localdomain:{port}/acme/guest:1.0.0");
    refused(&home, &["policy", "push", "guest.wasm", &elsewhere], "https://localhost.localdomain");
    refused(&home, &["policy", "push", "guest.wasm", "registry.example/acme/guest"], "a place begins with `oci://`");
}
