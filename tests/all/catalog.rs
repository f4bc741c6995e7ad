//! Servers that are installed by their name, and what looks after them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::Home;

use crate::PROGRAM;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");

fn json(command: &mut Command, home: &Home) -> (Value, i32) {
    let output = command.stdin(Stdio::null()).output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let value = parse_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{}", home.stderr()));
    (value, output.status.code().expect("it ended by itself"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Writes a manifest into the folder of the home and returns its path.
fn manifest(home: &Home, name: &str, argument: &str) -> PathBuf {
    let folder = home.path().join("catalog.d");
    std::fs::create_dir_all(&folder).expect("the folder is created");
    let text = format!(
        "manifest_version: 1\nname: {name}\ndescription: A server of a test.\nsource: https://example.com/{name}\n\
         transport:\n  type: stdio\n  version: 1.0.0\n  command: python3\n  args: ['{SCRIPT}', {argument}, 'of@1.0.0', '{{folder}}']\n\
         parameters:\n  - {{name: folder, prompt: Folder}}\n\
         auth:\n  type: api_key\n  env:\n    - {{name: PLAIN_WORD, prompt: A word}}\n\
         tools: {{default_enabled: [plain, variables]}}\nsandbox: {{network: none}}\n"
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).expect("the manifest is written");
    path
}

fn install<'a>(home: &Home, name: &'a str, more: &[&'a str]) -> (Value, i32) {
    let usual = ["install", name, "--json", "--yes", "--set", "folder=/tmp", "--env", "PLAIN_WORD=correct horse"];
    json(&mut home.command(&[&usual[..], more].concat()), home)
}

#[test]
fn what_is_built_in_names_one_version_each_and_who_vouches_for_it() {
    let home = Home::new(PROGRAM, "");
    let (listed, code) = json(&mut home.command(&["catalog", "list", "--json"]), &home);
    let servers = listed.get("servers").and_then(Value::as_array).unwrap_or_default();
    assert_eq!((servers.len(), code), (20, 0));
    for server in servers {
        assert_eq!(text(server, "/vouched"), "built in");
        assert!(text(server, "/command").contains(text(server, "/version")), "{}", server.to_json());
    }
}

#[test]
fn a_server_is_installed_with_its_secret_out_of_the_config_and_its_default_tools() {
    let home = Home::new(PROGRAM, "mcp_servers: {}\npolicies: {allow_unsigned: true}\n");
    manifest(&home, "scripted", "works");
    let (installed, code) = install(&home, "scripted", &[]);
    assert_eq!((code, text(&installed, "/probe/outcome")), (0, "worked"), "{}\n{}", installed.to_json(), home.stderr());
    assert_eq!(installed.pointer("/probe/tools_used").and_then(Value::as_u64), Some(2));
    let config = std::fs::read_to_string(home.path().join("config.yaml")).expect("the config");
    assert!(!config.contains("correct horse") && config.contains("PORTCULLIS_SCRIPTED_PLAIN_WORD"), "{config}");
    assert!(config.contains("include: [plain, variables]") && config.contains("/tmp"), "{config}");

    let (explained, code) = json(home.command(&["explain-env", "scripted", "--json"]).env("STRAY_TOKEN", "x"), &home);
    let has = |key: &str, name: &str| {
        let names = explained.get(key).and_then(Value::as_array).unwrap_or_default();
        names.iter().any(|known| known.as_str() == Some(name))
    };
    assert_eq!(code, 0);
    assert!(
        has("of_the_entry", "PLAIN_WORD") && has("of_the_gateway", "PATH") && has("withheld", "STRAY_TOKEN"),
        "{}",
        explained.to_json()
    );

    // Again: only on purpose, and then with the tools that were chosen meanwhile.
    let again = home
        .command(&["install", "scripted", "--yes", "--set", "folder=/tmp", "--env", "PLAIN_WORD=x"])
        .output()
        .expect("it runs");
    assert_eq!(again.status.code(), Some(3), "{}", home.stderr());
    json(&mut home.command(&["configure", "scripted", "--include", "plain", "--json"]), &home);
    let (again, _) = install(&home, "scripted", &["--replace"]);
    assert_eq!(again.pointer("/probe/tools_used").and_then(Value::as_u64), Some(1), "{}", again.to_json());
}

#[test]
fn a_server_that_does_not_run_yet_is_installed_with_the_default_choice_and_says_so() {
    let home = Home::new(PROGRAM, "policies: {allow_unsigned: true}\n");
    manifest(&home, "broken", "dies-at-start");
    let (installed, code) = install(&home, "broken", &[]);
    assert_eq!((code, text(&installed, "/probe/outcome")), (0, "failed"), "{}", installed.to_json());
    let config = std::fs::read_to_string(home.path().join("config.yaml")).expect("the config");
    assert!(config.contains("include: [plain, variables]"), "{config}");
}

#[test]
fn a_manifest_that_nobody_vouches_for_is_refused_where_the_config_asks_for_signatures() {
    let home = Home::new(PROGRAM, "");
    let path = manifest(&home, "scripted", "works");
    let key = home.path().join("ours.key");
    let run = |arguments: &[&str]| {
        let output = home.command(arguments).stdin(Stdio::null()).output().expect("the program runs");
        assert!(output.status.success(), "{arguments:?}: {}", home.stderr());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = |path: &Path| path.display().to_string();
    let made = run(&["policy", "keygen", "--no-password", "--json", &shown(&key)]);
    let public = text(&parse_str(&made).expect("one document"), "/key").to_owned();
    let config = |names: &str| {
        let text = format!(
            "policies:\n  allow_unsigned: false\n  keys:\n    - {{name: me, key: {public}, names: ['{names}']}}\n"
        );
        std::fs::write(home.path().join("config.yaml"), text).expect("the config is written");
    };
    let vouched = || {
        let (shown, _) = json(&mut home.command(&["catalog", "show", "scripted", "--json"]), &home);
        text(&shown, "/vouched").to_owned()
    };
    config("script*");
    assert!(vouched().starts_with("refused: nobody signed it"), "{}", vouched());
    let refused = home.command(&["install", "scripted", "--yes"]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(7), "{}", home.stderr());
    run(&["policy", "sign", "--key", &shown(&key), &shown(&path)]);
    assert_eq!(vouched(), "signed by me");
    config("other-*");
    assert!(vouched().contains("not trusted for this name"), "{}", vouched());
    config("script*");
    let text = std::fs::read_to_string(&path).expect("the manifest");
    std::fs::write(&path, text.replace("of@1.0.0", "or@1.0.0")).expect("the manifest is written");
    assert!(vouched().starts_with("refused: "), "{}", vouched());
}

#[test]
fn the_doctor_says_what_is_wrong_and_how_to_mend_it() {
    let home = Home::new(
        PROGRAM,
        "mcp_servers:\n  a: {command: no-such-program-anywhere}\n  b: {command: python3, timeout: soon}\n",
    );
    std::fs::write(home.path().join("stopped"), "").expect("the switch is set");
    std::fs::create_dir_all(home.path().join("user/.cursor")).expect("a folder");
    std::fs::write(home.path().join("user/.cursor/mcp.json"), "{\"mcpServers\": {\"x\": {\"command\": \"npx\"}}}")
        .expect("a config");
    let mut command = home.command(&["doctor", "--json"]);
    let (examined, code) = json(command.env("HOME", home.path().join("user")), &home);
    assert_eq!((code, examined.get("ok").and_then(Value::as_bool)), (1, Some(false)));
    let findings = examined.get("findings").and_then(Value::as_array).unwrap_or_default();
    let hint = |what: &str, part: &str| {
        let found =
            findings.iter().find(|finding| text(finding, "/what") == what && text(finding, "/message").contains(part));
        found.map(|finding| text(finding, "/hint").to_owned())
    };
    assert!(
        hint("programs", "no-such-program-anywhere").is_some_and(|hint| hint.contains("PATH")),
        "{}",
        examined.to_json()
    );
    assert!(hint("config", "1 error").is_some_and(|hint| hint.contains("portcullis check")), "{}", examined.to_json());
    assert!(hint("switch", "stopped").is_some_and(|hint| hint.contains("portcullis resume")), "{}", examined.to_json());
    let client = hint("clients", "cursor reaches x past the gates");
    assert!(client.is_some_and(|hint| hint.contains("portcullis import --from cursor")), "{}", examined.to_json());
    assert_eq!(hint("home", "for its owner alone").as_deref(), Some(""));
}
