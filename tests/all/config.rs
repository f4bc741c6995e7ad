//! A config that changes while calls run: what it concerns changes, and no call of another server is lost.

use std::time::{Duration, Instant};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;

/// A machine that is busy with other tests starts servers slowly. The bound tells a slow one from a broken one.
const PATIENCE: Duration = Duration::from_mins(1);

fn config(names: &[&str], more: &[(&str, Value)]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let mut servers = object! {};
    for name in names {
        servers.insert(*name, object! { "command" => "python3", "args" => vec![script.into(), "normal".into()] });
    }
    let mut config = object! { "mcp_servers" => servers };
    for (key, value) in more {
        config.insert(*key, value.clone());
    }
    Value::from(config).to_json()
}

/// Replaces the config as an editor does.
fn write(home: &Home, text: &str) {
    let beside = home.path().join("config.yaml.new");
    std::fs::write(&beside, text).expect("the config is written");
    std::fs::rename(beside, home.path().join("config.yaml")).expect("the config is replaced");
}

/// Calls the server that stays until the condition holds. Each call must be answered.
fn call_until(client: &mut Client, home: &Home, what: &str, holds: impl Fn(&mut Client) -> bool) {
    let began = Instant::now();
    while !holds(client) {
        assert!(began.elapsed() < PATIENCE, "not after {PATIENCE:?}: {what}\n{}", home.stderr());
        for _ in 0..8 {
            let reply = client.call("mcp__stays__plain", object! {}.into());
            assert_eq!(reply.text(), "plain", "{}", reply.message.to_json());
        }
    }
}

fn lists(client: &mut Client, tool: &str) -> bool {
    client.tool_names().iter().any(|name| name == tool)
}

#[test]
fn servers_come_and_go_with_the_config_and_no_call_of_another_fails() {
    let home = Home::new(PROGRAM, &config(&["stays", "goes"], &[]));
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(lists(&mut client, "mcp__goes__plain"), "{}", home.stderr());

    write(&home, &config(&["stays", "comes"], &[]));
    call_until(&mut client, &home, "a new server is listed", |client| lists(client, "mcp__comes__plain"));
    assert!(!lists(&mut client, "mcp__goes__plain"), "what the config no longer names is withdrawn");
    assert_eq!(client.call("mcp__comes__plain", object! {}.into()).text(), "plain");

    // Nothing of this can be used: it changes nothing and is reported.
    write(&home, "mcp_servers: {stays: {command: [");
    call_until(&mut client, &home, "the mistake is reported", |_| home.stderr().contains("still counts"));
    assert!(lists(&mut client, "mcp__comes__plain"));

    // Policies are part of it: one that is switched off judges no longer.
    let herald = |client: &mut Client| lists(client, "mcp__stays__herald");
    let before = herald(&mut client);
    let off = object! { "description-scan" => object! { "mode" => "off" }, "required" => Vec::new() };
    write(&home, &config(&["stays"], &[("policies", off.into())]));
    call_until(&mut client, &home, "the policies are others", |client| !lists(client, "mcp__comes__plain"));
    assert!(before && herald(&mut client), "what was published stays published");
    assert!(home.stderr().contains("the config changed what judges"), "{}", home.stderr());
}

#[cfg(unix)]
#[test]
fn a_service_that_is_told_to_reads_its_config_again_and_does_not_end() {
    let home = Home::new(PROGRAM, &config(&["stays"], &[]));
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(lists(&mut client, "mcp__stays__plain"), "{}", home.stderr());
    let told = std::process::Command::new("kill").arg("-HUP").arg(client.process().to_string()).status();
    assert!(told.expect("kill runs").success());
    call_until(&mut client, &home, "it is read again", |_| home.stderr().contains("the config was read again"));
    assert!(client.close(PATIENCE));
}
