use portcullis_gates::{Constraint, OperatorAnswer, testing};
use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, GateName};

use super::support::*;
use crate::status::Phase;

fn asking(class: ApproverClass) -> Setup {
    setup().server("s", Scripted::with_tools(&[&tool("write"), &tool("read"), &tool("list")])).policy(judging(
        "trust",
        GateName::Call,
        move |_| testing::ask("write-capable", class),
    ))
}

async fn introduced(setup: Setup) -> (Running, Client) {
    let running = setup.run();
    let mut client = running.connect();
    client.introduce(r#"{"elicitation":{}}"#).await;
    client.tools().await;
    (running, client)
}

#[tokio::test]
async fn a_question_goes_to_the_client_and_its_approval_sends_what_was_shown() {
    let (running, mut client) = introduced(asking(ApproverClass::Client)).await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__write","arguments":{"path":"/x"}}"#).await;
    let form = client.expect("elicitation/create").await;
    let message = form.pointer("/params/message").and_then(Value::as_str).unwrap();
    assert!(message.contains("write-capable") && message.contains(r#"{"path":"/x"}"#), "{message}");
    let names = form.pointer("/params/requestedSchema/properties/name/enum").unwrap().to_json();
    assert!(names.contains(r#""write""#) && names.contains(r#""read""#), "{names}");
    assert!(running.server("s").calls().is_empty(), "nothing is sent before the answer");
    client.respond(&form, r#"{"action":"accept","content":{"decision":"approve once","name":"write"}}"#).await;
    client.answer_to(id).await;
    assert_eq!(running.server("s").calls(), [r#"write {"name":"write","arguments":{"path":"/x"}}"#]);

    let id = client.start("tools/call", r#"{"name":"mcp__s__write","arguments":{"path":"/x"}}"#).await;
    let form = client.expect("elicitation/create").await;
    client
        .respond(&form, r#"{"action":"accept","content":{"decision":"approve for this session","name":"write"}}"#)
        .await;
    client.answer_to(id).await;
    client.call("mcp__s__write", r#"{"path":"/y"}"#).await;
    assert_eq!(running.server("s").calls().len(), 3, "once approved for the session it is not asked again");
}

#[tokio::test]
async fn a_decline_and_a_careless_acceptance_send_nothing() {
    let (running, mut client) = introduced(asking(ApproverClass::Client)).await;
    for answer in [
        r#"{"action":"decline"}"#,
        r#"{"action":"cancel"}"#,
        r#"{"action":"accept","content":{}}"#,
        r#"{"action":"accept","content":{"decision":"approve once","name":"read"}}"#,
    ] {
        let id = client.start("tools/call", r#"{"name":"mcp__s__write"}"#).await;
        let form = client.expect("elicitation/create").await;
        client.respond(&form, answer).await;
        let response = client.answer_to(id).await.to_json();
        assert!(response.contains("declined") && response.contains(r#""isError":true"#), "{answer}: {response}");
    }
    assert!(running.server("s").calls().is_empty());
}

#[tokio::test]
async fn without_anybody_to_ask_the_call_is_refused_with_its_own_code() {
    let cases = [
        (asking(ApproverClass::Client), "{}"),
        (asking(ApproverClass::Operator), r#"{"elicitation":{}}"#),
        (asking(ApproverClass::Client).config("approvals: {client: false}\n"), r#"{"elicitation":{}}"#),
        (asking(ApproverClass::Client).config("approvals: {auto_answerers: [test]}\n"), r#"{"elicitation":{}}"#),
    ];
    for (setup, capabilities) in cases {
        let running = setup.run();
        let mut client = running.connect();
        client.introduce(capabilities).await;
        client.tools().await;
        let text = client.call("mcp__s__write", "{}").await.to_json();
        assert!(text.contains("no-approver"), "{text}");
        assert!(running.server("s").calls().is_empty());
    }
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question() {
    let (running, mut client) = introduced(asking(ApproverClass::Client)).await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__write"}"#).await;
    let form = client.expect("elicitation/create").await;
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
        .await;
    let cancelled = client.expect("notifications/cancelled").await;
    assert_eq!(cancelled.pointer("/params/requestId"), form.get("id"));
    client.respond(&form, r#"{"action":"accept","content":{"decision":"approve once","name":"write"}}"#).await;
    client.result("ping", "{}").await;
    assert!(running.server("s").calls().is_empty());
}

#[tokio::test]
async fn a_tool_that_changes_while_a_person_is_asked_is_not_called() {
    let (running, mut client) = introduced(asking(ApproverClass::Client)).await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__write"}"#).await;
    let form = client.expect("elicitation/create").await;
    let changed = tool("write").replace("Does", "Also sends away; does");
    running.server("s").set(crate::method::Listable::Tools, &[&changed, &tool("read")]);
    running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    client.expect("notifications/tools/list_changed").await;
    client.respond(&form, r#"{"action":"accept","content":{"decision":"approve once","name":"write"}}"#).await;
    let response = client.answer_to(id).await.to_json();
    assert!(response.contains(r#""isError":true"#), "{response}");
    assert!(running.server("s").calls().is_empty());
}

fn says(allow: bool) -> OperatorAnswer {
    OperatorAnswer { allow, scope: None, constraint: Constraint::default(), surface: "terminal".to_owned() }
}

/// Runs it with an inbox that operators can answer, and nobody who watches.
fn heard(setup: Setup) -> Running {
    let running = setup.run();
    running.gates.inbox().open();
    running
}

async fn question(running: &Running) -> String {
    running.wait_for("a question", |running| !running.gates.inbox().pending().is_empty()).await;
    running.gates.inbox().pending()[0].id.clone()
}

fn asks_of(gate: GateName) -> Setup {
    setup()
        .server("s", Scripted::with_tools(&[&tool("write")]))
        .policy(judging("careful", gate, move |_| testing::ask("unusual", ApproverClass::Operator)))
}

#[tokio::test]
async fn a_pending_call_goes_through_when_it_comes_again_after_an_operators_yes() {
    let running = heard(asking(ApproverClass::Client));
    let mut client = running.connect();
    client.introduce("{}").await;
    client.tools().await;
    let text = client.call("mcp__s__write", r#"{"path":"/x"}"#).await.to_json();
    let id = question(&running).await;
    assert!(text.contains("approval-pending") && text.contains(&id), "{text}");
    running.gates.answer(&id, says(true)).await.unwrap();
    let other = client.call("mcp__s__write", r#"{"path":"/y"}"#).await.to_json();
    assert!(other.contains("approval-pending"), "{other}");
    assert!(running.server("s").calls().is_empty());
    client.call("mcp__s__write", r#"{"path":"/x"}"#).await;
    assert_eq!(running.server("s").calls(), [r#"write {"name":"write","arguments":{"path":"/x"}}"#]);
}

#[tokio::test]
async fn a_quarantined_tool_is_published_at_once_when_an_operator_allows_it() {
    let running = heard(asks_of(GateName::Listing));
    let mut client = running.connect();
    client.introduce("{}").await;
    assert!(client.tools().await.is_empty());
    let id = question(&running).await;
    running.gates.answer(&id, says(true)).await.unwrap();
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__s__write"]);
}

#[tokio::test]
async fn a_server_that_is_asked_about_starts_once_an_operator_allows_it() {
    let running = heard(asks_of(GateName::Config));
    let mut client = running.connect();
    client.introduce("{}").await;
    let id = question(&running).await;
    running
        .wait_for("held", |running| running.phase("s") == (Phase::Denied, Some("approval-pending".to_owned())))
        .await;
    assert_eq!(running.server("s").launches(), 0);
    running.gates.answer(&id, says(true)).await.unwrap();
    running.wait_for("ready", |running| running.phase("s").0 == Phase::Ready).await;
}

#[tokio::test]
async fn a_held_result_is_released_or_dropped_by_an_operator() {
    let running = heard(asks_of(GateName::Result));
    let mut client = running.connect();
    client.introduce("{}").await;
    client.tools().await;
    for (allow, part) in [(true, r#""name":"write""#), (false, "declined")] {
        let call = client.start("tools/call", r#"{"name":"mcp__s__write"}"#).await;
        let id = question(&running).await;
        running.gates.answer(&id, says(allow)).await.unwrap();
        let answer = client.answer_to(call).await.to_json();
        assert!(answer.contains(part) && answer.contains("declined") != allow, "{answer}");
    }
}
