//! Recorded passages, judged again.

use std::process::Output;

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;
use crate::encode::component;

fn config(payloads: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = object! { "command" => "python3", "args" => vec![Value::from(script)] };
    let config = object! {
        "mcp_servers" => object! { "good" => server },
        "policies" => object! { "allow_unsigned" => true },
        "journal" => object! { "payloads" => payloads },
    };
    Value::from(config).to_json()
}

fn run(home: &Home, arguments: &[&str]) -> (Output, Value) {
    let output = home.command(arguments).output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = parse_str(text.trim()).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    });
    (output, value)
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {value:?}"))
}

/// Calls some tools, one of them with what another one answered.
fn recorded(home: &Home) {
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let names = client.call("mcp__good__variables", object! {}.into()).text();
    let echoing = object! { "text" => format!("they are {names}, are they not? {names}") };
    client.call("mcp__good__plain", echoing.into());
    client.call("mcp__good__magic-keys", object! {}.into());
    client.call("mcp__good__frobnicate", object! {}.into());
    assert!(client.close(std::time::Duration::from_mins(1)), "the gateway ends with its client");
}

#[test]
fn the_same_policies_decide_recorded_traffic_the_same_and_another_one_does_not() {
    let home = Home::new(PROGRAM, &config("full"));
    recorded(&home);
    let (output, same) = run(&home, &["replay", "--json"]);
    assert_eq!(number(&same, "/decided_otherwise"), 0, "{same:?}");
    assert_eq!(number(&same, "/noticed_otherwise"), 0, "{same:?}");
    assert!(number(&same, "/judged") > 20, "the tools, four calls and their results: {same:?}");
    assert_eq!(number(&same, "/skipped/without_payload"), 0, "{same:?}");
    assert!(number(&same, "/skipped/never_kept") >= 2, "the server's entry and its environment: {same:?}");
    assert!(output.status.success());

    let denying = home.path().join("denying.wasm");
    std::fs::write(&denying, component("denies-named")).unwrap();
    let (output, other) = run(&home, &["replay", "--json", "--policy", &denying.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(number(&other, "/decided_otherwise"), 1, "{other:?}");
    let difference = other.pointer("/differences/0").unwrap();
    assert_eq!(difference.get("name").and_then(Value::as_str), Some("frobnicate"));
    assert_eq!(difference.get("before").and_then(Value::as_str), Some("cleared"), "{difference:?}");

    let (_, calls) = run(&home, &["journal", "query", "--gate", "call", "--tool", "plain", "--json"]);
    let id = number(&calls, "/passages/0/id").to_string();
    let (_, explained) = run(&home, &["explain", &id, "--json"]);
    assert!(number(&explained, "/told/0/labels") > 0, "the results before left labels: {explained:?}");
    assert!(number(&explained, "/told/0/echoes") > 0, "and were echoed: {explained:?}");
}

#[test]
fn a_refusal_is_explained_by_the_rule_that_made_it() {
    let home = Home::new(PROGRAM, &config("full"));
    home.drop_policy("guest.wasm", &component("denies-named"));
    recorded(&home);
    let (_, refused) = run(&home, &["journal", "query", "--decision", "refused", "--tool", "frobnicate", "--json"]);
    let id = number(&refused, "/passages/0/id").to_string();
    let (output, explained) = run(&home, &["explain", &id, "--json"]);
    assert!(output.status.success());
    let policies = explained.get("policies").and_then(Value::as_array).unwrap();
    let guest = policies.iter().find(|said| said.get("policy").and_then(Value::as_str) == Some("guest")).unwrap();
    assert_eq!(guest.get("now"), guest.get("then"), "{guest:?}");
    assert!(guest.get("now").and_then(Value::as_str).unwrap().starts_with("denied"), "{guest:?}");
    assert_eq!(guest.get("same_policy"), Some(&Value::Bool(true)));
}

#[test]
fn without_payloads_replay_says_how_much_it_skipped() {
    let home = Home::new(PROGRAM, &config("digest"));
    recorded(&home);
    let (output, replayed) = run(&home, &["replay", "--json"]);
    assert!(output.status.success());
    assert_eq!(number(&replayed, "/judged"), 0);
    assert!(number(&replayed, "/skipped/without_payload") > 20, "{replayed:?}");
    let explained = home.command(&["explain", "1"]).output().unwrap();
    assert_eq!(explained.status.code(), Some(1));
}
