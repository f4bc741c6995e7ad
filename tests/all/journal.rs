//! The journal, as a shell sees it.

use std::process::{Command, Output};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;

fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| parse_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn member<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A home with a gateway that was killed in the middle of its work.
fn killed() -> Home {
    let home = Home::new(PROGRAM, "");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let mut client = Client::connect(&mut home.command(&["wrap", "--", "python3", script]), object! {}.into());
    assert_eq!(client.call("plain", object! {}.into()).text(), "plain");
    let killed = Command::new("kill").args(["-9", &client.process().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    home
}

#[test]
fn what_a_gateway_did_is_there_after_a_kill_and_can_be_shown_exported_and_checked() {
    let home = killed();
    let exported = lines(&run(&home, &["journal", "export"]));
    let gates: Vec<_> = exported.iter().map(|line| (member(line, "gate"), member(line, "name"))).collect();
    for wanted in [("call", "plain"), ("result", "plain")] {
        assert!(gates.contains(&wanted), "{gates:?}");
    }
    let calls = stdout(&run(&home, &["journal", "query", "--gate", "call", "--tool", "plain", "--since", "1h"]));
    assert_eq!(calls.lines().count(), 1, "{calls}");
    assert!(calls.contains("/plain: cleared"), "{calls}");
    let number = calls.split_whitespace().next().unwrap();
    let shown = run(&home, &["journal", "show", number, "--json"]);
    let shown = parse_str(stdout(&shown).trim()).unwrap();
    assert!(shown.get("policies").and_then(Value::as_array).is_some_and(|policies| policies.len() > 1), "{shown:?}");
    assert_eq!(run(&home, &["journal", "show", "999999"]).status.code(), Some(1));
    assert!(stdout(&run(&home, &["journal", "show", number])).contains("of chain"));
    assert_eq!(stdout(&run(&home, &["journal", "tail", "-n", "2"])).lines().count(), 2);
    assert!(run(&home, &["journal", "verify"]).status.success());
}

#[test]
fn events_for_a_siem_have_what_the_schema_requires() {
    let home = killed();
    let events = lines(&run(&home, &["journal", "export", "--as", "ocsf", "--gate", "call"]));
    assert!(!events.is_empty());
    for event in &events {
        let required = ["activity_id", "category_uid", "class_uid", "severity_id", "time", "type_uid"];
        for key in required {
            assert!(event.get(key).and_then(Value::as_u64).is_some(), "{key}: {event:?}");
        }
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap();
        assert_eq!(number("type_uid"), number("class_uid") * 100 + number("activity_id"));
        for pointer in ["/metadata/version", "/metadata/product/name", "/api/operation", "/actor/session/uid"] {
            assert!(event.pointer(pointer).and_then(Value::as_str).is_some(), "{pointer}: {event:?}");
        }
    }
}

#[test]
fn heads_that_were_kept_are_checked_and_a_changed_one_is_refused() {
    let home = killed();
    let heads = stdout(&run(&home, &["journal", "heads"]));
    assert!(!heads.is_empty());
    let kept = home.path().join("kept.jsonl");
    let verify = |text: &str| {
        std::fs::write(&kept, text).unwrap();
        run(&home, &["journal", "verify", "--heads", &kept.to_string_lossy()]).status.code()
    };
    assert_eq!(verify(&heads), Some(0));
    assert_eq!(verify(&heads.replacen("\"sequence\":", "\"sequence\":1", 1)), Some(2), "its signature does not fit");
    assert_eq!(verify("{}"), Some(2));
    let key = "00".repeat(32);
    std::fs::write(&kept, &heads).unwrap();
    let other = run(&home, &["journal", "verify", "--heads", &kept.to_string_lossy(), "--key", &key]);
    assert_eq!(other.status.code(), Some(2), "another key signed it");
}
