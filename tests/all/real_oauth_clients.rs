//! Clients of other hands that get into `serve` by OAuth: each registers itself, is consented to, lists and calls.

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use portcullis_model::json::{Object, Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Home, RealClients, browser, consent};

use crate::PROGRAM;
use crate::serving::{Serving, config, run, wait_until};

/// Returns the client programs; nothing where they cannot be had.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn clients() -> Option<RealClients> {
    match RealClients::install() {
        Ok(clients) => Some(clients),
        Err(reason) => {
            println!("skipped: the registries cannot be reached: {reason}");
            None
        }
    }
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/support/clients")).join(name)
}

/// Has a client get in, with a browser whose operator consents, and checks what it saw.
fn gets_in(what: &str, command: impl FnOnce(&str) -> Command) {
    let home = Home::new(PROGRAM, &config());
    let serving = Serving::start(&home, &["--register-clients"]);
    let mut command = command(&format!("http://{}/mcp", serving.address));
    let errors = home.path().join("client.log");
    command.env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(File::create(&errors).expect("a file for errors"));
    let mut child = command.spawn().expect("the client starts");
    let mut input = child.stdin.take().expect("piped");
    let mut seen = None;
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line.expect("text");
        let Ok(document) = parse_str(&line) else { continue };
        match document.get("page").and_then(Value::as_str) {
            Some(page) => writeln!(input, "{}", consent(&home, page)).expect("it reads"),
            None => seen = Some(document),
        }
    }
    let ended = child.wait().expect("it ends");
    let told = || format!("{what}: {}{}", std::fs::read_to_string(&errors).unwrap_or_default(), home.stderr());
    assert!(ended.success(), "{}", told());
    let seen = seen.unwrap_or_else(|| panic!("{}", told()));
    let tools = seen.get("tools").and_then(Value::as_array).expect("names of tools");
    assert!(tools.iter().any(|tool| tool.as_str() == Some("mcp__one__plain")), "{what}: {seen:?}");
    assert_eq!(seen.get("text").and_then(Value::as_str), Some("plain"), "{what}");
    let consents = String::from_utf8(run(&home, &["client", "consents", "--json"]).stdout).expect("text");
    assert!(consents.contains("official"), "{what}: {consents}");
}

#[test]
fn the_python_sdk_gets_in_by_oauth_in_both_eras() {
    let Some(clients) = clients() else { return };
    for era in ["initialize", "stateless"] {
        gets_in(era, |url| {
            let mut command = Command::new(&clients.python);
            command.arg(script("oauth.py")).args([era, url]);
            command
        });
    }
}

#[test]
fn both_generations_of_the_typescript_sdk_get_in_by_oauth() {
    let Some(clients) = clients() else { return };
    for generation in ["sdk", "client"] {
        gets_in(generation, |url| {
            let mut command = Command::new(&clients.node);
            command.arg(script("oauth.cjs")).arg(&clients.folder).args([generation, url]);
            command
        });
    }
}

/// It opens the browser by a program of the system, in whose place one stands that writes down where it should go.
#[cfg(unix)]
#[test]
fn mcporter_gets_in_by_oauth() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(clients) = clients() else { return };
    let home = Home::new(PROGRAM, &config());
    let serving = Serving::start(&home, &["--register-clients"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("page");
    let opener = folder.path().join("xdg-open");
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n", page.display());
    std::fs::write(&opener, script).expect("the script is written");
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let server = object! { "baseUrl" => format!("http://{}/mcp", serving.address), "auth" => "oauth" };
    let servers: Object = object! { "gateway" => server };
    let text = Value::from(object! { "mcpServers" => servers, "imports" => Vec::<Value>::new() }).to_json();
    let settings = folder.path().join("mcporter.json");
    std::fs::write(&settings, text).expect("the config is written");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder.path().to_owned()].into_iter().chain(std::env::split_paths(&path)));
    let path = path.expect("a path");
    let mcporter = |arguments: &[&str]| {
        let mut command = Command::new(&clients.node);
        command.arg(&clients.mcporter).arg("--config").arg(&settings).args(arguments);
        command.env("HOME", folder.path()).env("PATH", &path).current_dir(folder.path());
        command
    };
    let log = folder.path().join("log");
    let file = || File::options().create(true).append(true).open(&log).expect("a file for output");
    let mut child = mcporter(&["auth", "gateway"]).stdout(file()).stderr(file()).spawn().expect("it starts");
    wait_until("it opens the browser", || page.exists());
    let back = consent(&home, &std::fs::read_to_string(&page).expect("a page"));
    let _page = browser::open(&back, "none=none");
    let told = || format!("{}{}", std::fs::read_to_string(&log).unwrap_or_default(), home.stderr());
    assert!(child.wait().expect("it ends").success(), "{}", told());
    let called = mcporter(&["call", "gateway.mcp__one__plain", "--output", "json"]).stderr(file()).output();
    let called = called.expect("it starts");
    assert!(String::from_utf8_lossy(&called.stdout).contains("plain"), "{called:?}{}", told());
}
