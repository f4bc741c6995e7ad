//! The control server: an operator's assistant watches, and answers what clients may.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::chat::ChatEndpoint;
use portcullis_tests::{Client, Home};

use crate::{PROGRAM, are_published};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/support/hostile.py");
const PATIENCE: Duration = Duration::from_mins(1);

/// A home with a server whose calls have to be approved.
fn home(control: &str) -> Home {
    Home::new(
        PROGRAM,
        &format!(
            "journal: {{payloads: full}}\ncontrol: {control}\n\
             mcp_servers:\n  hostile: {{command: python3, args: ['{SCRIPT}'], trust: untrusted}}\n"
        ),
    )
}

/// Returns a command of the program as another client would start it: in a session of its own, from a shell of its own.
fn elsewhere(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    command.args(["-w", "sh", "-c", "\"$@\"; true", "sh", PROGRAM]).args(arguments);
    command.env("PORTCULLIS_HOME", home.path()).stderr(Stdio::null());
    command
}

/// Calls a tool that answers with a JSON text; true where it is an error.
fn told(client: &mut Client, tool: &str, arguments: Value) -> (Value, bool) {
    let reply = client.call(tool, arguments);
    let failed = reply.result().get("isError").and_then(Value::as_bool) == Some(true);
    (parse_str(&reply.text()).unwrap_or_else(|_| panic!("no JSON: {}", reply.text())), failed)
}

fn read(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let (value, failed) = told(client, tool, arguments);
    assert!(!failed, "{tool}: {}", value.to_json());
    value
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("no {key}: {}", value.to_json()))
}

fn write_call(client: &mut Client) -> Value {
    client.call("mcp__hostile__attempt", object! { "what" => "home" }.into()).message
}

