//! Real servers behind one gateway, in both eras where they speak them: as many tools as directly, or each that a policy
//! keeps back is named. Six of them always; eight more are big, and some want a browser or an account before they do
//! anything, so that they are only listed.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Installed, more_servers, real_servers};

use crate::PROGRAM;
use crate::real_servers::{config_of, git, through};

/// So long all of them take to start at most, on a machine that does much else.
const SLOWEST_START: Duration = Duration::from_mins(5);

/// How many tools a server lists by itself in each era, where it speaks it.
struct Direct {
    handshake: usize,
    stateless: Option<usize>,
}

impl Direct {
    /// Asks the server, started in a folder where it may leave files.
    fn ask(server: &Installed, folder: &Path) -> Self {
        let log = || std::fs::File::create(folder.join(format!("{}.log", server.name))).expect("a log");
        let start = || {
            let mut command = Command::new(&server.command);
            command.args(&server.arguments).current_dir(folder).stderr(log());
            command.envs(server.environment.iter().map(|(name, value)| (name, value)));
            command
        };
        let handshake = Client::connect(&mut start(), no_capabilities()).tools().len();
        let stateless = Client::connect_stateless(&mut start(), no_capabilities());
        Self { handshake, stateless: stateless.map(|mut client| client.tools().len()) }
    }

    /// Returns how many tools a client of the era has to see. The gateway bridges: where a server lacks an era, its clients
    /// see what the server lists in the other.
    fn expected(&self, stateless: bool) -> usize {
        self.stateless.filter(|_| stateless).unwrap_or(self.handshake)
    }
}

fn no_capabilities() -> Value {
    object! {}.into()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect()
}

/// Returns what differs between the servers directly and through one gateway. Says of each what it lists.
#[expect(clippy::print_stdout, reason = "the counts are what the long run is for")]
fn differences(servers: &[Installed], folder: &Path) -> Vec<String> {
    // One after the other: all of them at once take minutes to start on a small machine.
    let direct: Vec<Direct> = servers.iter().map(|server| Direct::ask(server, folder)).collect();
    let home = Home::new(PROGRAM, &config_of(servers, &folder.join("memory.jsonl"), "auto"));
    let mut wrong = Vec::new();
    for (era, is_stateless) in [("handshake", false), ("stateless", true)] {
        let mut command = home.command(&["run"]);
        command.current_dir(folder);
        let mut client = if is_stateless {
            Client::connect_stateless(&mut command, no_capabilities()).expect("the gateway speaks the era")
        } else {
            Client::connect(&mut command, no_capabilities())
        };
        // The first list starts them; what starts slowly is missing in it.
        client.tools();
        let settled = settled(&home, client.process(), servers);
        let tools = client.tools();
        for (server, direct) in servers.iter().zip(&direct) {
            let (expected, found) = (direct.expected(is_stateless), through(&tools, server.name));
            // What a policy keeps back is not lost: its name and the reason stand in the status.
            let withheld = withheld(&settled, server.name);
            println!("{}, {era}: {expected} tools directly, {} through the gateway", server.name, found.len());
            for item in &withheld {
                println!("  withheld: {item}");
            }
            if found.len() + withheld.len() != expected {
                wrong.push(format!("{}, {era}: {expected} tools directly, but {:?}", server.name, names(&found)));
            }
        }
    }
    if !wrong.is_empty() {
        println!("{}", home.stderr());
    }
    wrong
}

/// Waits until all servers of a gateway are connected, or some minutes have passed, and returns what it tells of them.
fn settled(home: &Home, process: u32, servers: &[Installed]) -> Vec<Value> {
    let end = Instant::now() + SLOWEST_START;
    loop {
        let output = home.command(&["status", "--json"]).output().expect("the program runs");
        let status = parse_str(String::from_utf8_lossy(&output.stdout).trim()).expect("a JSON document");
        let gateways = status.get("gateways").and_then(Value::as_array).unwrap_or_default();
        let is_own = |gateway: &&Value| gateway.get("process").and_then(Value::as_u64) == Some(process.into());
        let told = gateways.iter().find(is_own).and_then(|gateway| gateway.get("servers")?.as_array());
        let told = told.unwrap_or_default();
        let ready = told.iter().filter(|server| server.get("phase").and_then(Value::as_str) == Some("ready"));
        if ready.count() >= servers.len() || Instant::now() > end {
            return told.to_vec();
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Returns the tools of a server that a policy keeps back, each with its reason.
fn withheld(servers: &[Value], name: &str) -> Vec<String> {
    let is_own = |server: &&Value| server.get("name").and_then(Value::as_str) == Some(name);
    let server = servers.iter().find(is_own);
    let items = server.and_then(|server| server.get("withheld")?.as_array()).unwrap_or_default();
    let text = |item: &Value, key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    items
        .iter()
        .filter(|item| text(item, "kind") == "tool" && item.get("policy").is_some())
        .map(|item| format!("{} ({} by {})", text(item, "name"), text(item, "code"), text(item, "policy")))
        .collect()
}

/// A folder that the servers may see, and which is a repository.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    git(folder.path(), &["init", "--quiet"]);
    folder
}

#[test]
fn real_servers_list_as_many_tools_as_directly_to_clients_of_both_eras() {
    let folder = folder();
    match real_servers(folder.path(), folder.path()) {
        Ok(servers) => assert_eq!(differences(&servers, folder.path()), Vec::<String>::new()),
        Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
    }
}

#[test]
#[ignore = "installs 500 MB and starts fourteen servers: cargo test --workspace --test all fourteen -- --ignored --nocapture"]
fn fourteen_real_servers_list_as_many_tools_as_directly_to_clients_of_both_eras() {
    let folder = folder();
    let mut servers = real_servers(folder.path(), folder.path()).expect("the registries can be reached");
    let mut missing = Vec::new();
    for (name, server) in more_servers() {
        match server {
            Ok(server) => servers.push(server),
            Err(reason) => missing.push(format!("{name}: {reason}")),
        }
    }
    for server in &missing {
        println!("not installed: {server}");
    }
    let wrong = differences(&servers, folder.path());
    assert_eq!((wrong, missing), (Vec::new(), Vec::<String>::new()), "of {} servers", servers.len());
}
