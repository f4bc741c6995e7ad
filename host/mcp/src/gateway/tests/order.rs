//! What a server says during a call reaches the client before the answer, in the order in which it was said.

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::{ActivePolicy, Cost, Evaluate, Evaluation, EvaluationFuture, testing};
use portcullis_model::json::Value;
use portcullis_model::{Facts, GateName, ResultKind, Subject, Verdict};

use super::http::Open;
use super::support::*;
use crate::HttpOptions;
use crate::gateway::ServerPeer;

/// So often the server speaks during a call.
const TIMES: usize = 10;

type PeerSlot = Arc<std::sync::Mutex<Option<Arc<ServerPeer>>>>;

/// A policy that thinks about everything but the answer: what is said by the way is judged later than that.
#[derive(Debug)]
struct Thoughtful;

impl Evaluate for Thoughtful {
    fn evaluate<'a>(&'a self, _facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(async move {
            if matches!(subject, Subject::Result(result) if result.kind != ResultKind::Result) {
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            Evaluation { outcome: Ok(testing::answer(subject, &Verdict::allow())), cost: Cost::default() }
        })
    }
}

fn thoughtful() -> ActivePolicy {
    testing::policy("thoughtful", &[GateName::Result], Thoughtful)
}

/// A server that logs and reports progress by turns, and answers at once.
fn talkative(slot: &PeerSlot, asks: bool) -> Scripted {
    let slot = Arc::clone(slot);
    let mut server = Scripted::with_tools(&[&tool("t")])
        .greeting(|greeting| greeting.capabilities = json(r#"{"tools":{},"logging":{}}"#));
    server.on_call = Arc::new(move |_, _, progress| {
        let slot = Arc::clone(&slot);
        Box::pin(async move {
            let peer = slot.lock().unwrap().clone().unwrap();
            let speak = |number: usize| {
                let line = format!(r#"{{"level":"error","data":{number}}}"#);
                peer.notification("notifications/message", json(&line));
                progress.as_ref().unwrap()(json(&format!(r#"{{"progressToken":1,"progress":{number}}}"#)));
            };
            (0..TIMES).for_each(speak);
            if asks {
                let _ = peer.request("roots/list", json("{}"), None).await;
                (TIMES..2 * TIMES).for_each(speak);
            }
            Ok(Ok(json(r#"{"content":[]}"#)))
        })
    });
    server
}

/// A talkative server behind a gateway.
fn running(slot: &PeerSlot, asks: bool) -> Running {
    setup().server("s", talkative(slot, asks)).policy(thoughtful()).run()
}

/// Returns what a message says: the number of a log line or of progress; nothing for the answer.
fn said(message: &Value) -> Option<String> {
    let params = message.get("params")?;
    let log = params.get("data").map(|data| format!("log {}", data.to_json()));
    log.or_else(|| params.get("progress").map(|progress| format!("progress {}", progress.to_json())))
}

fn expected(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.flat_map(|number| [format!("log {number}"), format!("progress {number}")]).collect()
}

/// Reads until a response comes, and returns what was said before it.
async fn heard(client: &mut Client) -> Vec<String> {
    let mut heard = Vec::new();
    loop {
        let message = client.wait(|_| true).await;
        match said(&message) {
            Some(said) => heard.push(said),
            None if message.get("method").is_none() => return heard,
            None => {}
        }
    }
}

const ROOTS: &str = r#"{"roots":{}}"#;
const META: &str = r#""progressToken":"p","io.modelcontextprotocol/logLevel":"debug","#;
const CALL: &str = r#"{"name":"mcp__s__t","arguments":{},"_meta":{"progressToken":"p"}}"#;

fn stateless_call(members: &str) -> String {
    stateless_params(ROOTS, &format!(r#""name":"mcp__s__t","arguments":{{}},{members}"#), META)
}

#[tokio::test]
async fn over_a_pipe_all_that_was_said_comes_before_the_answer_in_both_eras() {
    let slot = PeerSlot::default();
    let running = running(&slot, false);
    let mut client = running.connect();
    client.introduce(ROOTS).await;
    client.tools().await;
    *slot.lock().unwrap() = Some(running.server("s").peer());
    client.start("tools/call", CALL).await;
    assert_eq!(heard(&mut client).await, expected(0..TIMES));
    let mut client = running.connect();
    client.stateless("tools/list", ROOTS, "").await;
    client.start("tools/call", &stateless_call("")).await;
    assert_eq!(heard(&mut client).await, expected(0..TIMES));
}

#[tokio::test]
async fn over_http_all_that_was_said_comes_before_the_answer_in_both_eras() {
    let slot = PeerSlot::default();
    let door = Open::new(running(&slot, false), HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", ROOTS).await;
    client.ask(900, "tools/list", "{}").whole().await;
    *slot.lock().unwrap() = Some(door.running.server("s").peer());
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}}"#, stateless_call(""));
    let stateless = door.post(&body).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "tools/call");
    for request in [client.ask(7, "tools/call", CALL), stateless.with("Mcp-Name", "mcp__s__t")] {
        let mut answer = request.send().await;
        let mut heard = Vec::new();
        while let Some(event) = answer.event().await {
            if event.data.is_empty() {
                continue;
            }
            assert_ne!(heard.last().map(String::as_str), Some("answer"), "nothing follows the answer");
            heard.push(said(&event.json()).unwrap_or_else(|| "answer".to_owned()));
        }
        assert_eq!(heard.pop().as_deref(), Some("answer"));
        assert_eq!(heard, expected(0..TIMES));
    }
}

#[tokio::test]
async fn what_was_said_around_a_question_of_a_stateless_call_is_not_lost_between_its_rounds() {
    let slot = PeerSlot::default();
    let running = running(&slot, true);
    let mut client = running.connect();
    client.stateless("tools/list", ROOTS, "").await;
    *slot.lock().unwrap() = Some(running.server("s").peer());
    client.start("tools/call", &stateless_call("")).await;
    let mut heard = Vec::new();
    let asked = loop {
        let message = client.wait(|_| true).await;
        match said(&message) {
            Some(said) => heard.push(said),
            None => break message,
        }
    };
    assert_eq!(heard, expected(0..TIMES), "what was said before the question comes before it");
    // While nobody listens the server speaks on.
    running.server("s").peer().notification("notifications/message", json(r#"{"level":"error","data":"meanwhile"}"#));
    running.wait_for("the line to be judged", |running| !running.gateway.has_unheard()).await;
    let state = asked.pointer("/result/requestState").and_then(Value::as_str).unwrap();
    let members = format!(r#""inputResponses":{{"input-1":{{"roots":[]}}}},"requestState":"{state}","#);
    client.start("tools/call", &stateless_call(&members)).await;
    let mut rest = super::order::heard(&mut client).await;
    assert_eq!(rest.remove(0), r#"log "meanwhile""#);
    assert_eq!(rest, expected(TIMES..2 * TIMES));
}
