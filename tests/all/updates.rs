//! A running gateway that fetches its policies and packs from a registry. Skipped where none is installed.

use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Registry};

use crate::PROGRAM;
use crate::encode::{component, component_of};
use crate::hot_swap::{Load, PATIENCE, indicators, is_refused, lists, moved, policy_command};
use crate::registry::{done, key, member, run, write};

/// A home whose gateway looks at a place every second, and trusts its own key for the guest and for packs of a policy.
fn home(place: &str) -> Home {
    home_with(object! { "from" => place, "every" => "1s" })
}

fn home_with(update: Object) -> Home {
    let home = Home::new(PROGRAM, "{}");
    let key = key(&home, "ours.key");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = |argument: &str| object! { "command" => "python3", "args" => vec![script.into(), argument.into()] };
    let names = ["guest", "config-screen"].map(Value::from).to_vec();
    let required = ["config-screen", "environment", "description-scan", "trust", "result-sanitizer", "server-requests"];
    let config = object! {
        "mcp_servers" => object! { "good" => server("normal"), "marked" => server("--report-to=collect.example") },
        "policies" => object! {
            "required" => required.map(Value::from).to_vec(),
            "keys" => vec![Value::from(object! { "name" => "ours", "key" => key, "names" => names })],
            "update" => update,
        },
        "approvals" => object! { "proof" => "none" },
    };
    write(&home, "config.yaml", Value::from(config).to_json().as_bytes());
    home
}

/// Signs a file and pushes it to a place.
fn ship(home: &Home, name: &str, bytes: &[u8], place: &str) -> String {
    write(home, name, bytes);
    done(home, &["policy", "sign", "--key", "ours.key", name]);
    member(&done(home, &["policy", "push", name, place]), "digest").to_owned()
}

/// Makes a bundle with the guest in it and pushes it.
fn ship_bundle(home: &Home, version: &str, module: &[u8], place: &str) -> String {
    let _there = std::fs::create_dir(home.path().join("source"));
    write(home, "source/guest.wasm", module);
    let arguments = ["policy", "bundle", "source", "--name", "site", "--bundle-version", version, "--key", "ours.key"];
    done(home, &arguments);
    member(&done(home, &["policy", "push", "site.bundle", place]), "digest").to_owned()
}

/// Returns what the gateway says of its updates.
fn update(home: &Home) -> Value {
    policy_command(home, &["status"]).pointer("/gateways/0/update").cloned().unwrap_or(Value::Null)
}

/// Returns how long the gateway took from the look that found a digest until it judged by it.
fn took(home: &Home, load: &mut Load, digest: &str) -> Duration {
    let mut took = None;
    load.run_until("the update is told", |_| {
        let update = update(home);
        if member(&update, "digest") == digest && member(&update, "outcome") == "taken" {
            took = update.get("took_us").and_then(Value::as_u64);
        }
        // Seen for a second only; the log has it for ever.
        took = took.or_else(|| logged(home, digest));
        took.is_some()
    });
    Duration::from_micros(took.expect("it was told"))
}

fn logged(home: &Home, digest: &str) -> Option<u64> {
    let log = home.stderr();
    let line = log.lines().find(|line| line.contains("policies were updated") && line.contains(digest))?;
    let (_, rest) = line.split_once("took_ms")?;
    let digits: String = rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().ok().map(|milliseconds| milliseconds * 1_000)
}

#[test]
fn updates_of_a_registry_take_effect_while_calls_run_and_no_call_is_lost() {
    let Some(registry) = Registry::start() else { return };
    let place = registry.place("acme/site:stable");
    let home = home(&place);
    home.policies();
    let client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let mut load = Load::of(client);
    assert!(lists(&mut load.client, "mcp__marked__plain"), "{}", home.stderr());
    load.run(500);
    let before = load.percentile();

    let digest = ship(&home, "guest.wasm", &component("denies-named"), &place);
    load.run_until("the module of the registry denies", |client| is_refused(client, "mcp__good__frobnicate"));
    let module = took(&home, &mut load, &digest);
    assert!(home.path().join("policies.d/guest.wasm.minisig").exists(), "it lies where operators look");

    let digest = ship(&home, "guest.wasm", &component_of(""), &place);
    load.run_until("the next version does not", |client| !is_refused(client, "mcp__good__frobnicate"));
    took(&home, &mut load, &digest);
    let back = moved(&home, "rollback");
    assert!(is_refused(&mut load.client, "mcp__good__frobnicate"));
    let forth = moved(&home, "promote");

    let digest = ship(&home, "campaign.pack.yaml", indicators().as_bytes(), &place);
    load.run_until("the server of the pack is stopped", |client| !lists(client, "mcp__marked__plain"));
    let pack = took(&home, &mut load, &digest);

    // A bundle brings the guest as well, so that the file of before has to go.
    for name in ["guest.wasm", "guest.wasm.minisig"] {
        std::fs::remove_file(home.policies().join(name)).expect("it is there");
    }
    load.run_until("the guest is gone", |_| {
        let list = policy_command(&home, &["status"]);
        !list.to_json().contains("\"name\":\"guest\"")
    });
    let digest = ship_bundle(&home, "1.0.0", &component("denies-named"), &place);
    load.run_until("the bundle denies", |client| is_refused(client, "mcp__good__frobnicate"));
    let bundle = took(&home, &mut load, &digest);

    while load.answered < 2_000 {
        load.run(100);
    }
    let during = load.percentile();
    println!(
        "{} calls answered; from the look that finds it until it judges: module {module:?}, pack {pack:?}, bundle \
         {bundle:?}; rolled back in {back} µs, promoted in {forth} µs; p99 {before:?} before, {during:?} during",
        load.answered
    );
}

