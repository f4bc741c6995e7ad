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

/// What is lost where a stateless client is in front of a server with a handshake: that one asks by requests of its own,
/// which have no keys of the server's choice. So a question cannot have the key that the suite expects, and an answer that
/// comes before its question cannot be told to belong to it.
const OF_KEYS: [&str; 3] = [
    "input-required-result-basic-elicitation: sep-2322-elicitation-complete (0)",
    "input-required-result-basic-elicitation: sep-2322-elicitation-incomplete (0)",
    "input-required-result-ignore-extra-params: sep-2322-ignore-unexpected-params (0)",
];

/// What is lost there as well: a server with a handshake has no tasks extension, and the gateway makes no tasks of its
/// own. So it does not offer the extension, and each of these checks wants a task, or the methods and errors of who has it.
const OF_TASKS: [&str; 26] = [
    "tasks-capability-negotiation: sep-2663-tasks-methods-non-declaring (0)",
    "tasks-capability-negotiation: tasks-extension-advertised (0)",
    "tasks-capability-negotiation: tasks-per-request-meta-opt-in (0)",
    "tasks-dispatch-and-envelope: sep-2663-durable-create-strong-consistency (0)",
    "tasks-dispatch-and-envelope: sep-2663-tasks-get-invalid-task-id-32602 (0)",
    "tasks-dispatch-and-envelope: tasks-server-directed-creation-no-hint (0)",
    "tasks-lifecycle: sep-2663-cancel-ack-empty-result (0)",
    "tasks-lifecycle: sep-2663-result-type-task-on-create (0)",
    "tasks-lifecycle: sep-2663-tasks-get-status-completed (0)",
    "tasks-lifecycle: sep-2663-tasks-get-status-failed (0)",
    "tasks-lifecycle: sep-2663-tasks-get-status-working (0)",
    "tasks-lifecycle: sep-2663-tool-error-uses-completed-status (0)",
    "tasks-lifecycle: tasks-cancel-terminal-idempotent-ack (0)",
    "tasks-mrtr-composition: sep-2663-mrtr-synchronous-before-task-creation (0)",
    "tasks-mrtr-input: sep-2663-tasks-get-status-input-required (0)",
    "tasks-mrtr-input: tasks-mrtr-partial-fulfillment (0)",
    "tasks-mrtr-input: tasks-mrtr-tasks-update-resumes (0)",
    "tasks-request-headers: sep-2663-routing-headers-accepted-on-tasks-get (0)",
    "tasks-request-headers: sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get (0)",
    "tasks-request-state-removal: tasks-create-result-no-request-state (0)",
    "tasks-request-state-removal: tasks-get-detailed-no-request-state (0)",
    "tasks-required-task-error: sep-2663-server-returns-missing-capability-data-shape (0)",
    "tasks-required-task-error: sep-2663-server-returns-missing-capability-when-required (0)",
    "tasks-wire-fields: tasks-no-early-ttl-expiry (0)",
    "tasks-wire-fields: tasks-no-related-task-meta-on-inlined-result (0)",
    "tasks-wire-fields: tasks-wire-field-renames (0)",
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
    let direct = Fixture::start(PROGRAM, "both").expect("the fixture starts");
    let control = suite.test_server(&direct.url, revision).expect("the suite reports");
    let (_fixture, entry) = match way {
        Way::Streams(era) => {
            let program = Fixture::build(PROGRAM).expect("the fixture is built").display().to_string();
            (None, object! { "command" => program, "args" => vec![Value::from("stdio"), era.into()] })
        }
        Way::Http(era) => {
            let fixture = Fixture::start(PROGRAM, era).expect("the fixture starts");
            let entry = object! { "url" => fixture.url.as_str() };
            (Some(fixture), entry)
        }
    };
    let home = Home::new(PROGRAM, &config(entry));
    let served = Served::start(&home);
    let through = suite.test_server(&served.url, revision).expect("the suite reports");
    let expected = match (revision, way) {
        ("2026-07-28", Way::Streams("legacy") | Way::Http("legacy")) => [&OF_KEYS[..], &OF_TASKS].concat(),
        _ => Vec::new(),
    };
    let (known, lost): (Vec<_>, Vec<_>) = control
        .lost_in(&through, &OF_STREAMS)
        .into_iter()
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
