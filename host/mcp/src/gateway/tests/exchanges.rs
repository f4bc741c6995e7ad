//! What a server or a gate asks during a call of the stateless era, and the client's further rounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, GateName};

use super::support::*;

const FORM: &str =
    r#"{"message":"Name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}"#;

/// A server whose tool asks the client by these requests, one after the other, and answers with what it was told.
fn curious(questions: &'static [(&'static str, &'static str)]) -> (Scripted, PeerSlot) {
    let slot = PeerSlot::default();
    let mut server = Scripted::with_tools(&[&tool("t"), &tool("u")]);
    let asked = slot.clone();
    server.on_call = Arc::new(move |_, _, _| {
        let asked = asked.clone();
        Box::pin(async move {
            let _running = Running::count(&asked.1);
            let peer = asked.0.lock().unwrap().clone().unwrap();
            let mut answers = Vec::new();
            for (method, params) in questions {
                match peer.request(method, json(params), None).await {
                    Ok(answer) => answers.push(answer.to_json()),
                    Err(error) => {
                        return Ok(Ok(json(&format!(
                            r#"{{"content":[{{"type":"text","text":"failed with {}"}}],"isError":true}}"#,
                            error.code()
                        ))));
                    }
                }
            }
            Ok(Ok(json(&format!(r#"{{"answers":[{}]}}"#, answers.join(",")))))
        })
    });
    (server, slot)
}

#[derive(Clone, Default)]
struct PeerSlot(Arc<std::sync::Mutex<Option<Arc<crate::gateway::ServerPeer>>>>, Arc<AtomicUsize>);

struct Running(Arc<AtomicUsize>);

impl Running {
    fn count(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn asking(questions: &'static [(&'static str, &'static str)]) -> (super::support::Running, Client, PeerSlot) {
    let (server, slot) = curious(questions);
    let running = setup().server("s", server).run();
    let mut client = running.connect();
    client.stateless("tools/list", ALL, "").await;
    *slot.0.lock().unwrap() = Some(running.server("s").peer());
    (running, client, slot)
}

const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;
const CALL: &str = r#""name":"mcp__s__t","arguments":{"a":1},"#;

/// Sends another round: the same call, with answers.
fn round(call: &str, asked: &Value, answers: &str) -> String {
    let state = asked.pointer("/result/requestState").and_then(Value::as_str).unwrap();
    format!(r#"{call}"inputResponses":{answers},"requestState":"{state}","#)
}

fn result_type(response: &Value) -> Option<&str> {
    response.pointer("/result/resultType").and_then(Value::as_str)
}

fn code_of(response: &Value) -> Option<i64> {
    response.pointer("/error/code").and_then(Value::as_i64)
}

#[tokio::test]
async fn a_servers_questions_become_rounds_and_the_call_goes_on_with_the_answers() {
    let (running, mut client, _slot) = asking(&[("elicitation/create", FORM), ("roots/list", "{}")]).await;
    let asked = client.stateless("tools/call", ALL, CALL).await;
    assert_eq!(result_type(&asked), Some("input_required"), "{}", asked.to_json());
    let request = asked.pointer("/result/inputRequests/input-1").unwrap();
    assert_eq!(request.get("method").and_then(Value::as_str), Some("elicitation/create"));
    let message = request.pointer("/params/message").and_then(Value::as_str);
    assert_eq!(message, Some("The server `s` asks: Name?"), "it passed the request gate like any other");
    let answer = r#"{"input-1":{"action":"accept","content":{"n":"x"}}}"#;
    let asked = client.stateless("tools/call", ALL, &round(CALL, &asked, answer)).await;
    assert_eq!(asked.pointer("/result/inputRequests").unwrap().to_json(), r#"{"input-2":{"method":"roots/list"}}"#);
    let done = client.stateless("tools/call", ALL, &round(CALL, &asked, r#"{"input-2":{"roots":[],"x":1.0}}"#)).await;
    assert_eq!(
        done.get("result").unwrap().to_json(),
        r#"{"answers":[{"action":"accept","content":{"n":"x"}},{"roots":[],"x":1.0}],"resultType":"complete"}"#
    );
    assert_eq!(running.server("s").calls().len(), 1, "the server was called once, whatever the rounds");
    assert!(!running.gateway.has_exchanges());
}

#[tokio::test]
async fn a_state_is_good_for_its_own_call_once() {
    let (running, mut client, slot) = asking(&[("roots/list", "{}")]).await;
    let asked = client.stateless("tools/call", ALL, CALL).await;
    let answers = r#"{"input-1":{"roots":[]}}"#;
    for foreign in
        [CALL.replace("mcp__s__t", "mcp__s__u"), CALL.replace(":1", ":2"), CALL.replace("arguments", "other")]
    {
        let response = client.stateless("tools/call", ALL, &round(&foreign, &asked, answers)).await;
        assert_eq!(code_of(&response), Some(-32_602), "{foreign}");
    }
    let state = asked.pointer("/result/requestState").and_then(Value::as_str).unwrap().to_owned();
    let tampered = if state.starts_with('A') { state.replacen('A', "B", 1) } else { format!("A{}", &state[1..]) };
    for broken in [tampered.as_str(), "", "x", &state[..state.len() - 1]] {
        let params = format!(r#"{CALL}"inputResponses":{answers},"requestState":"{broken}","#);
        assert_eq!(code_of(&client.stateless("tools/call", ALL, &params).await), Some(-32_602), "{broken}");
    }
    let mut other = running.connect();
    let response = other.stateless("tools/call", ALL, &round(CALL, &asked, answers)).await;
    assert_eq!(code_of(&response), Some(-32_602), "another client has nothing of it");
    assert_eq!(slot.1.load(Ordering::SeqCst), 1, "the call still waits, and was not made again");
    let done = client.stateless("tools/call", ALL, &round(CALL, &asked, answers)).await;
    assert_eq!(result_type(&done), Some("complete"));
    let again = client.stateless("tools/call", ALL, &round(CALL, &asked, answers)).await;
    assert_eq!(code_of(&again), Some(-32_602), "it is over");
}

#[tokio::test]
async fn missing_answers_are_asked_for_again_and_wrong_ones_are_named() {
    let (_running, mut client, _slot) = asking(&[("elicitation/create", FORM)]).await;
    let asked = client.stateless("tools/call", ALL, CALL).await;
    let again = client.stateless("tools/call", ALL, &round(CALL, &asked, r#"{"other":{}}"#)).await;
    assert_eq!(result_type(&again), Some("input_required"));
    assert!(again.pointer("/result/inputRequests/input-1").is_some());
    let wrong = client.stateless("tools/call", ALL, &round(CALL, &again, r#"{"input-1":{"action":"perhaps"}}"#)).await;
    assert_eq!(code_of(&wrong), Some(-32_602));
    let done = client.stateless("tools/call", ALL, &round(CALL, &again, r#"{"input-1":{"action":"decline"}}"#)).await;
    assert_eq!(result_type(&done), Some("complete"), "{}", done.to_json());
}

#[tokio::test]
async fn a_server_that_needs_what_was_not_declared_makes_the_call_fail_with_what_is_missing() {
    let (running, mut client, slot) = asking(&[("sampling/createMessage", "{}")]).await;
    for capabilities in ["{}", r#"{"roots":{}}"#] {
        // Each set of capabilities has a server of its own.
        client.stateless("tools/list", capabilities, "").await;
        *slot.0.lock().unwrap() = Some(running.server("s").peer());
        let response = client.stateless("tools/call", capabilities, CALL).await;
        assert_eq!(code_of(&response), Some(-32_021), "{}", response.to_json());
        let required = response.pointer("/error/data/requiredCapabilities").unwrap().to_json();
        assert_eq!(required, r#"{"sampling":{}}"#);
    }
}

#[tokio::test]
async fn an_approval_is_a_round_like_any_other() {
    let setup = setup().server("s", Scripted::with_tools(&[&tool("t"), &tool("read")])).policy(judging(
        "trust",
        GateName::Call,
        |_| portcullis_gates::testing::ask("write-capable", ApproverClass::Client),
    ));
    let running = setup.run();
    let mut client = running.connect();
    let asked = client.stateless("tools/call", ALL, CALL).await;
    assert_eq!(result_type(&asked), Some("input_required"), "{}", asked.to_json());
    let message = asked.pointer("/result/inputRequests/input-1/params/message").and_then(Value::as_str).unwrap();
    assert!(message.contains("write-capable"), "{message}");
    assert!(running.server("s").calls().is_empty(), "nothing is sent before the answer");
    let declined =
        client.stateless("tools/call", ALL, &round(CALL, &asked, r#"{"input-1":{"action":"decline"}}"#)).await;
    assert!(declined.to_json().contains("declined"));
    assert!(running.server("s").calls().is_empty());
    let asked = client.stateless("tools/call", ALL, CALL).await;
    let approve = r#"{"input-1":{"action":"accept","content":{"decision":"approve once","name":"t"}}}"#;
    let done = client.stateless("tools/call", ALL, &round(CALL, &asked, approve)).await;
    assert_eq!(result_type(&done), Some("complete"), "{}", done.to_json());
    assert_eq!(running.server("s").calls().len(), 1);
    let response = client.stateless("tools/call", "{}", CALL).await.to_json();
    assert!(response.contains("no-approver"), "{response}");
}

#[tokio::test]
async fn a_call_that_its_client_gives_up_or_leaves_is_cancelled() {
    let (running, mut client, slot) = asking(&[("roots/list", "{}")]).await;
    let asked = client.stateless("tools/call", ALL, CALL).await;
    assert_eq!(slot.1.load(Ordering::SeqCst), 1, "it waits for the client");
    let id = client.start_stateless("tools/call", ALL, &round(CALL, &asked, "{}")).await;
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
        .await;
    running.wait_for("the end of the call", |_| slot.1.load(Ordering::SeqCst) == 0).await;
    client.stateless("tools/call", ALL, CALL).await;
    assert_eq!(slot.1.load(Ordering::SeqCst), 1);
    drop(client);
    running.wait_for("the end of the call", |_| slot.1.load(Ordering::SeqCst) == 0).await;
    assert!(!running.gateway.has_exchanges());
}

#[tokio::test]
async fn only_so_many_calls_wait_for_one_client() {
    let (_running, mut client, slot) = asking(&[("roots/list", "{}")]).await;
    for number in 0..32 {
        let response = client.stateless("tools/call", ALL, &CALL.replace(":1", &format!(":{number}"))).await;
        assert_eq!(result_type(&response), Some("input_required"), "{}", response.to_json());
    }
    assert_eq!(slot.1.load(Ordering::SeqCst), 32);
    let response = client.stateless("tools/call", ALL, CALL).await;
    assert_eq!(code_of(&response), Some(-31_004), "{}", response.to_json());
    assert_eq!(slot.1.load(Ordering::SeqCst), 32, "the one that may not wait is cancelled");
}

#[tokio::test]
async fn parallel_calls_of_one_client_may_be_asked_and_those_of_two_are_not_confused() {
    let (running, mut client, _slot) = asking(&[("roots/list", "{}")]).await;
    let first = client.stateless("tools/call", ALL, CALL).await;
    let second = client.stateless("tools/call", ALL, CALL).await;
    for asked in [&second, &first] {
        let key = asked.pointer("/result/inputRequests").and_then(Value::as_object).unwrap().iter().next().unwrap().0;
        let answers = format!(r#"{{"{key}":{{"roots":[]}}}}"#);
        let done = client.stateless("tools/call", ALL, &round(CALL, asked, &answers)).await;
        assert_eq!(result_type(&done), Some("complete"), "{}", done.to_json());
    }
    client.stateless("tools/call", ALL, CALL).await;
    let mut other = running.connect();
    let response = other.stateless("tools/call", ALL, CALL).await.to_json();
    assert!(response.contains("failed with -32601"), "nobody can tell whose question it is: {response}");
}

#[tokio::test]
async fn what_a_server_asks_outside_of_a_call_goes_with_another_call_of_the_only_client() {
    let release = Arc::new(tokio::sync::Notify::new());
    let released = Arc::clone(&release);
    let mut busy = Scripted::with_tools(&[&tool("t")]);
    busy.on_call = Arc::new(move |_, _, _| {
        let released = Arc::clone(&released);
        Box::pin(async move {
            released.notified().await;
            Ok(Ok(json(r#"{"isError":true,"content":[]}"#)))
        })
    });
    let running = setup().server("s", busy).server("idle", Scripted::with_tools(&[&tool("t")])).run();
    let mut client = running.connect();
    client.stateless("tools/list", r#"{"roots":{}}"#, "").await;
    let ask = |method: &'static str| {
        let peer = running.server("idle").peer();
        tokio::spawn(async move { peer.request(method, json("{}"), None).await })
    };
    assert_eq!(ask("roots/list").await.unwrap().unwrap_err().code(), -32_601, "nothing is there that could carry it");
    let id = client.start_stateless("tools/call", r#"{"roots":{}}"#, CALL).await;
    running.wait_for("the call", |running| running.server("s").calls().len() == 1).await;
    assert_eq!(ask("sampling/createMessage").await.unwrap().unwrap_err().code(), -32_601);
    let roots = ask("roots/list");
    let asked = client.answer_to(id).await;
    assert_eq!(result_type(&asked), Some("input_required"), "{}", asked.to_json());
    let answers = r#"{"input-1":{"roots":[]}}"#;
    let id = client.start_stateless("tools/call", r#"{"roots":{}}"#, &round(CALL, &asked, answers)).await;
    assert_eq!(roots.await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
    release.notify_one();
    let done = client.answer_to(id).await;
    assert_eq!(result_type(&done), Some("complete"), "what the other server lacks is not why this call failed");
}

#[tokio::test]
async fn a_log_message_goes_only_to_a_request_that_named_its_level() {
    let (slot, level) = (PeerSlot::default(), Arc::new(std::sync::Mutex::new("")));
    let (peer, logged) = (slot.clone(), Arc::clone(&level));
    let mut server = Scripted::with_tools(&[&tool("t")]);
    server.on_call = Arc::new(move |_, _, _| {
        let message = format!(r#"{{"level":"{}","data":"x"}}"#, logged.lock().unwrap());
        peer.0.lock().unwrap().as_ref().unwrap().notification("notifications/message", json(&message));
        Box::pin(async { Ok(Ok(json(r#"{"content":[]}"#))) })
    });
    let running = setup().server("s", server).run();
    let mut client = running.connect();
    client.stateless("tools/list", ALL, "").await;
    *slot.0.lock().unwrap() = Some(running.server("s").peer());
    let params = stateless_params(ALL, CALL, r#""io.modelcontextprotocol/logLevel":"warning","#);
    for (params, logs, hears) in [
        (params.as_str(), "warning", true),
        (params.as_str(), "info", false),
        (&stateless_params(ALL, CALL, ""), "emergency", false),
    ] {
        *level.lock().unwrap() = logs;
        client.request("tools/call", params).await;
        assert_eq!(client.hears("notifications/message").await, hears, "{logs}");
    }
}

#[tokio::test]
async fn a_page_that_a_server_wants_opened_first_is_a_round_and_the_call_is_sent_again() {
    let server = Scripted::with_tools(&[&tool("t")]);
    let opened = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&opened);
    let server = server.answering(move |_| {
        if calls.fetch_add(1, Ordering::SeqCst) == 0 {
            let page = r#"{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.org/","message":"Sign in"}]}"#;
            return Ok(Err(error(-32_042, "open a page first").with_data(json(page))));
        }
        Ok(Ok(json(r#"{"content":[]}"#)))
    });
    let running = setup().server("s", server).run();
    let mut client = running.connect();
    let asked = client.stateless("tools/call", ALL, CALL).await;
    let request = asked.pointer("/result/inputRequests/input-1").unwrap_or_else(|| panic!("{}", asked.to_json()));
    assert_eq!(request.pointer("/params/url").and_then(Value::as_str), Some("https://example.org/"));
    assert_eq!(request.pointer("/params/message").and_then(Value::as_str), Some("The server `s` asks: Sign in"));
    let done = client.stateless("tools/call", ALL, &round(CALL, &asked, r#"{"input-1":{"action":"accept"}}"#)).await;
    assert_eq!(done.get("result").unwrap().to_json(), r#"{"content":[],"resultType":"complete"}"#);
    opened.store(0, Ordering::SeqCst);
    let asked = client.stateless("tools/call", ALL, CALL).await;
    let declined =
        client.stateless("tools/call", ALL, &round(CALL, &asked, r#"{"input-1":{"action":"cancel"}}"#)).await;
    assert!(declined.to_json().contains("declined"), "{}", declined.to_json());
    opened.store(0, Ordering::SeqCst);
    let response = client.stateless("tools/call", r#"{"elicitation":{}}"#, CALL).await;
    assert_eq!(code_of(&response), Some(-32_021), "{}", response.to_json());
    let required = response.pointer("/error/data/requiredCapabilities").unwrap().to_json();
    assert_eq!(required, r#"{"elicitation":{"url":{}}}"#);
}
