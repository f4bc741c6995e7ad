//! Through the gateway: every check that passes against the fixture directly passes here too, whichever way and in
//! whichever era the gateway reaches the fixture.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_tests::Home;
use portcullis_tests::conformance::{Fixture, Suite};

use crate::PROGRAM;

/// Checks that are about streams of events, and that the suite leaves open where a server answers in plain JSON: the
/// gateway does so wherever nothing comes before the answer.
const OF_STREAMS: [&str; 3] = ["server-sse-streams-functional", "server-sse-priming-event", "server-sse-retry-field"];

/// Scenarios of the tasks extension, which the gateway does not offer to its clients.
const OF_TASKS: &str = "tasks-";

/// Answers to questions that the gateway has not passed on yet, in a call without a state of its making, are not taken.
const OF_EARLY_ANSWERS: [&str; 1] =
    ["input-required-result-ignore-extra-params: sep-2322-ignore-unexpected-params (0)"];

/// What is lost where a stateless client is in front of a server with a handshake: that one asks by requests of its own,
/// one after the other, which have no keys of the server's choice.
const OF_QUESTIONS: [&str; 5] = [
    "input-required-result-basic-elicitation: sep-2322-elicitation-complete (0)",
    "input-required-result-basic-elicitation: sep-2322-elicitation-incomplete (0)",
    "input-required-result-ignore-extra-params: sep-2322-ignore-unexpected-params (0)",
    "input-required-result-multiple-input-requests: sep-2322-multiple-inputs-complete (0)",
    "input-required-result-multiple-input-requests: sep-2322-multiple-inputs-incomplete (0)",
];

/// How the gateway reaches the fixture.
#[derive(Clone, Copy, Debug)]
enum Way {
    Streams(&'static str),
    Http(&'static str),
}

/// A running gateway over HTTP. It ends with the value.
struct Served {
    child: Child,
    /// Kept open: the gateway says more than where it listens.
    _output: BufReader<ChildStdout>,
    url: String,
}

impl Served {
    fn start(home: &Home) -> Self {
        let mut command: Command = home.command(&["serve", "--address", "127.0.0.1:0", "--without-token"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the gateway starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("the output was piped"));
        output.read_line(&mut line).expect("the gateway says where it listens");
        let url = line.split_whitespace().next().unwrap_or_default().to_owned();
        Self { child, _output: output, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One server, its names as they are, and no policy that judges messages.
fn config(entry: Object) -> String {
    let mut policies = object! { "required" => vec![Value::from("none")] };
    for policy in ["config-screen", "description-scan", "pins", "trust", "result-sanitizer", "flow", "server-requests"]
    {
        policies.insert(policy, object! { "mode" => "off" });
    }
    let mut entry = entry;
    entry.insert("tools", object! { "resources" => false, "prompts" => false });
    let config =
        object! { "naming" => "none", "policies" => policies, "mcp_servers" => object! { "fixture" => entry } };
    Value::from(config).to_json()
}

/// Runs the requirements of a revision directly and through the gateway, and asserts that no check is lost on the way.
/// Returns how many passed, or why the suite cannot be had.
fn compare(way: Way, revision: &str) -> Result<usize, String> {
    let suite = Suite::install()?;
    let direct = Fixture::start(PROGRAM, "both")?;
    let control = suite.test_server(&direct.url, revision)?;
    let (_fixture, entry) = match way {
        Way::Streams(era) => {
            let program = Fixture::build(PROGRAM)?.display().to_string();
            (None, object! { "command" => program, "args" => vec![Value::from("stdio"), era.into()] })
        }
        Way::Http(era) => {
            let fixture = Fixture::start(PROGRAM, era)?;
            let entry = object! { "url" => fixture.url.as_str() };
            (Some(fixture), entry)
        }
    };
    let home = Home::new(PROGRAM, &config(entry));
    let served = Served::start(&home);
    let through = suite.test_server(&served.url, revision)?;
    let expected: &[&str] = match (revision, way) {
        ("2026-07-28", Way::Streams("legacy") | Way::Http("legacy")) => &OF_QUESTIONS,
        ("2026-07-28", _) => &OF_EARLY_ANSWERS,
        _ => &[],
    };
    let (known, lost): (Vec<_>, Vec<_>) = control
        .lost_in(&through, &OF_STREAMS)
        .into_iter()
        .filter(|check| !check.starts_with(OF_TASKS))
        .partition(|check| expected.iter().any(|known| check.starts_with(known)));
    assert!(lost.is_empty(), "{} pass, and these are lost:\n{}\n{}", through.passed(), lost.join("\n"), home.stderr());
    assert_eq!(known.len(), expected.len(), "of what is known to be lost, only these were: {known:?}");
    Ok(through.passed())
}

macro_rules! cells {
    ($($(#[$attribute:meta])* $name:ident: $way:expr, $revision:literal;)*) => {
        $(
            #[test]
            $(#[$attribute])*
            fn $name() {
                match compare($way, $revision) {
                    Ok(passed) => println!("{passed} checks passed through the gateway"),
                    Err(reason) => println!("skipped: {reason}"),
                }
            }
        )*
    };
}

cells! {
    handshake_client_and_server_of_both_eras_on_streams: Way::Streams("both"), "2025-11-25";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    handshake_client_and_server_with_a_handshake_on_streams: Way::Streams("legacy"), "2025-11-25";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    handshake_client_and_stateless_server_on_streams: Way::Streams("modern"), "2025-11-25";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    handshake_client_and_server_with_a_handshake_over_http: Way::Http("legacy"), "2025-11-25";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    handshake_client_and_stateless_server_over_http: Way::Http("modern"), "2025-11-25";
    stateless_client_and_server_of_both_eras_on_streams: Way::Streams("both"), "2026-07-28";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    stateless_client_and_server_with_a_handshake_on_streams: Way::Streams("legacy"), "2026-07-28";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    stateless_client_and_stateless_server_on_streams: Way::Streams("modern"), "2026-07-28";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    stateless_client_and_server_with_a_handshake_over_http: Way::Http("legacy"), "2026-07-28";
    #[ignore = "all ways to the fixture: cargo test -p portcullis-tests --test conformance -- --ignored"]
    stateless_client_and_stateless_server_over_http: Way::Http("modern"), "2026-07-28";
}