/// Waits for the one question that is open.
fn question(control: &mut Client) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let open = read(control, "approvals_open", object! {}.into());
        if let Some(question) = list(&open, "questions").first() {
            assert_eq!(question.get("a_client_may_answer").and_then(Value::as_bool), Some(true), "{}", open.to_json());
            return question.get("id").and_then(Value::as_str).expect("an id").to_owned();
        }
        assert!(Instant::now() < until, "nothing is asked");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn sessions_and_what_passed_for_them_are_read_without_a_gateway() {
    let home = home("{}");
    let mut agent = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let _tools = agent.tools_once(are_published);
    write_call(&mut agent);
    assert!(agent.close(PATIENCE));

    let mut control = Client::connect(&mut home.command(&["control"]), object! {}.into());
    let names = control.tool_names();
    assert_eq!(names.len(), 8, "{names:?}");
    let sessions = read(&mut control, "sessions_list", object! { "limit" => "5" }.into());
    let of_agent =
        |session: &&Value| session.get("session").and_then(Value::as_str).is_some_and(|id| id.starts_with("stdio-"));
    let session = list(&sessions, "sessions").iter().find(of_agent).expect("the session of the agent");
    let id = session.get("session").and_then(Value::as_str).unwrap().to_owned();
    let one = read(&mut control, "session_get", object! { "session" => id.as_str() }.into());
    assert!(one.to_json().contains(r#""gate":"call""#), "{}", one.to_json());
    let messages = read(&mut control, "messages_read", object! { "session" => id.as_str() }.into());
    let call = list(&messages, "messages").last().expect("a passage").clone();
    assert!(
        list(&call, "texts").iter().any(|text| text.get("text").and_then(Value::as_str) == Some("home")),
        "{}",
        call.to_json()
    );

    let events = read(&mut control, "events_poll", object! { "after_cursor" => 0_u64, "limit" => 200_u64 }.into());
    assert!(!list(&events, "events").is_empty());
    let nothing = object! { "after_cursor" => events.get("next_cursor").cloned().unwrap(), "timeout_ms" => 0_u64 };
    let waited = read(&mut control, "events_wait", nothing.into());
    assert_eq!(waited.get("reason").and_then(Value::as_str), Some("timeout"), "{}", waited.to_json());

    // What writes is off, and a mistake is told as one.
    for (tool, arguments) in [
        ("approval_respond", object! { "id" => "abcdef", "decision" => "deny" }),
        ("message_send", object! { "channel" => "ops", "message" => "hello" }),
        ("session_get", object! { "session" => "no such session" }),
        ("session_get", object! { "sesion" => "x" }),
        ("sessions_list", object! { "limit" => "many" }),
        ("no_such_tool", object! {}),
    ] {
        assert!(told(&mut control, tool, arguments.into()).1, "{tool}");
    }
}

#[test]
fn an_event_wakes_who_waits_for_it() {
    let home = home("{}");
    let mut agent = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let _tools = agent.tools_once(are_published);
    let mut control = Client::connect(&mut home.command(&["control"]), object! {}.into());
    let now = read(&mut control, "events_poll", object! {}.into()).get("next_cursor").cloned().unwrap();
    let arguments = object! { "after_cursor" => now, "timeout_ms" => 120_000_u64 };
    let waiting = control.begin("tools/call", object! { "name" => "events_wait", "arguments" => arguments }.into());
    write_call(&mut agent);
    let reply = control.reply_to(waiting).to_json();
    assert!(reply.contains("attempt"), "{reply}");
}

#[test]
fn an_answer_of_another_client_reaches_the_gateway() {
    let home = home("{tools: {approval_respond: on}}");
    let mut agent = Client::connect(&mut elsewhere(&home, &["run"]), object! {}.into());
    let _tools = agent.tools_once(are_published);
    let mut control = Client::connect(&mut elsewhere(&home, &["control"]), object! {}.into());
    assert!(write_call(&mut agent).to_json().contains(r#""isError":true"#));
    let id = question(&mut control);
    let wrong = object! { "id" => id.as_str(), "decision" => "allow-always" };
    assert!(told(&mut control, "approval_respond", wrong.into()).1);
    let answer = object! { "id" => id.as_str(), "decision" => "allow-once" };
    read(&mut control, "approval_respond", answer.into());
    let through = write_call(&mut agent).to_json();
    assert!(!through.contains(r#""isError":true"#), "{through}");
    // It was worth one call, and stands in the journal as what it was.
    assert!(write_call(&mut agent).to_json().contains(r#""isError":true"#));
    let journal = home.command(&["journal", "tail", "--json"]).output().expect("the program runs");
    let journal = String::from_utf8_lossy(&journal.stdout).into_owned();
    assert!(journal.contains("control (raw-test-client)"), "{journal}");
    let status = read(&mut control, "sessions_list", object! {}.into());
    assert!(status.to_json().contains(r#""live""#), "{}", status.to_json());
}

#[test]
fn nobody_answers_what_they_asked_themselves() {
    let home = home("{tools: {approval_respond: on}}");
    let mut agent = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let _tools = agent.tools_once(are_published);
    assert!(write_call(&mut agent).to_json().contains(r#""isError":true"#));
    // The same client starts both.
    let mut control = Client::connect(&mut home.command(&["control"]), object! {}.into());
    let id = question(&mut control);
    for decision in ["allow-once", "allow-session"] {
        let answer = object! { "id" => id.as_str(), "decision" => decision };
        let (refused, failed) = told(&mut control, "approval_respond", answer.into());
        assert!(failed && refused.to_json().contains("whoever asks cannot answer"), "{}", refused.to_json());
    }
    assert_eq!(question(&mut control), id, "it is open still");
    assert!(write_call(&mut agent).to_json().contains(r#""isError":true"#));
}

#[test]
fn a_message_reaches_an_operator_and_no_secret_is_listed() {
    let endpoint = ChatEndpoint::start(|_| Some((200, object! {}.into())));
    let token = ["tok", "en-of-nobody"].concat();
    let home = home(&format!(
        "{{tools: {{message_send: on}}, channels: {{ops: {{webhook: '{}/hook', token: '{token}'}}, desk: {{desktop: true}}}}}}",
        endpoint.url()
    ));
    let mut control = Client::connect(&mut home.command(&["control"]), object! {}.into());
    let channels = read(&mut control, "channels_list", object! {}.into()).to_json();
    assert!(channels.contains("ops") && channels.contains("desk") && !channels.contains("/hook"), "{channels}");
    let message = object! { "channel" => "ops", "message" => "somebody should look" };
    read(&mut control, "message_send", message.into());
    let sent = endpoint.asked().last().cloned().expect("a request");
    assert_eq!(sent.body.get("text").and_then(Value::as_str), Some("somebody should look"));
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {token}").as_str()));
    for (channel, message) in [("nobody", "x".to_owned()), ("ops", "x".repeat(4_001))] {
        let arguments = object! { "channel" => channel, "message" => message };
        assert!(told(&mut control, "message_send", arguments.into()).1, "{channel}");
    }
}
