//! Keys, signatures and bundles by the commands of the program, and what a gateway's policies make of them.

use std::path::Path;
use std::process::Output;

use portcullis_model::json::{Value, parse};
use portcullis_model::object;
use portcullis_tests::Home;

use crate::PROGRAM;
use crate::encode::component;

fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).current_dir(home.path()).output().expect("the program runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a key without password, and returns its public half.
fn key(home: &Home) -> String {
    let made = run(home, &["policy", "keygen", "--no-password", "--json", "ours.key"]);
    assert!(made.status.success(), "{}", home.stderr());
    let made = parse(text(&made).trim().as_bytes()).expect("one document");
    made.get("key").and_then(Value::as_str).expect("the public key").to_owned()
}

/// Trusts a key for the guest.
fn trust(home: &Home, key: &str) {
    let key = object! { "name" => "ours", "key" => key, "names" => vec![Value::from("guest")] };
    let config = object! { "policies" => object! { "keys" => vec![Value::from(key)] } };
    std::fs::write(home.path().join("config.yaml"), Value::from(config).to_json()).expect("the config is written");
}

fn policies(home: &Home) -> Value {
    let list = run(home, &["policy", "list", "--json"]);
    assert!(list.status.success(), "{}", home.stderr());
    parse(text(&list).trim().as_bytes()).expect("one document")
}

fn policy(home: &Home, name: &str) -> Option<Value> {
    let list = policies(home);
    let list = list.get("policies").and_then(Value::as_array).expect("policies");
    list.iter().find(|policy| policy.get("name").and_then(Value::as_str) == Some(name)).cloned()
}

fn member<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn a_key_is_made_once_for_its_owner_only_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::cold(PROGRAM, "{}");
    key(&home);
    let secret = home.path().join("ours.key");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&secret), 0o600);
    let before = std::fs::read(&secret).expect("it is read");
    for taken in ["ours.key", "ours.pub"] {
        let again = run(&home, &["policy", "keygen", "--no-password", taken]);
        assert_eq!(again.status.code(), Some(2), "{taken}");
    }
    std::fs::remove_file(home.path().join("ours.pub")).expect("it is removed");
    assert!(!run(&home, &["policy", "keygen", "--no-password", "ours.key"]).status.success());
    assert!(!home.path().join("ours.pub").exists(), "half a pair is none");
    assert_eq!(std::fs::read(&secret).expect("it is read"), before);
}

#[test]
fn a_protected_key_signs_with_its_password_only() {
    let home = Home::cold(PROGRAM, "{}");
    let password = ["open ", "sesame"].concat();
    std::fs::write(home.path().join("right"), &password).expect("it is written");
    std::fs::write(home.path().join("wrong"), "anything else").expect("it is written");
    let made = run(&home, &["policy", "keygen", "ours.key", "--password-file", "right"]);
    assert!(made.status.success(), "{}", home.stderr());
    home.drop_policy("guest.wasm", &component("denies-named"));
    let sign = |password: &str| {
        let file = "policies.d/guest.wasm";
        run(&home, &["policy", "sign", file, "--key", "ours.key", "--password-file", password]).status.success()
    };
    assert!(!sign("wrong"));
    assert!(home.stderr().contains("the password does not open the secret key"), "{}", home.stderr());
    assert!(sign("right"), "{}", home.stderr());
    let verify = ["policy", "verify", "--public-key", "ours.pub", "policies.d/guest.wasm"];
    assert!(run(&home, &verify).status.success());
}

#[test]
fn a_signed_module_is_taken_and_a_changed_one_is_refused() {
    let home = Home::new(PROGRAM, "{}");
    let key = key(&home);
    trust(&home, &key);
    home.drop_policy("guest.wasm", &component("denies-named"));
    let unsigned = policy(&home, "guest").expect("it is told of");
    assert_eq!(member(&unsigned, "state"), "refused");
    assert!(member(&unsigned, "reason").contains("no signature of a trusted key"));
    let signed = run(&home, &["policy", "sign", "--key", "ours.key", "policies.d/guest.wasm"]);
    assert!(signed.status.success(), "{}", home.stderr());
    let taken = policy(&home, "guest").expect("it is there");
    assert_eq!((member(&taken, "state"), member(&taken, "signed_by")), ("loaded", "ours"));
    let verified = run(&home, &["policy", "verify", "policies.d/guest.wasm"]);
    assert!(verified.status.success() && text(&verified).contains("vouched for: by ours"), "{}", text(&verified));
    home.drop_policy("guest.wasm", &component("trap"));
    let changed = policy(&home, "guest").expect("it is told of");
    assert!(member(&changed, "reason").contains("it was changed after"), "{}", changed.to_json());
    let verified = run(&home, &["policy", "verify", "policies.d/guest.wasm"]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified).contains("refused: it was changed after"), "{}", text(&verified));
}

#[test]
fn a_bundle_is_made_verified_and_taken_and_an_older_one_is_refused_by_the_next_process() {
    let home = Home::new(PROGRAM, "{}");
    let key = key(&home);
    trust(&home, &key);
    let source = home.path().join("source");
    std::fs::create_dir(&source).expect("the folder is created");
    std::fs::write(source.join("guest.wasm"), component("denies-named")).expect("it is written");
    let make = |version: &str| {
        let arguments = ["policy", "bundle", "source", "--name", "site", "--bundle-version", version];
        let made = run(&home, &[&arguments[..], &["--key", "ours.key"]].concat());
        assert!(made.status.success(), "{}", home.stderr());
        std::fs::read(home.path().join("site.bundle")).expect("it is read")
    };
    let (older, newer) = (make("1.9.0"), make("1.10.0"));
    let verified = run(&home, &["policy", "verify", "site.bundle"]);
    assert!(text(&verified).contains("vouched for: site 1.10.0, 1 file, by ours"), "{}", text(&verified));
    home.drop_policy("site.bundle", &newer);
    let taken = policy(&home, "guest").expect("it is there");
    assert_eq!((member(&taken, "bundle"), member(&taken, "bundle_version")), ("site", "1.10.0"));
    home.drop_policy("site.bundle", &older);
    let refused = policy(&home, "site.bundle").expect("it is told of");
    assert!(member(&refused, "reason").contains("1.9.0 of it is older than 1.10.0"), "{}", refused.to_json());
}

#[test]
fn taking_modules_that_nobody_signed_is_shown() {
    let home = Home::new(PROGRAM, "policies: {allow_unsigned: true}");
    home.drop_policy("guest.wasm", &component("denies-named"));
    let list = text(&run(&home, &["policy", "list"]));
    assert!(list.contains("signed    by nobody") && list.contains("allow_unsigned: true"), "{list}");
}
