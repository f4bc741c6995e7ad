//! One server, exempted from one rule of a policy, for some time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;

/// Returns a config with two untrusted servers, of which one is exempted.
fn config(until: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server =
        object! { "command" => "python3", "args" => vec![script.into(), "normal".into()], "trust" => "untrusted" };
    let exemption = object! {
        "rule" => "write-capable", "server" => "files", "tool" => "plain", "until" => until, "reason" => "a test of ours",
    };
    let config = object! {
        "mcp_servers" => object! { "files" => server.clone(), "others" => server },
        "policies" => object! { "trust" => object! { "exempt" => vec![Value::from(exemption)] } },
    };
    Value::from(config).to_json()
}

fn printed(home: &Home, arguments: &[&str]) -> String {
    let output = home.command(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until both servers are there.
fn both_listed(client: &mut Client) {
    let names = ["mcp__files__plain", "mcp__others__plain"];
    let listed =
        |tools: &[Value], name: &str| tools.iter().any(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
    let tools = client.tools_once(|tools| names.iter().all(|name| listed(tools, name)));
    assert!(names.iter().all(|name| listed(&tools, name)), "{tools:?}");
}

#[test]
fn an_exemption_lifts_a_question_for_one_tool_of_one_server_and_is_seen_wherever_one_looks() {
    let home = Home::new(PROGRAM, &config("9999-12-31"));
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    both_listed(&mut client);
    assert_eq!(client.call("mcp__files__plain", object! {}.into()).text(), "plain", "{}", home.stderr());
    for other in ["mcp__others__plain", "mcp__files__magic_keys"] {
        let refused = client.call(other, object! {}.into()).text();
        assert!(refused.contains("approval-pending"), "{other}: {refused}");
    }
    assert!(client.close(Duration::from_mins(1)), "the gateway ends with its client");
    let passages = printed(&home, &["journal", "query", "--gate", "call", "--tool", "plain", "--json"]);
    assert!(passages.contains("exempted by the operator until 9999-12-31 (a test of ours)"), "{passages}");
    let inspected = printed(&home, &["policy", "inspect", "trust"]);
    assert!(inspected.contains("exempt   `write-capable` for `files`, `plain` until 9999-12-31"), "{inspected}");
    let listed = printed(&home, &["policy", "list"]);
    assert!(listed.contains("loosened  exemptions"), "{listed}");
}

#[test]
fn an_exemption_that_is_over_lifts_nothing_and_raises_an_alarm() {
    let home = Home::new(PROGRAM, &config("2020-01-01"));
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    both_listed(&mut client);
    let refused = client.call("mcp__files__plain", object! {}.into()).text();
    assert!(refused.contains("approval-pending"), "{refused}");
    assert!(client.close(Duration::from_mins(1)), "the gateway ends with its client");
    let listed = printed(&home, &["policy", "list"]);
    assert!(listed.contains("alarm") && listed.contains("is over and no longer counts"), "{listed}");
}

#[test]
fn the_lines_of_an_exemption_are_checked_before_they_are_printed() {
    let home = Home::new(PROGRAM, "mcp_servers: {}");
    let wrap = |rule: &str, until: &str, reason: &str| {
        let fixed = ["policy", "wrap", "trust", "--server", "files", "--json"];
        let all = [&fixed[..], &["--rule", rule, "--until", until, "--reason", reason]].concat();
        home.command(&all).output().unwrap()
    };
    let good = wrap("write-capable", "9999-12-31", "a: \"test\"");
    let lines = parse_str(String::from_utf8(good.stdout).unwrap().trim()).unwrap();
    let reason = lines.pointer("/policies/trust/exempt/0/reason").and_then(Value::as_str);
    assert_eq!(reason, Some("a: \"test\""));
    for (rule, until, reason) in [
        ("no-such-rule", "9999-12-31", "why"),
        ("write-capable", "2020-01-01", "why"),
        ("write-capable", "2026-02-30", "why"),
        ("write-capable", "9999-12-31", " "),
    ] {
        assert!(!wrap(rule, until, reason).status.success(), "{rule} {until} {reason}");
    }
}
