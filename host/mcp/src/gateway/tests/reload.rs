use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::testing;
use portcullis_model::json::Value;
use portcullis_model::{GateName, Subject, Verdict};
use tokio::sync::Notify;

use super::support::*;
use crate::gateway::LaunchError;
use crate::status::Phase;

const BOTH: &str = "mcp_servers:\n  a: {command: scripted}\n  b: {command: scripted}\n";
/// The entry of `b` differs.
const OTHER: &str = "mcp_servers:\n  a: {command: scripted}\n  b: {command: other}\n";

/// Two servers with a tool each, and a client that knows them.
async fn both(b: Scripted) -> (Running, Client) {
    let (running, mut client) =
        setup().server("a", Scripted::with_tools(&[&tool("one")])).server("b", b).client().await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
    (running, client)
}

fn two() -> Scripted {
    Scripted::with_tools(&[&tool("two")])
}

/// Makes calls of a server wait until told.
fn held(server: Scripted) -> (Scripted, Arc<Notify>) {
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let on_call: OnCall = Arc::new(move |_, _, _| {
        let released = Arc::clone(&released);
        Box::pin(async move {
            released.notified().await;
            Ok(Ok(json(r#"{"done":true}"#)))
        })
    });
    (Scripted { on_call, ..server }, release)
}

#[tokio::test]
async fn a_server_that_the_config_adds_is_started_and_told_of() {
    let (running, mut client) =
        setup().server("a", Scripted::with_tools(&[&tool("one")])).spare("b", two()).client().await;
    assert_eq!(client.tools().await, ["mcp__a__one"]);
    let changes = running.reload(BOTH);
    assert_eq!((changes.added.len(), changes.removed.len(), changes.changed.len()), (1, 0, 0));
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
    assert_eq!(running.server("a").launches(), 1, "the other one is not touched");
    assert_eq!(running.gateway.status().servers.len(), 2);
}

#[tokio::test]
async fn a_server_that_the_config_removes_is_withdrawn_at_once_and_its_calls_finish() {
    let (b, release) = held(two());
    let (running, mut client) = both(b).await;
    let id = client.start("tools/call", r#"{"name":"mcp__b__two"}"#).await;
    running.wait_for("the call", |running| running.server("b").calls().len() == 1).await;
    let changes = running.reload("mcp_servers:\n  a: {command: scripted}\n");
    assert_eq!(changes.removed[0].as_str(), "b");
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one"]);
    assert_eq!(running.server("b").closes(), 0, "it still has a call to finish");
    release.notify_one();
    assert_eq!(client.answer_to(id).await.get("result").unwrap().to_json(), r#"{"done":true}"#);
    running.wait_for("the stop", |running| running.server("b").closes() == 1).await;
    let gone = client.request("tools/call", r#"{"name":"mcp__b__two"}"#).await;
    assert_eq!(gone.pointer("/error/code").unwrap().to_json(), "-32602");
    assert_eq!((running.server("a").launches(), running.server("a").closes()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_changed_entry_replaces_a_server_once_the_new_one_works() {
    let slow = Scripted { delay: Duration::from_millis(300), ..two() };
    let (running, mut client) = both(slow).await;
    running.server("b").set(crate::method::Listable::Tools, &[&tool("three")]);
    let changes = running.reload(OTHER);
    assert_eq!(changes.changed[0].as_str(), "b");
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"], "what works is kept meanwhile");
    client.call("mcp__b__two", "{}").await;
    let pending = running.gateway.status().servers[1].pending.clone().unwrap();
    assert!(pending.contains("not in use yet (connecting)"), "{pending}");
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__three"]);
    running.wait_for("the stop of the old one", |running| running.server("b").closes() == 1).await;
    assert_eq!(running.server("b").launches(), 2);
    assert_eq!(running.phase("b").0, Phase::Ready);
    assert_eq!(running.gateway.status().servers[1].pending, None);
    client.call("mcp__b__three", "{}").await;
    assert_eq!((running.server("a").launches(), running.server("a").closes()), (1, 0));
}

#[tokio::test]
async fn a_changed_entry_that_does_not_work_changes_nothing_and_says_so() {
    let (running, mut client) = both(two()).await;
    let refusal = LaunchError { code: "not-startable", detail: "there is none".to_owned(), retry: false };
    *running.server("b").refusal.lock().unwrap() = Some(refusal);
    running.reload(OTHER);
    running
        .wait_for("the reason", |running| {
            let pending = &running.gateway.status().servers[1].pending;
            pending.as_deref().is_some_and(|pending| pending.contains("there is none"))
        })
        .await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
    client.call("mcp__b__two", "{}").await;
    assert_eq!(running.phase("b").0, Phase::Ready);
    assert_eq!(running.server("b").closes(), 0);
    assert!(!client.hears("notifications/message").await, "the server is available");
    // Once the entry is right again, the one that runs is the right one.
    *running.server("b").refusal.lock().unwrap() = None;
    running.reload(BOTH);
    assert_eq!(running.gateway.status().servers[1].pending, None);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((running.server("b").launches(), running.server("b").closes()), (2, 0));
}

#[tokio::test]
async fn after_a_changed_entry_that_a_gate_refuses_nothing_of_that_name_runs() {
    let refuse = judging("screen", GateName::Config, |subject| {
        let Subject::Config(config) = subject else { panic!("the config gate") };
        let command = config.entry.document.get("command").and_then(Value::as_str);
        if command == Some("other") { testing::deny("ioc") } else { Verdict::allow() }
    });
    let (running, mut client) =
        setup().server("a", Scripted::with_tools(&[&tool("one")])).server("b", two()).policy(refuse).client().await;
    assert_eq!(client.tools().await.len(), 2);
    running.reload(OTHER);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "portcullis_status"]);
    assert_eq!(running.phase("b"), (Phase::Denied, Some("ioc".to_owned())));
    running.wait_for("the stop", |running| running.server("b").closes() == 1).await;
    assert_eq!(running.server("b").launches(), 1, "the refused one was never started");
}

#[tokio::test]
async fn options_alone_start_nothing_and_have_the_lists_judged_again() {
    let (running, mut client) = both(two()).await;
    running.reload(
        "mcp_servers:\n  a: {command: scripted, tools: {exclude: [one]}}\n  b: {command: scripted, timeout: 7}\n",
    );
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__b__two"]);
    running.reload(BOTH);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
    for name in ["a", "b"] {
        assert_eq!((running.server(name).launches(), running.server(name).closes()), (1, 0), "{name}");
    }
}

#[tokio::test]
async fn a_server_may_be_switched_off_and_on() {
    let (running, mut client) = both(two()).await;
    running.reload("mcp_servers:\n  a: {command: scripted}\n  b: {command: scripted, enabled: false}\n");
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one"]);
    assert_eq!(running.phase("b"), (Phase::Disabled, Some("disabled".to_owned())));
    running.wait_for("the stop", |running| running.server("b").closes() == 1).await;
    running.reload(BOTH);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
    assert_eq!(running.server("b").launches(), 2);
}

#[tokio::test]
async fn a_mistake_in_the_entry_of_a_server_is_no_removal() {
    let (running, mut client) = both(two()).await;
    let changes = running.reload("mcp_servers:\n  a: {command: scripted}\n  b: {}\n");
    assert_eq!(changes, crate::status::ConfigChanges::default());
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
    assert_eq!(running.server("b").closes(), 0);
}

#[tokio::test]
async fn other_names_count_at_once_and_touch_no_server() {
    let (running, mut client) = both(two()).await;
    assert!(running.reload(&format!("{BOTH}naming: plain\n")).naming);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["one", "two"]);
    assert_eq!((running.server("a").launches(), running.server("b").launches()), (1, 1));
}

#[tokio::test]
async fn every_fleet_follows_the_config_and_later_ones_start_with_it() {
    let (running, mut client) =
        setup().server("a", Scripted::with_tools(&[&tool("one")])).spare("b", two()).client().await;
    client.tools().await;
    let mut rooted = running.connect();
    rooted.introduce(r#"{"roots":{}}"#).await;
    assert_eq!(rooted.tools().await, ["mcp__a__one"]);
    running.reload(BOTH);
    client.expect("notifications/tools/list_changed").await;
    rooted.expect("notifications/tools/list_changed").await;
    assert_eq!(rooted.tools().await.len(), 2);
    let mut sampling = running.connect();
    sampling.introduce(r#"{"sampling":{}}"#).await;
    assert_eq!(sampling.tools().await.len(), 2);
    assert_eq!(running.server("b").launches(), 3);
    running.gateway.shutdown().await;
    assert_eq!((running.server("a").closes(), running.server("b").closes()), (3, 3));
}

#[tokio::test]
async fn shutdown_ends_a_server_that_still_proves_itself() {
    let (running, mut client) = both(two()).await;
    let refusal = LaunchError { code: "not-startable", detail: "there is none".to_owned(), retry: false };
    *running.server("b").refusal.lock().unwrap() = Some(refusal);
    running.reload(OTHER);
    client.tools().await;
    tokio::time::timeout(SOON, running.gateway.shutdown()).await.unwrap();
    assert_eq!(running.server("b").closes(), 1);
}

#[tokio::test]
async fn no_call_of_an_untouched_server_fails_while_the_config_changes() {
    let server = Scripted::with_tools(&[&tool("one")]);
    let on_call: OnCall = Arc::new(|call, _, _| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(Ok(call.params.get("arguments").unwrap().clone()))
        })
    });
    let (running, mut client) = setup().server("a", Scripted { on_call, ..server }).server("b", two()).client().await;
    client.tools().await;
    let running = Arc::new(running);
    let editing = tokio::spawn({
        let running = Arc::clone(&running);
        async move {
            for text in [OTHER, "mcp_servers:\n  a: {command: scripted}\n", BOTH].iter().cycle().take(30) {
                running.reload(text);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    });
    let mut number = 0;
    // However slow the machine is, calls run before, during and after the changes.
    while !editing.is_finished() || number <= 30 {
        let answer = client.call("mcp__a__one", &format!(r#"{{"n":{number}}}"#)).await;
        assert_eq!(answer.to_json(), format!(r#"{{"n":{number}}}"#));
        number += 1;
    }
    editing.await.unwrap();
    running.wait_for("the last one", |running| running.phase("b").0 == Phase::Ready).await;
    assert_eq!((running.server("a").launches(), running.server("a").closes()), (1, 0));
    running.wait_for("the ends", |running| running.server("b").closes() + 1 == running.server("b").launches()).await;
}

#[tokio::test]
async fn a_server_that_is_not_tried_again_is_when_the_config_is_looked_at() {
    let b = two();
    let refusal = LaunchError { code: "not-startable", detail: "there is none".to_owned(), retry: false };
    *b.refusal.lock().unwrap() = Some(refusal);
    let (running, mut client) =
        setup().server("a", Scripted::with_tools(&[&tool("one")])).server("b", b).client().await;
    assert_eq!(client.tools().await, ["mcp__a__one", "portcullis_status"]);
    *running.server("b").refusal.lock().unwrap() = None;
    running.reload(BOTH);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two"]);
}

#[tokio::test]
async fn the_status_tool_is_there_as_the_config_says() {
    let (running, mut client) = both(two()).await;
    running.reload(&format!("{BOTH}status: {{tool: always}}\n"));
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__a__one", "mcp__b__two", "portcullis_status"]);
    let told = client.call("portcullis_status", "{}").await.to_json();
    assert!(told.contains("a: ready, 1 tools") && told.contains("b: ready, 1 tools"), "{told}");
    let refusal = LaunchError { code: "not-startable", detail: "there is none".to_owned(), retry: false };
    *running.server("b").refusal.lock().unwrap() = Some(refusal);
    running.reload("mcp_servers:\n  a: {command: scripted}\nstatus: off\n");
    client.expect("notifications/tools/list_changed").await;
    running.reload(&format!("{BOTH}status: off\n"));
    running.wait_for("the failure", |running| running.phase("b").1.as_deref() == Some("not-startable")).await;
    assert_eq!(client.tools().await, ["mcp__a__one"], "the operator does not want it");
    let response = client.request("tools/call", r#"{"name":"portcullis_status"}"#).await;
    assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-32602");
}

#[tokio::test(start_paused = true)]
async fn nobodys_list_waits_for_a_server_that_the_config_adds() {
    let slow = Scripted { delay: Duration::from_secs(5), ..two() };
    let (running, mut client) =
        setup().server("a", Scripted::with_tools(&[&tool("one")])).spare("b", slow).client().await;
    client.tools().await;
    running.reload(BOTH);
    let began = tokio::time::Instant::now();
    assert_eq!(client.tools().await, ["mcp__a__one"]);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}
