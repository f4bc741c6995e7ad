use std::sync::atomic::Ordering;

use portcullis_gates::testing;
use portcullis_model::{GateName, Occasion, Subject, Verdict};

use super::support::*;
use crate::status::Phase;

#[tokio::test]
async fn a_new_policy_withdraws_a_published_tool_and_the_client_is_told() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("one"), &tool("two")])).client().await;
    assert_eq!(client.tools().await, ["mcp__s__one", "mcp__s__two"]);
    running.publish(vec![hiding("scan", |name| name == "two")]);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__s__one"]);
    let gone = client.request("tools/call", r#"{"name":"mcp__s__two"}"#).await;
    assert_eq!(gone.pointer("/error/code").unwrap().to_json(), "-32602");
    assert_eq!(running.server("s").launches(), 1, "the server itself runs on");
    running.publish(Vec::new());
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__s__one", "mcp__s__two"]);
}

fn refusing(server: &'static str) -> portcullis_gates::ActivePolicy {
    judging("screen", GateName::Config, move |subject| {
        let Subject::Config(config) = subject else { panic!("the config gate") };
        if config.entry.name.as_str() == server { testing::deny("ioc") } else { Verdict::allow() }
    })
}

#[tokio::test]
async fn a_new_policy_stops_a_server_that_it_refuses_and_leaves_the_others() {
    let (running, mut client) = setup()
        .server("bad", Scripted::with_tools(&[&tool("t")]))
        .server("good", Scripted::with_tools(&[&tool("t")]))
        .client()
        .await;
    assert_eq!(client.tools().await, ["mcp__bad__t", "mcp__good__t"]);
    running.publish(vec![refusing("bad")]);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__good__t", "portcullis_status"]);
    running.wait_for("the stop", |running| running.server("bad").closes.load(Ordering::SeqCst) == 1).await;
    assert_eq!(running.phase("bad"), (Phase::Denied, Some("ioc".to_owned())));
    assert_eq!(running.phase("good").0, Phase::Ready);
    running.publish(Vec::new());
    running.wait_for("a second start", |running| running.phase("bad").0 == Phase::Ready).await;
    assert_eq!(running.server("bad").launches(), 2);
}

