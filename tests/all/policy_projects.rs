//! A policy from an empty folder to a running gateway, in every language.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse};
use portcullis_model::object;
use portcullis_tests::{Client, Home, test_cache};

use crate::PROGRAM;

/// A machine that is busy with other tests compiles slowly.
const PATIENCE: Duration = Duration::from_mins(3);

/// The example that there is in every language.
const EXAMPLE: &str = "working-folder";

/// Returns a config that trusts a key for the example, and takes nothing that is unsigned.
fn config(key: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = object! { "command" => "python3", "args" => vec![script.into(), "normal".into()] };
    let required: Vec<Value> = ["config-screen", "environment", "trust"].into_iter().map(Value::from).collect();
    let key = object! { "name" => "ours", "key" => key, "names" => vec![Value::from(EXAMPLE)] };
    let config = object! {
        "mcp_servers" => object! { "files" => server },
        "policies" => object! { "required" => required, "keys" => vec![Value::from(key)] },
    };
    Value::from(config).to_json()
}

/// Runs the program in a folder. Compiled dependencies and tool chains are kept for the next run of the tests.
fn run(home: &Home, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(arguments).env("PORTCULLIS_HOME", home.path());
    command.env("CARGO_TARGET_DIR", test_cache().join("policy-target"));
    // What the outer build was told is not meant for this one.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    command.output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Begins the example and builds it. Returns its folder, or why the tool chain is not there.
fn built(home: &Home, folder: &Path, language: &str) -> Result<PathBuf, String> {
    let new = run(home, folder, &["policy", "new", "--example", "--lang", language]);
    assert!(new.status.success(), "{}", stderr(&new));
    let project = folder.join(EXAMPLE);
    let tools = test_cache().join("policy-tools").display().to_string();
    let build = run(home, &project, &["policy", "build", "--tools", &tools]);
    if build.status.success() {
        return Ok(project);
    }
    let said = stderr(&build);
    assert!(said.contains("error: installing"), "{said}");
    Err(said.lines().last().unwrap_or_default().to_owned())
}

/// Lets the component judge the fixtures that all languages share, and returns the verdicts.
fn verdicts(home: &Home, project: &Path) -> String {
    let test = run(home, project, &["policy", "test", "--update", "--all-rules"]);
    assert!(test.status.success(), "{}{}", stdout(&test), stderr(&test));
    let verdicts = std::fs::read_to_string(project.join("verdicts.txt")).expect("the verdicts were written");
    assert!(verdicts.matches("deny write-outside-folder").count() > 10, "{verdicts}");
    verdicts
}

/// Makes a key, has the gateway trust it, and signs the component and its settings under the names that they get.
fn sign(home: &Home, project: &Path) {
    let made = run(home, project, &["policy", "keygen", "--no-password", "--json", "ours.key"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let made = parse(made.stdout.trim_ascii()).expect("one document");
    let key = made.get("key").and_then(Value::as_str).expect("the public key");
    std::fs::write(home.path().join("config.yaml"), config(key)).expect("the config is written");
    let settings = format!("build/{EXAMPLE}.yaml");
    std::fs::copy(project.join("settings.yaml"), project.join(&settings)).expect("the settings are copied");
    let module = format!("build/{EXAMPLE}.wasm");
    let signed = run(home, project, &["policy", "sign", "--key", "ours.key", &module, &settings]);
    assert!(signed.status.success(), "{}", stderr(&signed));
}

/// Signs the component and its settings, drops them into a running gateway and waits until it denies.
fn denies(home: &Home, project: &Path) {
    sign(home, project);
    home.policies();
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let mut call = |path: &str| client.call("mcp__files__plain", object! { "path" => path }.into());
    assert_eq!(call("/etc/cron.d/job").text(), "plain", "{}", home.stderr());
    let read = |path: &str| std::fs::read(project.join(path)).expect("it is there");
    for end in ["yaml.minisig", "yaml", "wasm.minisig", "wasm"] {
        home.drop_policy(&format!("{EXAMPLE}.{end}"), &read(&format!("build/{EXAMPLE}.{end}")));
    }
    let began = Instant::now();
    loop {
        let reply = call("/etc/cron.d/job");
        if reply.message.pointer("/result/isError") == Some(&Value::Bool(true)) {
            assert!(reply.text().contains("write-outside-folder"), "{}", reply.text());
            break;
        }
        assert!(began.elapsed() < PATIENCE, "it never denied:\n{}", home.stderr());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(call("/tmp/scratch/notes").text(), "plain", "{}", home.stderr());
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_policy_in_rust_is_begun_built_tested_and_denies_in_a_running_gateway() {
    let home = Home::new(PROGRAM, "{}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = built(&home, folder.path(), "rust").expect("cargo needs no installing");
    verdicts(&home, &project);
    let check = run(&home, &project, &["policy", "check", "--strict"]);
    assert!(check.status.success(), "{}{}", stdout(&check), stderr(&check));
    assert!(stdout(&check).contains("no capability"), "{}", stdout(&check));
    denies(&home, &project);
}

#[test]
fn a_policy_in_c_is_begun_built_tested_and_denies_in_a_running_gateway() {
    if !has("clang") || !has("wasm-ld") {
        println!("skipped: clang and wasm-ld are not installed: apt install clang lld");
        return;
    }
    let home = Home::new(PROGRAM, "{}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = built(&home, folder.path(), "c").expect("clang needs no installing");
    let written = verdicts(&home, &project);
    let check = run(&home, &project, &["policy", "check", "--strict"]);
    assert!(check.status.success(), "{}{}", stdout(&check), stderr(&check));
    denies(&home, &project);

    // The same job in Rust says the same, word for word.
    let other = tempfile::tempdir().expect("a temporary folder");
    let project = built(&home, other.path(), "rust").expect("cargo needs no installing");
    assert_eq!(verdicts(&home, &project), written);
}

/// Compares what a policy with an interpreter in it says with what one in Rust does. Returns why its tool chain is not there.
fn says_the_same(language: &str) -> Result<(), String> {
    let home = Home::new(PROGRAM, "{}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = built(&home, folder.path(), language)?;
    let written = verdicts(&home, &project);
    let other = tempfile::tempdir().expect("a temporary folder");
    let project = built(&home, other.path(), "rust").expect("cargo needs no installing");
    assert_eq!(verdicts(&home, &project), written);
    Ok(())
}

#[test]
fn a_policy_in_javascript_gives_the_same_verdicts() {
    if let Err(why) = says_the_same("js") {
        println!("skipped: componentize-js cannot be installed: {why}");
    }
}

#[test]
fn a_policy_in_python_gives_the_same_verdicts() {
    if let Err(why) = says_the_same("python") {
        println!("skipped: componentize-py cannot be installed: {why}");
    }
}

#[test]
#[ignore = "compiles an interpreter into a running gateway, for minutes: cargo test -p portcullis-tests --test all policy_projects -- --ignored"]
fn policies_in_javascript_and_python_deny_in_a_running_gateway() {
    for language in ["js", "python"] {
        let home = Home::new(PROGRAM, "{}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        match built(&home, folder.path(), language) {
            Ok(project) => denies(&home, &project),
            Err(why) => println!("skipped: the tool chain of {language} cannot be installed: {why}"),
        }
    }
}

#[test]
fn a_change_of_the_policy_shows_as_changed_verdicts_and_a_broken_case_fails() {
    if !has("clang") || !has("wasm-ld") {
        println!("skipped: clang and wasm-ld are not installed: apt install clang lld");
        return;
    }
    let home = Home::new(PROGRAM, "{}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = built(&home, folder.path(), "c").expect("clang needs no installing");
    verdicts(&home, &project);
    let source = project.join("src/policy.c");
    let text = std::fs::read_to_string(&source).expect("the source is there");
    std::fs::write(&source, text.replace("path.ptr[0] == '~'", "path.ptr[0] == '?'")).expect("the source is written");
    let build = run(&home, &project, &["policy", "build"]);
    assert!(build.status.success(), "{}", stderr(&build));
    let judged = run(&home, &project, &["policy", "test"]);
    assert_eq!(judged.status.code(), Some(1), "{}", stdout(&judged));
    let said = stdout(&judged);
    assert!(said.contains("FAILED   calls: a home folder cannot be told"), "{said}");
    assert!(said.contains("CHANGED  calls: a home folder cannot be told"), "{said}");

    // A second policy of the name is refused instead of written over the first.
    let again = run(&home, folder.path(), &["policy", "new", "--example", "--lang", "c"]);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
}
