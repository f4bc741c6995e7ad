//! Configs of clients, taken over and given back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::Home;

use crate::PROGRAM;

const CONFIG: &str = "# Mine.\nmcp_servers:\n  git: {command: uvx, args: [another-git==1.0.0]}  # not that one\n";

/// A token in the form of a well-known service's, put together here so that no scanner finds one in a file.
fn token() -> String {
    format!("{}{}", "gh", "p_0123456789abcdefghij0123456789abcdef")
}

/// A user with configs of clients, in whose path every program only leaves a mark.
struct User {
    home: Home,
    folder: tempfile::TempDir,
}

impl User {
    fn new(config: &str) -> Self {
        let user = Self { home: Home::new(PROGRAM, config), folder: tempfile::tempdir().expect("a temporary folder") };
        let programs = user.folder.path().join("bin");
        std::fs::create_dir(&programs).expect("the folder is created");
        for name in ["npx", "uvx", "bash", "sh", "python3", "curl", "node", "docker"] {
            let path = programs.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n: > '{}'\n", user.mark().display()))
                .expect("the program is written");
            #[cfg(unix)]
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .expect("the mode is set");
        }
        user
    }

    fn mark(&self) -> PathBuf {
        self.folder.path().join("something-ran")
    }

    /// Runs a command that prints a document, as this user.
    fn run(&self, arguments: &[&str]) -> (Value, i32) {
        let mut command: Command = self.home.command(arguments);
        command.env("HOME", self.folder.path()).env("PATH", self.folder.path().join("bin"));
        for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "HERMES_HOME"] {
            command.env_remove(name);
        }
        let output = command.current_dir(self.folder.path()).stdin(Stdio::null()).output().expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains(&token()) && !self.home.stderr().contains(&token()), "a secret is printed: {text}");
        let value = parse_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{}", self.home.stderr()));
        (value, output.status.code().expect("it ended by itself"))
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.home.path().join(name)).ok()
    }
}

/// Writes the thirty files into a folder and returns them with their clients, in the order of their paths.
fn files(folder: &Path, mark: &Path) -> Vec<(String, PathBuf)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("support/client-configs");
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("the folder is read").flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let mut files = Vec::new();
    for client in list(&source).into_iter().filter(|path| path.is_dir()) {
        for file in list(&client) {
            let bytes = std::fs::read(&file).expect("the file is read");
            let bytes = replaced(&replaced(&bytes, "@TOKEN@", &token()), "@MARK@", &mark.display().to_string());
            let name = client.file_name().expect("a name").to_string_lossy().into_owned();
            let target = folder.join(&name).join(file.file_name().expect("a name"));
            std::fs::create_dir_all(target.parent().expect("a folder")).expect("the folder is created");
            std::fs::write(&target, bytes).expect("the file is written");
            files.push((name, target));
        }
    }
    files
}

fn replaced(bytes: &[u8], what: &str, with: &str) -> Vec<u8> {
    let mut rest = bytes;
    let mut out = Vec::new();
    while let Some(at) = rest.windows(what.len()).position(|window| window == what.as_bytes()) {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(with.as_bytes());
        rest = from.split_at(what.len()).1;
    }
    out.extend_from_slice(rest);
    out
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}

/// Returns a line for each file that cannot be read and for each entry, with what became of it.
fn lines(imported: &Value) -> Vec<String> {
    let short = |value: &Value| {
        let path = PathBuf::from(text(value, "file"));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{}/{name}", text(value, "client"))
    };
    let broken = array(imported, "files").iter().filter(|file| file.get("broken").is_some());
    let broken = broken.map(|file| format!("{}: broken", short(file)));
    let servers = array(imported, "servers").iter();
    let servers = servers.map(|server| {
        format!("{} {}: {}", short(server), text(server, "found_as").escape_debug(), text(server, "kind"))
    });
    let mut lines: Vec<String> = broken.chain(servers).collect();
    lines.sort();
    lines
}

/// What becomes of each file and entry, reviewed.
const EXPECTED: &str = include_str!("../support/client-configs/expected.txt");

