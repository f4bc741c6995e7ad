//! A hostile server in a sandbox, behind the whole program.

use std::net::TcpListener;
use std::path::Path;

use portcullis_model::json::{Value, parse};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Reply};

use crate::{PROGRAM, are_published};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/support/hostile.py");

/// A home whose only server is the hostile one, with that text as its sandbox.
fn home(sandbox: &str) -> Home {
    Home::new(
        PROGRAM,
        &format!(
            "mcp_servers:\n  hostile: {{command: python3, args: ['{SCRIPT}'], trust: full, sandbox: {sandbox}}}\n"
        ),
    )
}

fn connect(home: &Home) -> Client {
    Client::connect(&mut home.command(&["run"]), object! {}.into())
}

fn attempt(client: &mut Client, what: &str, of: &str) -> Reply {
    let tool = "mcp__hostile__attempt";
    client.call(tool, object! { "what" => what, "of" => of }.into())
}

fn succeeds(reply: &Reply) -> bool {
    reply.result().get("isError").and_then(Value::as_bool) != Some(true)
}

/// Returns what the program says of the only server, or why the kernel here cannot confine it.
fn told(home: &Home) -> Result<Value, String> {
    let output = home.command(&["test", "hostile", "--json"]).output().expect("the program runs");
    let report = parse(output.stdout.trim_ascii()).expect("a JSON report");
    let server = report.pointer("/servers/0").expect("a server").clone();
    if server.get("code").and_then(Value::as_str) == Some("sandbox") {
        return Err(server.get("reason").map_or_else(String::new, Value::to_json));
    }
    Ok(server)
}

#[test]
fn a_server_in_a_sandbox_reaches_neither_the_home_nor_a_socket_that_it_was_not_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let given = folder.path().join("given");
    std::fs::create_dir(&given).expect("a folder");
    std::fs::write(given.join("file"), "given").expect("a file");
    std::fs::write(folder.path().join("id_key"), "secret").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port().to_string();

    let home = home(&format!("{{read: ['{SCRIPT}', '{}']}}", given.display()));
    let server = match told(&home) {
        Ok(server) => server,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let lines = |key: &str| server.pointer(&format!("/sandbox/{key}")).expect("it is told").to_json();
    assert!(lines("confined").contains("no socket can be opened"), "{}", server.to_json());
    assert!(lines("not_confined").contains("list of processes"), "{}", server.to_json());

    let mut client = connect(&home);
    let _tools = client.tools_once(are_published);
    let path = |path: &Path| path.display().to_string();
    for (what, of) in [
        ("read", path(&folder.path().join("id_key"))),
        ("list", path(folder.path())),
        ("write", path(&folder.path().join("made"))),
        ("write", path(&given.join("file"))),
        ("list", path(home.path())),
        ("read", path(&home.path().join("portcullis.db"))),
        ("read", path(&home.path().join("digest.key"))),
        ("write", path(&home.path().join("config.yaml"))),
        ("connect", port.clone()),
    ] {
        let reply = attempt(&mut client, what, &of);
        assert!(!succeeds(&reply), "{what} {of}: {}", reply.text());
    }
    let ran = attempt(&mut client, "run", &format!("cat '{}'", folder.path().join("id_key").display()));
    assert!(ran.text() != "status 0", "{}", ran.text());

    // What it was given works, and so does a home of its own.
    assert_eq!(attempt(&mut client, "read", &path(&given.join("file"))).text(), "5 bytes");
    let own = attempt(&mut client, "home", "").text();
    assert!(own.starts_with(&path(&home.path().join("sandboxes"))), "{own}");
    assert_eq!(attempt(&mut client, "write", &format!("{own}/note")).text(), "written");
}

#[test]
fn a_server_without_a_sandbox_does_what_it_likes() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port().to_string();
    let home = home("off");
    let mut client = connect(&home);
    let _tools = client.tools_once(are_published);
    assert_eq!(attempt(&mut client, "connect", &port).text(), "connected");
    assert!(succeeds(&attempt(&mut client, "list", &home.path().display().to_string())));
}

#[test]
fn no_sandbox_opens_the_home_of_the_gateway() {
    let home = home("{write: ['/']}");
    let output = home.command(&["test", "hostile", "--json"]).output().expect("the program runs");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(report.contains("which is the gateway's own"), "{report}");
}
