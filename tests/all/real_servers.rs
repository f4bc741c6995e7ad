//! Six real servers from npm and `PyPI`, behind one gateway: the same tools and the same results as directly.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_tests::{Client, Home, Installed, real_servers};

use crate::PROGRAM;

/// Returns one call for each server whose result is the same each time.
fn call_of(server: &str, folder: &Path, page: &str) -> (&'static str, Object) {
    let path = folder.join("note.txt").display().to_string();
    match server {
        "everything" => ("get-structured-content", object! { "location" => "New York" }),
        "filesystem" => ("read_text_file", object! { "path" => path }),
        "memory" => ("read_graph", object! {}),
        "time" => (
            "convert_time",
            object! { "source_timezone" => "UTC", "time" => "12:30", "target_timezone" => "Asia/Tokyo" },
        ),
        "git" => ("git_log", object! { "repo_path" => folder.display().to_string() }),
        "fetch" => ("fetch", object! { "url" => page }),
        other => panic!("no call for {other}"),
    }
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let output = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Serves one small page on loopback until the test ends, and returns its address.
fn serve_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let is_page = request.get(..read).is_some_and(|request| request.starts_with(b"GET /page"));
            let (status, body) = if is_page { ("200 OK", "A plain page, 1.0.") } else { ("404 Not Found", "") };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())));
        }
    });
    format!("http://{address}/page")
}

/// Writes the config of all servers; their environment is what the gateway's default passes on.
pub(crate) fn config_of(servers: &[Installed], memory: &Path, protocol: &str) -> String {
    let mut config = Object::new();
    for server in servers {
        let arguments: Vec<Value> = server.arguments.iter().map(|argument| argument.as_str().into()).collect();
        let mut entry = object! { "command" => server.command.as_str(), "args" => arguments, "protocol" => protocol };
        // All of them start at once, beside other tests.
        entry.insert("connect_timeout", 300_u64);
        if !server.environment.is_empty() {
            let variables = server.environment.iter().map(|(name, value)| (*name, value.as_str()));
            entry.insert(
                "env",
                variables.fold(Object::new(), |mut all, (name, value)| {
                    all.insert(name, value);
                    all
                }),
            );
        }
        if server.name == "memory" {
            entry.insert("env", object! { "MEMORY_FILE_PATH" => memory.display().to_string() });
        }
        config.insert(server.name, entry);
    }
    Value::from(object! { "mcp_servers" => config }).to_json()
}

fn direct(server: &Installed, memory: &Path, capabilities: &Value) -> Client {
    let mut command = Command::new(&server.command);
    command.args(&server.arguments).env("MEMORY_FILE_PATH", memory).stderr(std::process::Stdio::null());
    command.envs(server.environment.iter().map(|(name, value)| (name, value)));
    Client::connect(&mut command, capabilities.clone())
}

/// Returns the name under which the gateway publishes a tool: what models' providers do not allow becomes an underscore.
pub(crate) fn exposed(server: &str, tool: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let own: String = tool.chars().map(|character| if allowed(character) { character } else { '_' }).collect();
    format!("mcp__{server}__{own}")
}

/// Returns a tool as the gateway should list it: its name changed, all else as it was.
fn renamed(server: &str, tool: &Value) -> Value {
    let mut tool = tool.clone();
    let name = exposed(server, tool.get("name").and_then(Value::as_str).expect("a tool has a name"));
    tool.as_object_mut().expect("a tool is an object").insert("name", name);
    tool
}

/// Returns the tools of one server as the gateway lists them, without its own wrappers for resources and prompts.
pub(crate) fn through(tools: &[Value], server: &str) -> Vec<Value> {
    const WRAPPERS: [&str; 4] = ["list_resources", "read_resource", "list_prompts", "get_prompt"];
    let prefix = format!("mcp__{server}__");
    let is_own = |tool: &&Value| {
        let name = tool.get("name").and_then(Value::as_str).expect("a tool has a name");
        name.strip_prefix(&prefix).is_some_and(|name| !WRAPPERS.contains(&name))
    };
    tools.iter().filter(is_own).cloned().collect()
}

#[test]
fn real_servers_list_and_answer_the_same_as_directly() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("note.txt"), "Ein Wort. 1.0\n").expect("a note");
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "note.txt"]);
    git(folder.path(), &["commit", "--quiet", "-m", "Add a note"]);
    let servers = match real_servers(folder.path(), folder.path()) {
        Ok(servers) => servers,
        Err(reason) => return println!("skipped: the registries cannot be reached: {reason}"),
    };
    let page = serve_page();
    let memory = folder.path().join("memory.jsonl");
    // Some of these servers write the members of a tool in another order in each era: in the era of the direct client the
    // very text is compared, in the one that the gateway prefers what it means.
    for (protocol, shown) in [("legacy", Value::to_json as fn(&Value) -> String), ("auto", Value::to_canonical)] {
        let home = Home::new(PROGRAM, &config_of(&servers, &memory, protocol));
        for capabilities in [object! {}, object! { "roots" => object! {}, "sampling" => object! {} }].map(Value::from) {
            let mut gateway = Client::connect(&mut home.command(&["run"]), capabilities.clone());
            let tools =
                gateway.tools_once(|tools| servers.iter().all(|server| !through(tools, server.name).is_empty()));
            for server in &servers {
                let mut alone = direct(server, &memory, &capabilities);
                let expected: Vec<String> =
                    alone.tools().iter().map(|tool| shown(&renamed(server.name, tool))).collect();
                let listed: Vec<String> = through(&tools, server.name).iter().map(shown).collect();
                assert_eq!(listed, expected, "tools of {} ({protocol})", server.name);
                let (tool, arguments) = call_of(server.name, folder.path(), &page);
                let answer = gateway.call(&exposed(server.name, tool), arguments.clone().into());
                let expected = alone.call(tool, arguments.into());
                assert_eq!(shown(answer.result()), shown(expected.result()), "{tool} of {} ({protocol})", server.name);
                assert_ne!(expected.result().get("isError"), Some(&Value::Bool(true)), "{tool} failed directly");
            }
        }
    }
}
