//! `portcullis status`: running gateways of a home, asked from another terminal.

use std::process::Output;
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;
use crate::serving::Serving;

fn home(more: &str) -> Home {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let config = format!(
        "mcp_servers:\n  files: {{command: python3, args: ['{script}', normal]}}\n  \
         gone: {{command: /nonexistent/server, enabled: false}}\n{more}"
    );
    Home::new(PROGRAM, &config)
}

fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).output().expect("the program runs")
}

fn gateways(home: &Home) -> Vec<Value> {
    let output = run(home, &["status", "--json"]);
    assert!(output.status.success(), "{}", home.stderr());
    let status = parse_str(String::from_utf8_lossy(&output.stdout).trim()).expect("a JSON document");
    status.get("gateways").and_then(Value::as_array).expect("gateways").to_vec()
}

/// Returns what a gateway tells of one thing of that name.
fn named<'a>(gateway: &'a Value, list: &str, name: &str) -> &'a Value {
    let things = gateway.get(list).and_then(Value::as_array).unwrap_or_default();
    let named = things.iter().find(|thing| thing.get("name").and_then(Value::as_str) == Some(name));
    named.unwrap_or_else(|| panic!("no {name} in {list}: {}", gateway.to_json()))
}

/// Waits until a gateway tells that of the server `files`.
fn wait_for_phase(home: &Home, phase: &str) {
    let end = Instant::now() + Duration::from_mins(2);
    loop {
        let told = gateways(home);
        let found = named(told.first().expect("a gateway"), "servers", "files").get("phase").and_then(Value::as_str);
        if found == Some(phase) {
            return;
        }
        assert!(Instant::now() < end, "never {phase}: {told:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn servers_that_an_operator_stops_are_withdrawn_until_they_are_let_run_again_and_later_gateways_start_none() {
    let home = home("");
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    client.tools_once(|tools| !tools.is_empty());
    assert!(run(&home, &["stop"]).status.success());
    wait_for_phase(&home, "disabled");
    let refused = client.call("mcp__files__plain", object! { "text" => "a" }.into());
    assert!(refused.message.to_json().contains("no tool of this name"), "{refused:?}");
    let text = String::from_utf8(run(&home, &["status"]).stdout).expect("the output is text");
    assert!(text.contains("stopped by the operator"), "{text}");
    // A change of the config starts none either.
    let config = std::fs::read_to_string(home.path().join("config.yaml")).expect("the config is there");
    std::fs::write(home.path().join("config.yaml"), format!("{config}  more: {{command: /nonexistent/more}}\n"))
        .expect("the config is written");
    assert!(run(&home, &["reload"]).status.success());
    let end = Instant::now() + Duration::from_mins(2);
    let more = || gateways(&home).iter().any(|gateway| gateway.to_json().contains("\"more\""));
    while !more() {
        assert!(Instant::now() < end, "the config was never read");
        std::thread::sleep(Duration::from_millis(200));
    }
    wait_for_phase(&home, "disabled");
    drop(client);

    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    client.tools();
    wait_for_phase(&home, "disabled");
    assert!(run(&home, &["resume"]).status.success());
    wait_for_phase(&home, "ready");
    client.tools_once(|tools| tools.iter().any(|tool| tool.to_json().contains("mcp__files__plain")));
    client.call("mcp__files__plain", object! { "text" => "a" }.into()).result();
}

#[test]
fn each_running_gateway_tells_of_its_servers_what_they_were_used_for_its_sessions_and_its_policies() {
    let home = home("policies:\n  trust: {mode: shadow}\n");
    assert_eq!(gateways(&home), Vec::<Value>::new());
    let text = run(&home, &["status"]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("no gateway"), "{text:?}");

    let serving = Serving::start(&home, &[]);
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    client.tools_once(|tools| !tools.is_empty());
    client.call("mcp__files__plain", object! { "text" => "a" }.into()).result();
    client.call("mcp__files__plain", object! { "text" => "b" }.into()).result();

    let told = gateways(&home);
    assert_eq!(told.len(), 2, "{told:?}");
    let process = |gateway: &Value| gateway.get("process").and_then(Value::as_u64);
    let own = u64::from(client.process());
    let gateway = told.iter().find(|gateway| process(gateway) == Some(own)).expect("the gateway of the client");
    assert_eq!(gateway.get("front").and_then(Value::as_str), Some("standard streams"));
    assert_eq!(gateway.get("safe_mode"), Some(&Value::Bool(false)));
    assert!(gateway.get("generation").and_then(Value::as_u64) > Some(0));
    let files = named(gateway, "servers", "files");
    assert_eq!(files.get("phase").and_then(Value::as_str), Some("ready"), "{}", files.to_json());
    assert!(files.get("since_ms").and_then(Value::as_u64) > Some(0));
    let usage = |pointer: &str| files.pointer(pointer).and_then(Value::as_u64);
    assert_eq!(
        (usage("/usage/requests"), usage("/usage/errors"), usage("/usage/tools/plain")),
        (Some(2), Some(0), Some(2))
    );
    assert!(usage("/usage/tokens_received_estimate").is_some());
    let gone = named(gateway, "servers", "gone");
    assert_eq!(gone.get("phase").and_then(Value::as_str), Some("disabled"));
    assert_eq!(gone.get("code").and_then(Value::as_str), Some("disabled"));
    let session = gateway.pointer("/sessions/0/client").and_then(Value::as_str);
    assert_eq!(session, Some("raw-test-client"), "{}", gateway.to_json());
    let loosened = named(gateway, "policies", "trust").pointer("/loosened/0").and_then(Value::as_str);
    assert_eq!(loosened, Some("mode: shadow"));

    let other = told.iter().find(|gateway| process(gateway) != Some(own)).expect("the other gateway");
    let front = format!("http://{}/mcp", serving.address);
    assert_eq!(other.get("front").and_then(Value::as_str), Some(front.as_str()));
    assert_eq!(named(other, "servers", "files").pointer("/usage/requests").and_then(Value::as_u64), Some(0));

    let text = String::from_utf8(run(&home, &["status"]).stdout).expect("the output is text");
    for line in ["files: ready", "most used: plain 2", "policy trust: loosened by the config: mode: shadow", &front] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    drop(serving);
    assert_eq!(gateways(&home).len(), 1, "one that was killed is not shown");
}