#[test]
fn thirty_configs_of_clients_are_classified_taken_over_and_given_back_and_nothing_runs() {
    let user = User::new(CONFIG);
    let files = files(&user.folder.path().join("configs"), &user.mark());
    assert_eq!(files.len(), 30);
    let contents = || files.iter().map(|(_, file)| std::fs::read(file).expect("it is there")).collect::<Vec<_>>();
    let before = contents();
    let from: Vec<String> = files.iter().map(|(client, file)| format!("{client}={}", file.display())).collect();
    let mut arguments = vec!["import", "--json"];
    for from in &from {
        arguments.extend(["--from", from]);
    }

    let (shown, code) = user.run(&arguments);
    assert_eq!(code, 1, "some of them are broken or refused");
    assert_eq!(array(&shown, "files").len(), 30);
    for file in array(&shown, "files") {
        let of_file = |server: &&Value| server.get("file") == file.get("file");
        let count = array(&shown, "servers").iter().filter(of_file).count();
        match file.get("entries").and_then(Value::as_u64) {
            Some(entries) => assert_eq!(count as u64, entries, "{}", file.to_json()),
            None => assert!(!text(file, "broken").is_empty() && count == 0, "{}", file.to_json()),
        }
    }
    assert_eq!(lines(&shown).join("\n"), EXPECTED.trim());
    assert!(array(&shown, "servers").iter().all(|server| text(server, "kind") != "open"));
    assert_eq!(user.read("config.yaml").as_deref(), Some(CONFIG.as_bytes()), "nothing is written without a yes");

    let (written, _) = user.run(&[&arguments[..], &["--yes"]].concat());
    assert_eq!(written.get("written").and_then(Value::as_bool), Some(true));
    let config = String::from_utf8(user.read("config.yaml").expect("a config")).expect("a text");
    assert!(config.starts_with(CONFIG) && !config.contains(&token()), "{config}");
    let secrets = String::from_utf8(user.read("secrets.yaml").expect("secrets")).expect("a text");
    assert!(secrets.contains(&token()));
    // Once more, and there is nothing new.
    let (again, _) = user.run(&arguments);
    let allowed = array(&again, "servers").iter().filter(|server| text(server, "kind") == "allowed").count();
    assert_eq!(allowed, 0, "{}", lines(&again).join("\n"));

    let (undone, code) = user.run(&["import", "--undo", "--json"]);
    assert_eq!(code, 0, "{}", undone.to_json());
    assert_eq!(user.read("config.yaml").as_deref(), Some(CONFIG.as_bytes()));
    assert_eq!(user.read("secrets.yaml"), None);
    assert!(contents() == before, "a config of a client was changed");
    assert!(!user.mark().exists(), "something of an entry ran");
}

#[test]
fn a_client_is_pointed_at_the_gateway_and_given_its_config_back_byte_for_byte() {
    let user = User::new("mcp_servers:\n  filesystem: {command: npx, args: [-y, x@1.0.0]}\n  memory: {command: npx}\n");
    let files = files(&user.folder.path().join("configs"), &user.mark());
    for (client, file) in files {
        let before = std::fs::read(&file).expect("it is there");
        let path = file.display().to_string();
        let export = |more: &[&str]| {
            let mut command = user.home.command(&["export", "--client", &client, "--file", &path, "--json"]);
            command.args(more).env("HOME", user.folder.path()).stdin(Stdio::null());
            let output = command.output().expect("the program runs");
            (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
        };
        let (shown, dry) = export(&["--dry-run"]);
        assert_eq!(std::fs::read(&file).expect("it is there"), before, "{path}: a dry run writes nothing");
        let (_, done) = export(&[]);
        assert_eq!(dry, done, "{path}: {shown}");
        let after = std::fs::read(&file).expect("it is there");
        if !done {
            assert_eq!(after, before, "{path}: what can't be read is left as it is");
            continue;
        }
        let is_pointed = String::from_utf8_lossy(&after).contains("portcullis");
        assert!(is_pointed && after != before, "{path}");
        let (undone, is_undone) = export(&["--undo"]);
        assert!(is_undone, "{path}: {undone}");
        assert_eq!(std::fs::read(&file).expect("it is there"), before, "{path}");
    }
    assert!(!user.mark().exists(), "something of an entry ran");
}

#[test]
fn what_a_client_wrote_since_is_kept_when_it_is_given_its_servers_back() {
    let user = User::new("mcp_servers:\n  a: {command: npx}\n");
    let file = user.folder.path().join(".claude.json");
    std::fs::write(&file, "{\n  \"numStartups\": 1,\n  \"mcpServers\": {\n    \"a\": { \"command\": \"npx\" },\n    \"b\": { \"command\": \"uvx\" }\n  }\n}\n")
        .expect("the config is written");
    let (exported, code) = user.run(&["export", "--client", "claude-code", "--json"]);
    assert_eq!(code, 0, "{}", exported.to_json());
    assert_eq!(array(&exported, "removed"), [Value::from("a")]);
    assert_eq!(array(&exported, "past_the_gates"), [Value::from("b")]);
    let now = std::fs::read_to_string(&file).expect("the config");
    assert!(now.contains("--home") && !now.contains("\"a\": {"), "{now}");
    std::fs::write(&file, now.replace("\"numStartups\": 1", "\"numStartups\": 2")).expect("the config is written");
    let (undone, code) = user.run(&["export", "--client", "claude-code", "--undo", "--json"]);
    assert_eq!(code, 0, "{}", undone.to_json());
    let config = parse_str(&std::fs::read_to_string(&file).expect("the config")).expect("it is JSON");
    let names: Vec<&str> =
        config.get("mcpServers").and_then(Value::as_object).expect("servers").iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(config.get("numStartups").and_then(Value::as_u64), Some(2));
}
