//! Clients of other hands, from npm and `PyPI`: each lists the tools of a gateway and calls one, over stdio and over HTTP
//! with the token, in each era that it speaks.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value, parse};
use portcullis_model::object;
use portcullis_tests::{Home, RealClients, real_servers};

use crate::PROGRAM;
use crate::real_servers::config_of;
use crate::serving::Serving;

/// A client starts, connects and calls within this, or hangs. Clients give up earlier by themselves.
const PATIENCE: Duration = Duration::from_mins(5);

/// The tool that is called, and what it answers.
const TOOL: &str = "mcp__everything__echo";
const ANSWER: &str = "Echo: hello";

/// How a client reaches the gateway.
#[derive(Clone, Copy)]
enum Way<'a> {
    /// It starts `run`.
    Stdio(&'a Home),
    /// It sends requests to `serve`, with the token.
    Http { url: &'a str, token: &'a str },
}

/// What a client saw.
#[derive(Debug)]
struct Seen {
    tools: Vec<String>,
    text: String,
    /// The revision of the protocol that was agreed on, where the client tells it.
    revision: Option<String>,
}

/// The client programs, and a folder for their files.
struct Stage {
    clients: RealClients,
    folder: tempfile::TempDir,
}

impl Stage {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Their settings and caches are none of the user's.
        command.current_dir(self.folder.path()).env("HOME", self.folder.path());
        command
    }

    fn node(&self, script: &Path) -> Command {
        let mut command = self.command(&self.clients.node);
        command.arg(script);
        command
    }

    /// Runs a client to its end and returns the JSON that it printed.
    fn run(&self, mut command: Command) -> Value {
        let path = |name: &str| self.folder.path().join(name);
        let file = |name: &str| File::create(path(name)).expect("a file for output");
        let mut child = command.stdout(file("stdout")).stderr(file("stderr")).spawn().expect("the client starts");
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the client can be waited for") {
                break Some(status);
            }
            if begin.elapsed() > PATIENCE {
                drop(child.kill());
                drop(child.wait());
                break None;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let text = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
        assert!(
            status.is_some_and(|status| status.success()),
            "{command:?} ended with {status:?}: {}{}",
            text("stdout"),
            text("stderr")
        );
        parse(text("stdout").as_bytes()).unwrap_or_else(|error| panic!("{command:?} printed no JSON, {error}"))
    }

    /// Runs a script of ours, which uses an official client.
    fn official(&self, mut command: Command, way: Way<'_>) -> Seen {
        match way {
            Way::Stdio(home) => command.args(["stdio", PROGRAM, "run"]).env("PORTCULLIS_HOME", home.path()),
            Way::Http { url, token } => command.args(["http", url]).env("GATEWAY_TOKEN", token),
        };
        let seen = self.run(command);
        let text = |key: &str| seen.get(key).and_then(Value::as_str).map(str::to_owned);
        let tools = seen.get("tools").and_then(Value::as_array).expect("names of tools");
        Seen {
            tools: tools.iter().filter_map(|tool| Some(tool.as_str()?.to_owned())).collect(),
            text: text("text").expect("a text"),
            revision: text("revision"),
        }
    }
}

/// Returns what a client made of the results of `tools/list` and `tools/call`.
fn seen_in_results(list: &Value, call: &Value) -> Seen {
    let tools = list.get("tools").and_then(Value::as_array).expect("a list of tools");
    Seen {
        tools: tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect(),
        text: call.pointer("/content/0/text").and_then(Value::as_str).expect("a text").to_owned(),
        revision: None,
    }
}

/// Has a client list and call in both ways, and checks what it saw.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn works_both_ways(what: &str, revision: Option<&str>, client: impl Fn(&Stage, Way<'_>) -> Seen) {
    let nowhere = Path::new("/nonexistent");
    let (clients, servers) =
        match RealClients::install().and_then(|clients| Ok((clients, real_servers(nowhere, nowhere)?))) {
            Ok(installed) => installed,
            Err(reason) => return println!("skipped: the registries cannot be reached: {reason}"),
        };
    let servers: Vec<_> = servers.into_iter().filter(|server| server.name == "everything").collect();
    let home = Home::new(PROGRAM, &config_of(&servers, nowhere, "auto"));
    let serving = Serving::start(&home, &[]);
    let url = format!("http://{}/mcp", serving.address);
    let token = home.command(&["token", "show"]).output().expect("the program runs").stdout;
    let token = String::from_utf8(token).expect("a token is text");
    let stage = Stage { clients, folder: tempfile::tempdir().expect("a temporary folder") };
    for (name, way) in [("stdio", Way::Stdio(&home)), ("HTTP", Way::Http { url: &url, token: token.trim() })] {
        let seen = client(&stage, way);
        assert!(seen.tools.iter().any(|tool| tool == TOOL), "{what} over {name}: {seen:?}\n{}", home.stderr());
        // Those that the server has without capabilities of the client.
        assert!(seen.tools.len() >= 13, "{what} over {name}: {seen:?}");
        assert_eq!(seen.text, ANSWER, "{what} over {name}");
        assert_eq!(seen.revision.as_deref(), revision, "{what} over {name}");
    }
}