/// Waits until the status of the gateway says something.
fn wait_for(home: &Home, what: &str) -> String {
    let began = Instant::now();
    loop {
        let status = policy_command(home, &["status"]).to_json();
        if status.contains(what) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "nothing says {what:?}: {status}\n{}", home.stderr());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn an_update_that_is_refused_alarms_and_changes_nothing_across_a_restart_too() {
    let Some(mut registry) = Registry::start() else { return };
    let place = registry.place("acme/site:stable");
    let home = home(&place);
    home.policies();
    ship_bundle(&home, "1.1.0", &component("denies-named"), &place);
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(lists(&mut client, "mcp__good__plain"), "{}", home.stderr());
    wait_for(&home, "\"bundle_version\":\"1.1.0\"");

    ship_bundle(&home, "1.0.0", &component_of(""), &place);
    let status = wait_for(&home, "1.0.0 of it is older than 1.1.0");
    assert!(status.contains("\"outcome\":\"refused\"") && status.contains("\"state\":\"alarm\""), "{status}");
    assert!(is_refused(&mut client, "mcp__good__frobnicate"));
    drop(client);

    // What was newest is known to the next process, and what is there judges without the registry.
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(is_refused(&mut client, "mcp__good__frobnicate"), "{}", home.stderr());
    let status = wait_for(&home, "1.0.0 of it is older than 1.1.0");
    assert!(status.contains("\"bundle_version\":\"1.1.0\""), "{status}");

    // A key that nobody trusts, and a module in the place of one of the default bundle.
    key(&home, "other.key");
    write(&home, "guest.wasm", &component_of(""));
    done(&home, &["policy", "sign", "--key", "other.key", "guest.wasm"]);
    done(&home, &["policy", "push", "guest.wasm", &place]);
    wait_for(&home, "none of `policies.keys`");
    ship(&home, "config-screen.wasm", &component_of(""), &place);
    wait_for(&home, "not replace");
    registry.stop();
    wait_for(&home, "could not be had 3 times and more");
    assert!(is_refused(&mut client, "mcp__good__frobnicate"));
    assert!(home.stderr().contains("alarm"), "{}", home.stderr());
}

#[test]
fn an_update_in_shadow_is_compared_and_promoted_once_it_made_no_difference_for_long_enough() {
    let Some(registry) = Registry::start() else { return };
    let place = registry.place("acme/site:stable");
    let home = home_with(object! { "from" => place.as_str(), "every" => "1s", "mode" => "shadow", "after" => 200_u64 });
    home.policies();
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(lists(&mut client, "mcp__good__plain"), "{}", home.stderr());
    ship_bundle(&home, "1.0.0", &component("denies-named"), &place);
    let status = wait_for(&home, "\"outcome\":\"in-shadow\"");
    assert!(status.contains("\"shadow\":[{\"name\":\"guest\""), "{status}");
    // It would deny this, and does not.
    assert!(!is_refused(&mut client, "mcp__good__frobnicate"));
    wait_for(&home, "\"differed\":1,");
    let journal = run(&home, &["journal", "query", "--decision", "compared", "--json"]);
    let journal = String::from_utf8_lossy(&journal.stdout);
    assert!(journal.contains("frobnicate") && journal.contains("hostile-rule"), "{journal}{}", home.stderr());
    assert!(!home.policies().join("site.bundle").exists(), "it counts for nothing yet");
    drop(client);
    // The next process goes on trying it, in a session that never heard of the word.
    let client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let mut load = Load::of(client);
    load.run_until("it is promoted", |_| home.stderr().contains("promoted by rule"));
    assert!(is_refused(&mut load.client, "mcp__good__frobnicate"), "{}", home.stderr());
    assert!(home.policies().join("site.bundle").exists());
    drop(load);
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(is_refused(&mut client, "mcp__good__frobnicate"), "a promotion outlives the process: {}", home.stderr());
}
