//! Agents behind chat endpoints, as servers, and in the place of a client that cannot sample.

use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::chat::{ChatEndpoint, completion};
use portcullis_tests::{Client, Home};

use crate::{PROGRAM, are_published};

/// Far beyond what anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A key that no scanner takes for one of somebody.
fn key() -> String {
    ["not", "a", "key", "of", "anybody"].join("-")
}

fn home(endpoint: &ChatEndpoint, further: &str) -> Home {
    let chat = format!("{{url: '{}', model: stub, api_key: '{}'{further}}}", endpoint.url(), key());
    Home::new(PROGRAM, &format!("mcp_servers:\n  agent: {{chat: {chat}, trust: full}}\n"))
}

fn connect(home: &Home) -> Client {
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let _tools = client.tools_once(|tools| tools.len() >= 4);
    client
}

fn ask(client: &mut Client, prompt: &str, session: Option<&str>) -> String {
    let mut arguments = object! { "prompt" => prompt };
    if let Some(session) = session {
        arguments.insert("session_id", session);
    }
    client.call("mcp__agent__ask", arguments.into()).text()
}

/// Calls a tool that answers with a JSON text.
fn told(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let text = client.call(&format!("mcp__agent__{tool}"), arguments).text();
    parse_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

fn status(value: &Value) -> &str {
    value.get("status").and_then(Value::as_str).unwrap_or_default()
}

/// Asks for a job until it is over or `wanted`.
fn wait(client: &mut Client, job: &str, wanted: &str) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let told = told(client, "check", object! { "job_id" => job }.into());
        if status(&told) == wanted {
            return told;
        }
        assert!(Instant::now() < until, "it does not become {wanted}: {}", told.to_json());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_agent_is_a_server_that_is_asked_like_any_other() {
    let endpoint = ChatEndpoint::shouting();
    let home = home(&endpoint, "");
    let mut client = connect(&home);
    for tool in ["ask", "check", "cancel", "reset"] {
        assert!(client.tool_names().contains(&format!("mcp__agent__{tool}")), "{:?}", client.tool_names());
    }
    assert_eq!(ask(&mut client, "hello", None), "HELLO");
    let asked = endpoint.asked().last().cloned().expect("a request");
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {}", key()).as_str()));
    assert_eq!(asked.body.get("model").and_then(Value::as_str), Some("stub"));
    // Each call passed the gates of calls and results.
    let journal = home.command(&["journal", "tail", "--json"]).output().expect("the program runs");
    let journal = String::from_utf8_lossy(&journal.stdout).into_owned();
    assert!(journal.contains("\"ask\"") && journal.contains("result"), "{journal}");
    assert!(!journal.contains(&key()) && !home.stderr().contains(&key()));
}

#[test]
fn what_was_said_in_a_conversation_is_said_again_and_reset_forgets_it() {
    let endpoint = ChatEndpoint::shouting();
    let mut client = connect(&home(&endpoint, ""));
    let said = || {
        let asked = endpoint.asked().last().cloned().expect("a request");
        let messages = asked.body.get("messages").and_then(Value::as_array).expect("messages").to_vec();
        let texts = messages.iter().map(|message| message.get("content").and_then(Value::as_str).unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    ask(&mut client, "one", Some("mine"));
    ask(&mut client, "two", Some("mine"));
    assert_eq!(said(), ["one", "ONE", "two"]);
    ask(&mut client, "three", Some("other"));
    assert_eq!(said(), ["three"]);
    assert_eq!(told(&mut client, "reset", object! {}.into()).get("cleared").and_then(Value::as_u64), Some(0));
    ask(&mut client, "four", Some("mine"));
    assert_eq!(said(), ["four"]);
}

#[test]
fn an_endpoint_that_keeps_conversations_is_told_a_name_that_belongs_to_the_principal() {
    let endpoint = ChatEndpoint::shouting();
    let mut client = connect(&home(&endpoint, ", session_header: X-Session"));
    ask(&mut client, "one", Some("mine"));
    ask(&mut client, "two", Some("mine"));
    let asked = endpoint.asked().clone();
    let names: Vec<_> = asked.iter().map(|asked| asked.header("x-session").expect("the header").to_owned()).collect();
    assert_eq!(names[0], names[1]);
    assert!(!names[0].contains("mine") && names[0].len() >= 32, "{names:?}");
    assert_eq!(asked[1].body.get("messages").and_then(Value::as_array).map(<[Value]>::len), Some(1));
}

#[test]
fn a_job_is_answered_later_and_its_answer_is_kept() {
    let endpoint = ChatEndpoint::shouting();
    let mut client = connect(&home(&endpoint, ""));
    let begun = told(&mut client, "ask", object! { "prompt" => "later", "async_mode" => true }.into());
    assert_eq!(status(&begun), "pending");
    let job = begun.get("job_id").and_then(Value::as_str).expect("an id").to_owned();
    assert!(job.len() == 32 && job.chars().all(|one| one.is_ascii_hexdigit()), "{job}");
    let done = wait(&mut client, &job, "completed");
    assert_eq!(done.get("result").and_then(Value::as_str), Some("LATER"));
    assert_eq!(done.get("prompt_chars").and_then(Value::as_u64), Some(5));
    // What is over stays as it is.
    assert_eq!(status(&told(&mut client, "cancel", object! { "job_id" => job.as_str() }.into())), "completed");
    let cleared = told(&mut client, "reset", object! {}.into());
    assert_eq!(cleared.to_json(), r#"{"cleared":1,"by_status":{"completed":1}}"#);
    assert_eq!(status(&told(&mut client, "check", object! { "job_id" => job.as_str() }.into())), "unknown");
}

#[test]
fn a_job_that_is_cancelled_breaks_off_the_exchange() {
    let endpoint = ChatEndpoint::start(|_| None);
    let mut client = connect(&home(&endpoint, ""));
    let begun = told(&mut client, "ask", object! { "prompt" => "never", "async_mode" => true }.into());
    let job = begun.get("job_id").and_then(Value::as_str).expect("an id").to_owned();
    wait(&mut client, &job, "running");
    let cancelled = told(&mut client, "cancel", object! { "job_id" => job.as_str() }.into());
    assert_eq!(status(&cancelled), "cancelled");
    assert!(cancelled.get("finished_at").is_some(), "{}", cancelled.to_json());
}

#[test]
fn what_goes_wrong_is_told_without_the_key_and_without_what_the_endpoint_wrote() {
    let endpoint = ChatEndpoint::start(|asked| {
        let leak = object! { "error" => asked.header("authorization").unwrap_or_default() };
        match asked.prompt().as_str() {
            "key" => Some((401, leak.into())),
            "empty" => Some((200, object! { "choices" => Vec::<Value>::new() }.into())),
            _ => Some((500, leak.into())),
        }
    });
    let home = home(&endpoint, "");
    let mut client = connect(&home);
    for (prompt, wanted) in [("key", "refused the key"), ("empty", "no choice"), ("other", "status 500")] {
        let text = ask(&mut client, prompt, None);
        assert!(text.contains(wanted) && !text.contains(&key()), "{text}");
    }
    for (arguments, wanted) in [
        (object! { "prompt" => "x", "toolsets" => vec![Value::from("files")] }, "cannot be kept to"),
        (object! { "prompt" => "x", "session_id" => "a b" }, "session_id"),
        (object! { "prompt" => "" }, "prompt"),
        (object! { "prompt" => "x".repeat(256 * 1024 + 1) }, "longer than 256 KiB"),
    ] {
        let text = client.call("mcp__agent__ask", arguments.into()).text();
        assert!(text.contains(wanted), "{text}");
    }
    assert!(!home.stderr().contains(&key()), "{}", home.stderr());
}

#[test]
fn an_agent_that_is_not_trusted_is_asked_only_with_consent() {
    let endpoint = ChatEndpoint::shouting();
    let chat = format!("{{url: '{}', model: stub}}", endpoint.url());
    let config = format!("approvals: {{timeout: 1}}\nmcp_servers:\n  agent: {{chat: {chat}, trust: untrusted}}\n");
    let home = Home::new(PROGRAM, &config);
    let mut client = connect(&home);
    let reply = client.call("mcp__agent__ask", object! { "prompt" => "hello" }.into());
    assert_eq!(reply.result().get("isError").and_then(Value::as_bool), Some(true), "{}", reply.text());
    assert!(endpoint.asked().is_empty());
}

/// A home whose server samples, with a provider.
fn sampling(endpoint: &ChatEndpoint, mode: &str) -> Home {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/sampling.py");
    let provider = format!("{{url: '{}', model: stub, api_key: '{}', max_tokens: 50}}", endpoint.url(), key());
    let config = format!(
        "approvals: {{timeout: 1}}\npolicies:\n  server-requests: {{settings: {{sampling: {{mode: {mode}}}}}}}\n\
         mcp_servers:\n  asks: {{command: python3, args: ['{script}'], trust: full, sampling: {{provider: {provider}}}}}\n"
    );
    Home::new(PROGRAM, &config)
}

#[test]
fn a_provider_answers_the_sampling_of_a_server_where_the_client_cannot() {
    let endpoint = ChatEndpoint::start(|asked| Some((200, completion(&format!("to {}", asked.prompt())))));
    let home = sampling(&endpoint, "allow");
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let _tools = client.tools_once(are_published);
    let text = client.call("mcp__asks__sample", object! { "text" => "what now" }.into()).text();
    assert!(text.contains("to what now") && text.contains("stub-1") && text.contains("endTurn"), "{text}");
    let asked = endpoint.asked().last().cloned().expect("a request");
    let roles = asked.body.get("messages").and_then(Value::as_array).expect("messages");
    assert_eq!(roles[0].get("role").and_then(Value::as_str), Some("system"));
    assert_eq!(asked.body.get("max_tokens").and_then(Value::as_u64), Some(50));
    let status = home.command(&["status", "--json"]).output().expect("the program runs");
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains(r#""tokens":7"#) || status.contains(r#""tokens": 7"#), "{status}");
    assert!(!status.contains(&key()) && !home.stderr().contains(&key()));
}

#[test]
fn no_provider_answers_what_the_request_gate_did_not_let_through() {
    let endpoint = ChatEndpoint::shouting();
    for mode in ["off", "ask"] {
        let home = sampling(&endpoint, mode);
        let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
        let _tools = client.tools_once(are_published);
        let text = client.call("mcp__asks__sample", object! { "text" => "what now" }.into()).text();
        assert!(text.contains("refused by the gateway"), "{mode}: {text}");
    }
    assert!(endpoint.asked().is_empty());
}

#[test]
fn a_client_that_can_sample_is_asked_and_not_the_provider() {
    let endpoint = ChatEndpoint::shouting();
    let home = sampling(&endpoint, "allow");
    let mut client = Client::connect(&mut home.command(&["run"]), object! { "sampling" => object! {} }.into());
    let _tools = client.tools_once(are_published);
    let call = client.begin(
        "tools/call",
        object! { "name" => "mcp__asks__sample", "arguments" => object! { "text" => "you" } }.into(),
    );
    let is_sampling = |message: &Value| message.get("method").and_then(Value::as_str) == Some("sampling/createMessage");
    let request = client.wait_for(PATIENCE, is_sampling).expect("the client is asked");
    let content = object! { "type" => "text", "text" => "by the client" };
    let result = object! { "role" => "assistant", "content" => content, "model" => "own", "stopReason" => "endTurn" };
    let id = request.get("id").cloned().expect("an id");
    client.send(&object! { "jsonrpc" => "2.0", "id" => id, "result" => result }.into());
    let reply = client.reply_to(call).to_json();
    assert!(reply.contains("by the client"), "{reply}");
    assert!(endpoint.asked().is_empty());
}
