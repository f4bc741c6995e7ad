//! Servers that misbehave: a prompt and clear error for the call in question, and nothing else.

use std::time::Duration;

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Reply};

use crate::PROGRAM;

fn config() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = |mode: &str| object! { "command" => "python3", "args" => vec![script.into(), mode.into()] };
    let mut silent = server("silent");
    silent.insert("connect_timeout", 2_u64);
    let servers = object! {
        "bad" => server("normal"), "good" => server("normal"), "stillborn" => server("dies-at-start"),
        "silent" => silent, "absent" => object! { "command" => "no-such-program-anywhere" },
    };
    Value::from(object! { "mcp_servers" => servers }).to_json()
}

/// Calls a tool of the server that misbehaves. A hang would last for the call's timeout of 300 s, of which the client waits
/// for a fraction.
fn call(client: &mut Client, tool: &str) -> Reply {
    client.call(&format!("mcp__bad__{tool}"), object! {}.into())
}

/// Returns what the reply says went wrong, in whichever form it says so.
fn complaint(reply: &Reply) -> String {
    if let Some(message) = reply.message.pointer("/error/message").and_then(Value::as_str) {
        return message.to_owned();
    }
    assert_eq!(reply.result().get("isError"), Some(&Value::Bool(true)), "{}", reply.message.to_json());
    reply.text()
}

#[test]
fn an_answer_that_can_be_understood_is_understood() {
    let home = Home::new(PROGRAM, &config());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    for (tool, text) in [
        ("plain", "plain"),
        ("noise", "after the noise"),
        ("wrong_id", "for you"),
        ("text_id", "by a text id"),
        ("null_error", "beside a null"),
        ("no_version", "without a version"),
        ("twice", "first"),
        ("foreign_members", "as a tool"),
        ("plain", "plain"),
    ] {
        assert_eq!(call(&mut client, tool).text(), text, "{tool}");
    }
}

#[test]
fn magic_keys_and_big_numbers_stay_data() {
    let home = Home::new(PROGRAM, &config());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let reply = call(&mut client, "magic_keys");
    let expected =
        r#"{"number":{"$serde_json::private::Number":"1"},"__proto__":{"a":1},"big":12345678901234567890123}"#;
    assert_eq!(reply.result().get("structuredContent"), Some(&parse_str(expected).unwrap()));
}

#[test]
fn content_of_a_kind_that_nobody_knows_arrives_as_it_was() {
    let home = Home::new(PROGRAM, &config());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let content = call(&mut client, "strange_content").result().get("content").map(Value::to_json);
    let expected = r#"[{"type":"video","data":"AA","x":1},{"type":"text","text":"beside a video"}]"#;
    assert_eq!(content.as_deref(), Some(expected));
}

#[test]
fn a_malformed_answer_fails_its_call_at_once_and_no_other() {
    let home = Home::new(PROGRAM, &config());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    for tool in ["huge_line", "duplicate_keys", "lone_surrogate", "invalid_utf8", "odd_code", "no_id", "cancels"] {
        let complaint = complaint(&call(&mut client, tool));
        assert!(complaint.contains("bad"), "{tool}: the server is not named in {complaint:?}");
        assert_eq!(call(&mut client, "plain").text(), "plain", "after {tool}");
    }
}

#[test]
fn a_server_that_dies_in_a_call_fails_it_at_once_and_the_others_work_on() {
    let home = Home::new(PROGRAM, &config());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert_eq!(call(&mut client, "plain").text(), "plain", "before");
    let reply = call(&mut client, "die");
    assert!(!complaint(&reply).is_empty());
    assert_eq!(client.call("mcp__good__plain", object! {}.into()).text(), "plain");
}

#[test]
fn servers_that_cannot_start_harm_none_and_are_reported() {
    let home = Home::new(PROGRAM, &config());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let names = client.tool_names();
    assert!(names.contains(&"mcp__good__plain".to_owned()), "{names:?}");
    assert!(!names.contains(&"mcp__bad__no_schema".to_owned()), "a tool without a schema was published");
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    let told = |stderr: &str| {
        ["stillborn", "frobnicator", "silent", "absent", "no-such-program-anywhere", "no-schema"]
            .into_iter()
            .filter(|word| !stderr.contains(word))
            .collect::<Vec<_>>()
    };
    while !told(&home.stderr()).is_empty() && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(told(&home.stderr()), Vec::<&str>::new(), "not in the log:\n{}", home.stderr());
}

#[test]
fn nothing_of_a_server_survives_the_gateway_even_when_that_is_killed() {
    let home = Home::new(PROGRAM, &config());
    for kill in [false, true] {
        let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
        let grandchild: u32 = call(&mut client, "grandchild").text().parse().expect("a process id");
        assert!(is_alive(grandchild));
        if kill {
            let gateway = client.process().to_string();
            std::process::Command::new("kill").args(["-KILL", &gateway]).status().expect("kill runs");
        }
        drop(client);
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        while is_alive(grandchild) && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(!is_alive(grandchild), "the grandchild survived (gateway killed: {kill})");
    }
}

#[test]
fn a_server_that_does_not_want_to_end_ends_with_the_gateway() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = object! { "command" => "python3", "args" => vec![script.into(), "stubborn".into()] };
    let home = Home::new(PROGRAM, &Value::from(object! { "mcp_servers" => object! { "bad" => server } }).to_json());
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let grandchild: u32 = call(&mut client, "grandchild").text().parse().expect("a process id");
    let server = std::fs::read_to_string(format!("/proc/{grandchild}/stat")).expect("it runs");
    let server = server.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
    let server = server.expect("the process that started it");
    assert!(is_alive(server));
    drop(client);
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    while (is_alive(server) || is_alive(grandchild)) && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!is_alive(server) && !is_alive(grandchild), "what ignores TERM has to be killed");
}

/// A zombie counts as ended: it only waits for whoever adopted it.
fn is_alive(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z')))
}
