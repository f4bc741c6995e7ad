//! Tasks of both revisions, from the call that makes one to what comes of it.

mod augmented;
mod listened;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis_gates::testing;
use portcullis_model::json::Value;
use portcullis_model::{GateName, Subject, Verdict};

use augmented::{augmented, of_2025};

use super::support::*;
use crate::gateway::Greeting;
use crate::method::Verb;

const EXTENSION: &str = r#"{"elicitation":{},"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const AUGMENTED: &str = r#"{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#;
const TIMES: &str = r#""createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z""#;

/// What a server of tasks answers to a method.
fn told(own_id: &str, status: &str, more: &str) -> Value {
    json(&format!(r#"{{"taskId":"{own_id}","status":"{status}",{TIMES},"x-vendor":[1.50]{more}}}"#))
}

fn of_extension(greeting: &mut Greeting) {
    greeting.revision = "2026-07-28".to_owned();
    greeting.capabilities = json(r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
}

/// A server of the tasks extension whose tool becomes a task of that id, of which it tells this.
fn extended(own_id: &'static str, answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Scripted {
    let mut server = Scripted::with_tools(&[&tool("t")]).greeting(of_extension);
    server.on_call = Arc::new(move |_, verb, _| {
        let result = if verb == Verb::MayBecomeTask {
            let mut task = told(own_id, "working", r#","ttlMs":60000"#);
            task.as_object_mut().unwrap().insert("resultType", "task");
            task
        } else {
            json(r#"{"content":[{"type":"text","text":"at once"}]}"#)
        };
        Box::pin(async move { Ok(Ok(result)) })
    });
    server.on_ask = Arc::new(move |method, params| {
        assert!(!method.starts_with("tasks/") || params.get("taskId").unwrap().as_str() == Some(own_id), "{method}");
        Ok(answer(method, params))
    });
    server
}

async fn started(client: &mut Client, tool: &str) -> String {
    let response = client.stateless("tools/call", EXTENSION, &format!(r#""name":"{tool}","#)).await;
    let result = response.get("result").unwrap_or_else(|| panic!("{}", response.to_json()));
    assert_eq!(result.get("resultType").and_then(Value::as_str), Some("task"));
    result.get("taskId").and_then(Value::as_str).unwrap().to_owned()
}

async fn asked(client: &mut Client, method: &str, id: &str, more: &str) -> Value {
    client.stateless(method, EXTENSION, &format!(r#""taskId":"{id}",{more}"#)).await
}

fn code_of(response: &Value) -> Option<i64> {
    response.pointer("/error/code").and_then(Value::as_i64)
}

fn asked_of(running: &Running, method: &str) -> Vec<Value> {
    let asked = running.server("s").asked.lock().unwrap();
    asked.iter().filter(|(asked, _)| *asked == method).map(|(_, params)| params.clone()).collect()
}

/// Waits until the server is connected: what it offers is known from then on.
async fn ready(running: &Running) {
    running.gateway.start(&json(EXTENSION));
    running.gateway.settled().await;
}

#[tokio::test]
async fn a_task_is_known_by_an_id_of_the_gateway_and_to_the_client_alone_that_made_it() {
    let answer = |method: &str, _: &Value| match method {
        "tasks/get" => told("own", "completed", r#","ttlMs":null,"result":{"content":[],"x":1e2}"#),
        _ => json(r#"{"resultType":"complete","x-ack":true}"#),
    };
    let running = setup().server("s", extended("own", answer)).run();
    ready(&running).await;
    let (mut client, mut other) = (running.connect(), running.connect());
    let offered = client.stateless("server/discover", EXTENSION, "").await;
    let offered = offered.pointer("/result/capabilities/extensions/io.modelcontextprotocol~1tasks");
    assert_eq!(offered.map(Value::to_json), Some("{}".to_owned()));
    let id = started(&mut client, "mcp__s__t").await;
    assert_ne!(id, "own");
    let got = asked(&mut client, "tasks/get", &id, "").await;
    let expected = told(&id, "completed", r#","ttlMs":null,"result":{"content":[],"x":1e2},"resultType":"complete""#);
    assert_eq!(got.get("result").unwrap().to_json(), expected.to_json(), "all else is as the server said it");
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        for foreign in [id.as_str(), "own", "task-0"] {
            let response = asked(&mut other, method, foreign, r#""inputResponses":{},"#).await;
            assert_eq!(code_of(&response), Some(-32_602), "{method} of {foreign}");
        }
        assert_eq!(code_of(&asked(&mut client, method, "own", r#""inputResponses":{},"#).await), Some(-32_602));
        let undeclared = client.stateless(method, "{}", &format!(r#""taskId":"{id}","#)).await;
        assert_eq!(code_of(&undeclared), Some(-32_021), "{method}");
    }
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(code_of(&asked(&mut client, method, &id, "").await), Some(-32_601), "{method}");
    }
    let cancelled = asked(&mut client, "tasks/cancel", &id, "").await;
    assert_eq!(cancelled.get("result").unwrap().to_json(), r#"{"resultType":"complete","x-ack":true}"#);
    let plain = client.stateless("tools/call", "{}", r#""name":"mcp__s__t","#).await;
    assert_eq!(plain.pointer("/result/content/0/text").and_then(Value::as_str), Some("at once"));
    assert!(plain.pointer("/result/taskId").is_none());
}

#[tokio::test]
async fn tasks_of_two_servers_with_one_id_stay_apart() {
    let of = |name: &'static str| {
        move |_: &str, _: &Value| told("same", "completed", &format!(r#","ttlMs":1,"result":{{"of":"{name}"}}"#))
    };
    let running = setup().server("s", extended("same", of("s"))).server("r", extended("same", of("r"))).run();
    ready(&running).await;
    let mut client = running.connect();
    let (mine, theirs) = (started(&mut client, "mcp__s__t").await, started(&mut client, "mcp__r__t").await);
    assert_ne!(mine, theirs);
    for (id, name) in [(&theirs, "r"), (&mine, "s")] {
        let got = asked(&mut client, "tasks/get", id, "").await;
        assert_eq!(got.pointer("/result/result/of").and_then(Value::as_str), Some(name));
    }
}

/// A policy at the result gate that refuses whatever holds the word.
fn without(word: &'static str) -> portcullis_gates::ActivePolicy {
    judging("sanitizer", GateName::Result, move |subject| {
        let Subject::Result(result) = subject else { panic!("the result gate") };
        let holds = result.segments.iter().any(|segment| segment.text.contains(word));
        if holds { testing::deny("poisoned") } else { Verdict::allow() }
    })
}

#[tokio::test]
async fn what_comes_of_a_task_passes_the_result_gate_wherever_it_stands() {
    for more in [
        r#","result":{"content":[{"type":"text","text":"some poison"}]}"#,
        r#","result":{"structuredContent":{"poison":1}}"#,
        r#","error":{"code":1,"message":"poison"}"#,
        r#","statusMessage":"poison""#,
        r#","x":["poison"]"#,
    ] {
        let answer = move |_: &str, _: &Value| told("own", "completed", more);
        let running = setup().server("s", extended("own", answer)).policy(without("poison")).run();
        ready(&running).await;
        let mut client = running.connect();
        let id = started(&mut client, "mcp__s__t").await;
        let got = asked(&mut client, "tasks/get", &id, "").await;
        assert!(code_of(&got).is_some(), "{}", got.to_json());
        assert_eq!(got.pointer("/error/data/code").and_then(Value::as_str), Some("poisoned"), "{}", got.to_json());
    }
}

#[tokio::test]
async fn a_task_whose_beginning_is_refused_is_cancelled_and_reached_by_nobody() {
    let refusing = judging("sanitizer", GateName::Result, |_| testing::deny("never"));
    let running = setup().server("s", extended("own", |_, _| json("{}"))).policy(refusing).run();
    ready(&running).await;
    let mut client = running.connect();
    let refused = client.stateless("tools/call", EXTENSION, r#""name":"mcp__s__t","#).await;
    assert!(refused.pointer("/result/isError").is_some(), "{}", refused.to_json());
    running.wait_for("its end", |running| asked_of(running, "tasks/cancel").len() == 1).await;
}

const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}}"#;

#[tokio::test]
async fn what_a_task_asks_is_judged_once_and_answered_by_what_was_shown() {
    let answer = |method: &str, _: &Value| match method {
        "tasks/get" => told("own", "input_required", &format!(r#","inputRequests":{{"who":{FORM}}}"#)),
        _ => json("{}"),
    };
    let judged = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&judged);
    let counting = judging("requests", GateName::Request, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Verdict::allow()
    });
    let running = setup().server("s", extended("own", answer)).policy(counting).run();
    ready(&running).await;
    let mut client = running.connect();
    let id = started(&mut client, "mcp__s__t").await;
    for _ in 0..3 {
        let got = asked(&mut client, "tasks/get", &id, "").await;
        assert_eq!(got.pointer("/result/status").and_then(Value::as_str), Some("input_required"));
        let message = got.pointer("/result/inputRequests/who/params/message").and_then(Value::as_str);
        assert_eq!(message, Some("The server `s` asks: Name?"));
    }
    assert_eq!(judged.load(Ordering::SeqCst), 1);
    let unfit = r#""inputResponses":{"who":{"action":"accept","content":{}}},"#;
    assert_eq!(code_of(&asked(&mut client, "tasks/update", &id, unfit).await), Some(-32_602));
    let answers = r#""inputResponses":{"who":{"action":"accept","content":{"n":"A"}},"other":{"action":"accept"}},"#;
    let updated = asked(&mut client, "tasks/update", &id, answers).await;
    assert_eq!(updated.get("result").unwrap().to_json(), r#"{"resultType":"complete"}"#);
    let expected = r#"{"inputResponses":{"who":{"action":"accept","content":{"n":"A"}}},"taskId":"own"}"#;
    assert_eq!(asked_of(&running, "tasks/update").iter().map(Value::to_json).collect::<Vec<_>>(), [expected]);
    let got = asked(&mut client, "tasks/get", &id, "").await;
    assert!(got.pointer("/result/inputRequests").is_none(), "what was answered is not asked again");
    assert_eq!(got.pointer("/result/status").and_then(Value::as_str), Some("working"));
}

#[tokio::test]
async fn a_question_that_the_request_gate_refuses_reaches_no_client() {
    let sampling = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}"#;
    for (question, is_form) in [(FORM, true), (sampling, false)] {
        let answer = move |method: &str, _: &Value| match method {
            "tasks/get" => told("own", "input_required", &format!(r#","inputRequests":{{"q":{question}}}"#)),
            _ => json("{}"),
        };
        let refusing = judging("requests", GateName::Request, |_| testing::deny("not-that"));
        let running = setup().server("s", extended("own", answer)).policy(refusing).run();
        ready(&running).await;
        let mut client = running.connect();
        let id = started(&mut client, "mcp__s__t").await;
        let got = asked(&mut client, "tasks/get", &id, "").await;
        assert!(got.pointer("/result/inputRequests").is_none(), "{}", got.to_json());
        if is_form {
            running.wait_for("the answer", |running| asked_of(running, "tasks/update").len() == 1).await;
            let declined = r#"{"taskId":"own","inputResponses":{"q":{"action":"decline"}}}"#;
            assert_eq!(asked_of(&running, "tasks/update")[0].to_json(), declined);
        } else {
            assert_eq!(got.pointer("/result/status").and_then(Value::as_str), Some("failed"));
            assert_eq!(got.pointer("/result/error/code").and_then(Value::as_i64), Some(-31_001));
            running.wait_for("its end", |running| asked_of(running, "tasks/cancel").len() == 1).await;
        }
    }
}

#[tokio::test]
async fn a_tool_that_runs_as_a_task_only_is_waited_for_where_the_client_knows_no_such_tasks() {
    let server = augmented(of_2025);
    server.set(
        crate::method::Listable::Tools,
        &[r#"{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}"#],
    );
    let running = setup().server("s", server).run();
    running.gateway.start(&json("{}"));
    running.gateway.settled().await;
    let mut client = running.connect();
    let response = client.stateless("tools/call", "{}", r#""name":"mcp__s__t","#).await;
    let expected = r#"{"content":[{"type":"text","text":"done"}],"x":1.0,"resultType":"complete"}"#;
    assert_eq!(response.get("result").unwrap().to_json(), expected);
    assert!(asked_of(&running, "tasks/cancel").is_empty());
}

#[tokio::test]
async fn nobody_has_more_tasks_than_the_bound_and_those_that_ended_make_room() {
    let answer = |method: &str, _: &Value| match method {
        "tasks/get" => told("own", "completed", r#","ttlMs":60000"#),
        _ => json("{}"),
    };
    let running = setup().server("s", extended("own", answer)).run();
    ready(&running).await;
    let mut client = running.connect();
    let first = started(&mut client, "mcp__s__t").await;
    for _ in 1..128 {
        started(&mut client, "mcp__s__t").await;
    }
    let refused = client.stateless("tools/call", EXTENSION, r#""name":"mcp__s__t","#).await;
    assert_eq!(code_of(&refused), Some(-31_004), "{}", refused.to_json());
    running.wait_for("its end", |running| asked_of(running, "tasks/cancel").len() == 1).await;
    asked(&mut client, "tasks/get", &first, "").await;
    started(&mut client, "mcp__s__t").await;
    assert_eq!(code_of(&asked(&mut client, "tasks/get", &first, "").await), Some(-32_602));
}

#[tokio::test]
async fn a_call_that_may_become_a_task_holds_no_other_call_up() {
    let mut server = Scripted::with_tools(&[&tool("hangs"), &tool("t")]).greeting(of_extension);
    server.on_call = Arc::new(move |call, verb, _| {
        assert_eq!(verb, Verb::MayBecomeTask);
        Box::pin(async move {
            if call.name == "hangs" {
                std::future::pending::<()>().await;
            }
            Ok(Ok(json(r#"{"content":[]}"#)))
        })
    });
    let running = setup().server("s", server).run();
    ready(&running).await;
    let mut client = running.connect();
    client.start_stateless("tools/call", EXTENSION, r#""name":"mcp__s__hangs","#).await;
    running.wait_for("the first call", |running| running.server("s").calls().len() == 1).await;
    let response = client.stateless("tools/call", EXTENSION, r#""name":"mcp__s__t","#).await;
    assert!(response.get("result").is_some(), "{}", response.to_json());
}
