//! The commands, as a shell sees them.

use std::process::Output;

use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;

fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_demo_stops_everything_that_it_shows() {
    let home = Home::new(PROGRAM, "");
    let output = run(&home, &["demo"]);
    assert!(output.status.success(), "{}\n{}", stdout(&output), home.stderr());
}

#[test]
fn wrap_fronts_one_server_without_any_config() {
    let home = Home::new(PROGRAM, "");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let mut command = home.command(&["wrap", "--", "python3", script]);
    let mut client = Client::connect(&mut command, object! {}.into());
    let names = client.tool_names();
    let plain = names.iter().find(|name| name.ends_with("plain")).unwrap_or_else(|| panic!("no tool: {names:?}"));
    assert_eq!(client.call(&plain.clone(), object! {}.into()).text(), "plain");
}

#[test]
fn a_wrapped_server_gets_what_is_passed_by_name_and_nothing_else_of_its_kind() {
    let home = Home::new(PROGRAM, "");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let mut command = home.command(&["wrap", "--pass", "WANTED_TOKEN", "--", "python3", script]);
    command.env("WANTED_TOKEN", "for the server").env("OTHER_TOKEN", "for somebody else");
    let mut client = Client::connect(&mut command, object! {}.into());
    let names = client.call("variables", object! {}.into()).text();
    let has = |name: &str| names.split(' ').any(|known| known == name);
    assert!(has("WANTED_TOKEN") && has("PATH") && !has("OTHER_TOKEN"), "{names}");
}

#[test]
fn safe_mode_starts_no_server_and_says_so() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let home = Home::new(PROGRAM, &format!("mcp_servers: {{one: {{command: python3, args: [{script}]}}}}"));
    let mut client = Client::start(home.command(&["run"]).env("PORTCULLIS_SAFE_MODE", "1"));
    let params = object! {
        "protocolVersion" => "2025-11-25", "capabilities" => object! {},
        "clientInfo" => object! { "name" => "test", "version" => "1" },
    };
    let hello = client.request("initialize", params.into());
    let instructions = hello.result().get("instructions").and_then(|text| text.as_str()).unwrap_or_default().to_owned();
    assert!(instructions.to_lowercase().contains("safe mode"), "{instructions}");
    // The gateway's own tool, by which a model can ask why there is no other.
    assert_eq!(client.tool_names(), ["portcullis_status"]);
}

#[test]
fn test_fails_for_a_server_that_does_not_answer_and_passes_for_one_that_does() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let config = format!(
        "mcp_servers:\n  good: {{command: python3, args: ['{script}']}}\n  bad: {{command: python3, args: ['{script}', dies-at-start]}}\n"
    );
    let home = Home::new(PROGRAM, &config);
    let good = run(&home, &["test", "good"]);
    assert!(good.status.success(), "{}", home.stderr());
    assert!(stdout(&good).contains("plain"), "{}", stdout(&good));
    assert_eq!(run(&home, &["test", "bad"]).status.code(), Some(1));
    assert_ne!(run(&home, &["test", "unknown"]).status.code(), Some(0));
}