#[test]
fn the_typescript_sdk_of_the_first_generation_lists_and_calls() {
    works_both_ways("sdk", None, |stage, way| {
        let mut command = stage.node(&stage.clients.typescript);
        command.arg(&stage.clients.folder).args(["sdk", "initialize"]);
        stage.official(command, way)
    });
}

#[test]
fn the_typescript_sdk_of_the_second_generation_lists_and_calls_in_both_eras() {
    for (era, revision) in [("initialize", "2025-11-25"), ("stateless", "2026-07-28")] {
        works_both_ways("client", Some(revision), |stage, way| {
            let mut command = stage.node(&stage.clients.typescript);
            command.arg(&stage.clients.folder).args(["client", era]);
            stage.official(command, way)
        });
    }
}

#[test]
fn the_python_sdk_lists_and_calls_in_both_eras() {
    for (era, revision) in [("initialize", "2025-11-25"), ("stateless", "2026-07-28")] {
        works_both_ways("mcp", Some(revision), |stage, way| {
            let mut command = stage.command(&stage.clients.python);
            command.arg(&stage.clients.official).arg(era);
            stage.official(command, way)
        });
    }
}

#[test]
fn the_inspector_lists_and_calls_in_both_eras() {
    for era in ["legacy", "modern"] {
        works_both_ways("inspector", None, |stage, way| {
            let ask = |request: &[&str]| {
                let mut command = stage.node(&stage.clients.inspector);
                command.arg("--cli");
                match way {
                    Way::Stdio(home) => {
                        let home = format!("PORTCULLIS_HOME={}", home.path().display());
                        command.args([PROGRAM, "run", "-e", &home])
                    }
                    Way::Http { url, token } => {
                        let authorization = format!("Authorization: Bearer {token}");
                        command.args(["--transport", "http", "--server-url", url, "--header", &authorization])
                    }
                };
                command.args(["--protocol-era", era]).args(request);
                stage.run(command)
            };
            let list = ask(&["--method", "tools/list"]);
            seen_in_results(
                &list,
                &ask(&["--method", "tools/call", "--tool-name", TOOL, "--tool-arg", "message=hello"]),
            )
        });
    }
}

#[test]
fn mcporter_lists_and_calls() {
    works_both_ways("mcporter", None, |stage, way| {
        let server = match way {
            Way::Stdio(home) => object! {
                "command" => PROGRAM,
                "args" => vec![Value::from("run")],
                "env" => object! { "PORTCULLIS_HOME" => home.path().display().to_string() },
            },
            Way::Http { url, token } => object! {
                "baseUrl" => url,
                "headers" => object! { "Authorization" => format!("Bearer {token}") },
            },
        };
        let config = stage.folder.path().join("mcporter.json");
        let text = Value::from(object! {
            "mcpServers" => object! { "gateway" => server },
            "imports" => Vec::<Value>::new(),
        });
        std::fs::write(&config, text.to_json()).expect("the config is written");
        let ask = |request: &[&str]| {
            let mut command = stage.node(&stage.clients.mcporter);
            command.arg("--config").arg(&config).args(request);
            stage.run(command)
        };
        let list = ask(&["list", "gateway", "--json", "--timeout", "240000"]);
        let tool = format!("gateway.{TOOL}");
        seen_in_results(&list, &ask(&["call", &tool, "message=hello", "--output", "json"]))
    });
}

/// The token is what keeps other users of the machine out, so that a client without it sees nothing.
#[test]
fn a_client_without_the_token_is_turned_away() {
    let clients = match RealClients::install() {
        Ok(clients) => clients,
        Err(reason) => return println!("skipped: the registries cannot be reached: {reason}"),
    };
    let home = Home::new(PROGRAM, &Value::from(object! { "mcp_servers" => Object::new() }).to_json());
    let serving = Serving::start(&home, &[]);
    let output = Command::new(&clients.python)
        .arg(&clients.official)
        .args(["initialize", "http", &format!("http://{}/mcp", serving.address)])
        .env("GATEWAY_TOKEN", "another")
        .output()
        .expect("python runs");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("this bearer token is none of the gateway's"), "{text}");
}