#[tokio::test]
async fn a_call_that_runs_when_its_server_is_refused_finishes() {
    let mut server = Scripted::with_tools(&[&tool("slow")]);
    let release = std::sync::Arc::new(tokio::sync::Notify::new());
    let released = std::sync::Arc::clone(&release);
    server.on_call = std::sync::Arc::new(move |_, _, _| {
        let released = std::sync::Arc::clone(&released);
        Box::pin(async move {
            released.notified().await;
            Ok(Ok(json(r#"{"done":true}"#)))
        })
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__slow"}"#).await;
    running.wait_for("the call", |running| running.server("s").calls().len() == 1).await;
    running.publish(vec![refusing("s")]);
    running.wait_for("the refusal", |running| running.phase("s").0 == Phase::Denied).await;
    assert_eq!(client.tools().await, ["portcullis_status"]);
    assert_eq!(running.server("s").closes.load(Ordering::SeqCst), 0, "it still has a call to finish");
    release.notify_one();
    assert_eq!(client.answer_to(id).await.get("result").unwrap().to_json(), r#"{"done":true}"#);
    running.wait_for("the stop", |running| running.server("s").closes.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_server_that_is_refused_at_the_start_is_never_started() {
    let (running, mut client) = setup()
        .server("bad", Scripted::with_tools(&[&tool("t")]))
        .policy(judging("screen", GateName::Config, |subject| {
            let Subject::Config(config) = subject else { panic!("the config gate") };
            assert_eq!(config.occasion, Occasion::Start);
            testing::deny("ioc")
        }))
        .client()
        .await;
    assert_eq!(client.tools().await, ["portcullis_status"]);
    assert_eq!(running.server("bad").launches(), 0);
    let status = &running.gateway.status().servers[0];
    assert!(status.reason.as_deref().unwrap().contains("screen"), "{:?}", status.reason);
}

#[tokio::test]
async fn a_new_policy_that_refuses_a_starting_server_ends_the_start() {
    let mut slow = Scripted::with_tools(&[&tool("t")]);
    slow.delay = std::time::Duration::from_mins(1);
    let (running, _client) = setup().server("s", slow).client().await;
    running.wait_for("the start", |running| running.server("s").launches() == 1).await;
    running.publish(vec![refusing("s")]);
    running.wait_for("the refusal", |running| running.phase("s").0 == Phase::Denied).await;
}

#[tokio::test]
async fn no_call_is_lost_while_policies_and_lists_change() {
    let mut server = Scripted::with_tools(&[&tool("stays"), &tool("goes")]);
    server.on_call = std::sync::Arc::new(|call, _, _| {
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            Ok(Ok(call.params.get("arguments").unwrap().clone()))
        })
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let gates = std::sync::Arc::clone(&running.gates);
    let swapping = tokio::spawn(async move {
        for round in 0..40_usize {
            let hides = hiding("scan", move |name| name == "goes" && round % 2 == 0);
            gates.publish(portcullis_gates::PolicySet::new(vec![std::sync::Arc::new(hides)]));
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    let mut waiting = std::collections::VecDeque::new();
    for number in 0..1_000_u64 {
        let params = format!(r#"{{"name":"mcp__s__stays","arguments":{{"n":{number}}}}}"#);
        waiting.push_back((number, client.start("tools/call", &params).await));
        if waiting.len() == 16 {
            let (number, id) = waiting.pop_front().unwrap();
            let answer = client.answer_to(id).await;
            assert_eq!(answer.get("result").unwrap().to_json(), format!(r#"{{"n":{number}}}"#));
        }
    }
    for (number, id) in waiting {
        let answer = client.answer_to(id).await;
        assert_eq!(answer.get("result").unwrap().to_json(), format!(r#"{{"n":{number}}}"#));
    }
    swapping.await.unwrap();
    running.wait_for("the last set", |running| running.gateway.status().servers[0].counts.tools_exposed == 2).await;
    assert_eq!(running.server("s").launches(), 1);
}

#[tokio::test]
async fn the_environment_gate_stands_before_the_start() {
    let broken = testing::policy(
        "environment",
        &[GateName::Environment],
        testing::Broken(portcullis_gates::Fault::Trap("on purpose".to_owned())),
    );
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).policy(broken).client().await;
    assert_eq!(client.tools().await, ["portcullis_status"]);
    assert_eq!(running.server("s").launches(), 0);
    assert_eq!(running.phase("s"), (Phase::CoolingDown, Some("policy-fault".to_owned())));
    running.publish(Vec::new());
    running.wait_for("another try", |running| running.phase("s").0 == Phase::Ready).await;
}

/// Breaks the first `count` times, then has no objection.
fn breaking(name: &str, gate: GateName, count: usize) -> portcullis_gates::ActivePolicy {
    let left = std::sync::atomic::AtomicUsize::new(count);
    let judge = testing::Judge(move |_: &_, subject: &Subject| {
        match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Err(portcullis_gates::Fault::QueueFull),
            Err(_) => Ok(testing::answer(subject, &Verdict::allow())),
        }
    });
    testing::policy(name, &[gate], judge)
}

#[tokio::test]
async fn a_check_that_breaks_once_costs_no_server_and_no_tool() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("one"), &tool("two")])).client().await;
    assert_eq!(client.tools().await, ["mcp__s__one", "mcp__s__two"]);
    running.publish(vec![breaking("screen", GateName::Config, 1), breaking("scan", GateName::Listing, 1)]);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(client.tools().await, ["mcp__s__one", "mcp__s__two"]);
    assert_eq!(running.phase("s").0, Phase::Ready);
    assert_eq!(running.server("s").launches(), 1);
    assert!(!client.hears("notifications/tools/list_changed").await);
}

#[tokio::test]
async fn the_first_set_judges_each_item_once() {
    let judged = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (loaded, ready) = tokio::sync::watch::channel(false);
    let (running, mut client) = setup()
        .server("s", Scripted::with_tools(&[&tool("t")]))
        .options(|options| options.ready = Some(ready))
        .client()
        .await;
    let counted = std::sync::Arc::clone(&judged);
    running.publish(vec![hiding("scan", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        false
    })]);
    loaded.send_replace(true);
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(judged.load(Ordering::SeqCst), 1);
}
