//! Questions answered from another terminal, as a user does it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Reply};

use crate::PROGRAM;

/// A machine that is busy with other tests is slow to start a process.
const PATIENCE: Duration = Duration::from_mins(1);

fn home() -> Home {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server =
        object! { "command" => "python3", "args" => vec![script.into(), "normal".into()], "trust" => "untrusted" };
    Home::new(PROGRAM, &Value::from(object! { "mcp_servers" => object! { "files" => server } }).to_json())
}

fn connect(home: &Home) -> Client {
    Client::connect(&mut home.command(&["run"]), object! {}.into())
}

fn plain(client: &mut Client, text: &str) -> Reply {
    client.call("mcp__files__plain", object! { "text" => text }.into())
}

/// Runs a command and returns whether it succeeded and what it printed as JSON.
fn run(home: &Home, arguments: &[&str]) -> (bool, Value) {
    let output = home.command(&[arguments, &["--json"]].concat()).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("the output is text");
    (output.status.success(), parse_str(text.trim()).unwrap_or(Value::Null))
}

fn pending(home: &Home) -> Vec<Value> {
    let (_, listed) = run(home, &["approvals", "list"]);
    listed.get("pending").and_then(Value::as_array).unwrap_or_default().to_vec()
}

/// Returns the handle of a call that was refused as pending.
fn handle(reply: &Reply) -> String {
    let text = reply.text();
    assert!(text.contains("approval-pending"), "{text}");
    text.split_once("handle: ").and_then(|(_, rest)| rest.split_once(')')).expect("a handle").0.to_owned()
}

/// Someone who watches; ends with the value.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["approvals", "watch", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("the output was piped"));
        Self { child, lines }
    }

    /// Returns the id of the next question that is asked.
    fn asked(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).expect("the output is read") > 0, "it ended");
            let news = parse_str(line.trim()).expect("a line of JSON");
            if let Some(id) = news.pointer("/asked/id").and_then(Value::as_str) {
                return id.to_owned();
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.child.kill().expect("it can be ended");
        self.child.wait().expect("it ends");
    }
}

#[test]
fn a_call_is_approved_from_another_terminal_for_good_until_that_is_revoked() {
    let home = home();
    let mut client = connect(&home);
    let id = handle(&plain(&mut client, "one"));
    assert_eq!(handle(&plain(&mut client, "one")), id, "sending it again approves nothing");
    let (_, shown) = run(&home, &["approvals", "show", &id]);
    assert_eq!(shown.get("arguments").and_then(Value::as_str), Some(r#"{"text":"one"}"#));
    assert_eq!(shown.pointer("/questions/0/policy").and_then(Value::as_str), Some("trust"));

    let constrain = ["approvals", "allow", &id, "--for", "always", "--constrain"];
    assert!(!run(&home, &[&constrain[..], &["/text=two"]].concat()).0, "it does not hold for what is asked");
    assert!(run(&home, &[&constrain[..], &["/text=one"]].concat()).0);
    assert_eq!(plain(&mut client, "one").text(), "plain");
    assert_eq!(plain(&mut client, "one").text(), "plain");
    handle(&plain(&mut client, "two"));

    let (_, grants) = run(&home, &["grants", "list"]);
    let grant = grants.pointer("/kept/0/id").and_then(Value::as_str).expect("a grant").to_owned();
    assert!(run(&home, &["grants", "revoke", &grant]).0);
    assert!(!run(&home, &["grants", "revoke", &grant]).0, "it is gone");
    handle(&plain(&mut client, "one"));
}

#[test]
fn a_call_waits_while_somebody_watches() {
    let home = home();
    let mut client = connect(&home);
    let id = handle(&plain(&mut client, "one"));
    let mut watch = Watch::start(&home);
    assert_eq!(watch.asked(), id, "what is open is told at once");

    let waiting = client.begin("tools/call", object! { "name" => "mcp__files__plain" }.into());
    let id = watch.asked();
    assert!(run(&home, &["approvals", "allow", &id]).0);
    let message = client.receive(PATIENCE).expect("an answer comes");
    assert_eq!(message.get("id").and_then(Value::as_u64), Some(waiting));
    assert_eq!(message.pointer("/result/content/0/text").and_then(Value::as_str), Some("plain"));

    client.begin("tools/call", object! { "name" => "mcp__files__plain" }.into());
    let id = watch.asked();
    assert!(run(&home, &["approvals", "deny", &id]).0);
    let message = client.receive(PATIENCE).expect("an answer comes").to_json();
    assert!(message.contains("declined"), "{message}");
    assert!(!run(&home, &["approvals", "allow", &id]).0, "it is over");
}

#[test]
fn gateways_of_one_home_are_all_found_and_dead_ones_are_cleared_away() {
    let home = home();
    let (mut one, mut other) = (connect(&home), connect(&home));
    let ids = [handle(&plain(&mut one, "one")), handle(&plain(&mut other, "other"))];
    let folder = home.path().join("approvals");
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let sockets = || -> Vec<_> {
        std::fs::read_dir(&folder).expect("the folder is read").flatten().map(|entry| entry.path()).collect()
    };
    assert_eq!(sockets().iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o600, 0o600]);
    let listed: Vec<_> = pending(&home).iter().filter_map(|one| Some(one.get("id")?.as_str()?.to_owned())).collect();
    assert!(listed.len() == 2 && ids.iter().all(|id| listed.contains(id)), "{listed:?}");
    assert!(run(&home, &["approvals", "allow", &ids[1], &ids[0]]).0);
    assert_eq!(plain(&mut other, "other").text(), "plain");
    assert_eq!(plain(&mut one, "one").text(), "plain");

    let process = one.process().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &process]).status().expect("it runs").success());
    let began = Instant::now();
    while sockets().len() > 1 {
        assert!(began.elapsed() < PATIENCE, "the socket of the dead gateway stays");
        pending(&home);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(plain(&mut other, "other").text().contains("approval-pending"));
}

#[test]
fn with_a_passphrase_an_approval_needs_it_and_a_refusal_does_not() {
    let home = home();
    let file = home.path().join("typed");
    std::fs::write(&file, "correct horse battery\n").expect("the file is written");
    let file = file.to_str().expect("a plain path");
    assert!(home.command(&["approvals", "passphrase", "--file", file]).output().expect("it runs").status.success());
    let mut client = connect(&home);
    let (first, second) = (handle(&plain(&mut client, "one")), handle(&plain(&mut client, "two")));
    let wrong = home.path().join("wrong");
    std::fs::write(&wrong, "correct horse batterz\n").expect("the file is written");
    assert!(!run(&home, &["approvals", "allow", &first, "--passphrase-file", wrong.to_str().expect("a path")]).0);
    handle(&plain(&mut client, "one"));
    assert!(run(&home, &["approvals", "allow", &first, "--passphrase-file", file]).0);
    assert_eq!(plain(&mut client, "one").text(), "plain");
    assert!(run(&home, &["approvals", "deny", &second]).0);
    assert!(plain(&mut client, "two").text().contains("declined"));
}
