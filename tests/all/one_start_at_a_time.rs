//! Several gateways over one home: they start a server one after the other, and each gets a connection of its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;

/// Everything here happens within this, or has hung.
const PATIENCE: Duration = Duration::from_mins(2);
/// So many gateways start at the same moment.
const GATEWAYS: usize = 4;

fn home(folder: &Path) -> Home {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/starting.py");
    let folder = folder.to_str().expect("a path of text");
    let entry = object! { "command" => "python3", "args" => vec![Value::from(script), folder.into()] };
    let policies = object! { "trust" => object! { "mode" => "off" } };
    let config = object! { "policies" => policies, "mcp_servers" => object! { "one" => entry } };
    Home::new(PROGRAM, &Value::from(config).to_json())
}

/// What the servers noted so far: a word and a process id each.
fn starts(folder: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder.join("starts")).unwrap_or_default();
    let pair = |line: &str| line.split_once(' ').map(|(word, process)| (word.to_owned(), process.to_owned()));
    text.lines().filter_map(pair).collect()
}

fn wait_until(what: &str, home: &Home, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < PATIENCE, "never happened: {what}\n{}", home.stderr());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Calls the server until it answers, and returns which process did.
fn answered(client: &mut Client) -> String {
    let begin = Instant::now();
    loop {
        let reply = client.call("mcp__one__who", object! {}.into());
        let text = reply.message.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
        if text.parse::<u32>().is_ok() {
            return text.to_owned();
        }
        assert!(begin.elapsed() < PATIENCE, "no connection: {}", reply.message.to_json());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn gateways_that_start_together_start_a_server_one_after_the_other_and_each_gets_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = home(folder.path());
    let answers: Vec<String> = std::thread::scope(|scope| {
        let asking = || answered(&mut Client::connect(&mut home.command(&["run"]), object! {}.into()));
        let running: Vec<_> = (0..GATEWAYS).map(|_| scope.spawn(asking)).collect();
        running.into_iter().map(|asking| asking.join().expect("it is answered")).collect()
    });
    let starts = starts(folder.path());
    let words: Vec<&str> = starts.iter().map(|(word, _)| word.as_str()).collect();
    assert_eq!(
        words,
        ["start", "ready"].repeat(GATEWAYS),
        "one is connected before the next one is started: {starts:?}"
    );
    assert!(starts.chunks(2).all(|pair| matches!(pair, [(_, one), (_, other)] if one == other)), "{starts:?}");
    let different: BTreeSet<&String> = answers.iter().collect();
    assert_eq!(different.len(), GATEWAYS, "each has a process of its own, and no more were started: {answers:?}");
}

#[test]
fn a_gateway_that_is_killed_while_it_starts_a_server_holds_no_other_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = home(folder.path());
    std::fs::write(folder.path().join("closed"), "").expect("the file is written");
    let holder = Client::connect(&mut home.command(&["run"]), object! {}.into());
    wait_until("the first start", &home, || starts(folder.path()).len() == 1);
    let mut waiting = Client::connect(&mut home.command(&["run"]), object! {}.into());
    // Time enough to start another one, if it did not wait.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(starts(folder.path()).len(), 1, "the first one is not connected yet");
    let process = holder.process().to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &process]).status().expect("kill runs").success());
    wait_until("the second start", &home, || starts(folder.path()).len() >= 2);
    std::fs::remove_file(folder.path().join("closed")).expect("the file is removed");
    let answer = answered(&mut waiting);
    let starts = starts(folder.path());
    assert_eq!(starts.last(), Some(&("ready".to_owned(), answer)), "{starts:?}");
    assert_eq!(starts.iter().filter(|(word, _)| word == "start").count(), 2, "{starts:?}");
    drop(holder);
}
