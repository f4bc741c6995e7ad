//! Servers that fail and come back, in a clock that stands still while nothing waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::support::*;
use crate::gateway::{LaunchError, LinkError};
use crate::status::{Breaker, Phase};

fn refusal() -> LaunchError {
    LaunchError { code: "connect-timeout", detail: "nobody there".to_owned(), retry: true }
}

/// Makes the server fail from now on, its connection included.
fn fail(running: &Running) {
    *running.server("s").refusal.lock().unwrap() = Some(refusal());
    running.server("s").peer().closed("killed".to_owned());
}

async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_tried_less_and_less_and_is_then_parked() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    fail(&running);
    pass(Duration::from_secs(40)).await;
    let quick = running.server("s").launches();
    assert_eq!(running.phase("s"), (Phase::CoolingDown, Some("connect-timeout".to_owned())));
    assert_eq!(quick, 6, "one that came up, and five quick tries");
    assert_eq!(client.tools().await, ["mcp__s__t"], "what a server offers stays while it cools down");
    let status = &running.gateway.status().servers[0];
    assert!(status.retry_in.unwrap() <= Duration::from_secs(36), "{status:?}");
    assert!(status.reason.as_deref().unwrap().contains("nobody there; another try in"), "{status:?}");
    pass(Duration::from_mins(25)).await;
    assert_eq!(running.phase("s").0, Phase::Parked);
    assert_eq!(client.tools().await, ["portcullis_status"]);
    let parked = running.server("s").launches();
    pass(Duration::from_hours(1)).await;
    assert!((4..=8).contains(&(running.server("s").launches() - parked)), "{}", running.server("s").launches());
    *running.server("s").refusal.lock().unwrap() = None;
    pass(Duration::from_mins(13)).await;
    assert_eq!(running.phase("s").0, Phase::Ready);
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    let status = &running.gateway.status().servers[0];
    assert_eq!((status.retry_in, status.starts), (None, running.server("s").launches() as u64));
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_parked_server_tried_earlier_but_no_storm_of_calls_a_storm_of_tries() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    client.tools().await;
    fail(&running);
    pass(Duration::from_mins(40)).await;
    assert_eq!(running.phase("s").0, Phase::Parked);
    let before = running.server("s").launches();
    for _ in 0..120 {
        let text = client.call("mcp__s__t", "{}").await.to_json();
        assert!(text.contains("not available (state: parked, code: connect-timeout)"), "{text}");
        assert!(text.contains("tried again in about"), "{text}");
        pass(Duration::from_secs(1)).await;
    }
    let tries = running.server("s").launches() - before;
    assert!((3..=5).contains(&tries), "{tries} in two minutes");
    *running.server("s").refusal.lock().unwrap() = None;
    client.call("mcp__s__t", "{}").await;
    pass(Duration::from_secs(31)).await;
    assert_eq!(client.call("mcp__s__t", "{}").await.to_json(), r#"{"name":"t","arguments":{}}"#);
    let unknown = client.request("tools/call", r#"{"name":"mcp__s__other"}"#).await;
    assert_eq!(unknown.pointer("/error/code").unwrap().to_json(), "-32602");
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_set_has_a_server_that_is_down_tried_at_once() {
    let bad = Scripted::with_tools(&[&tool("t")]);
    *bad.refusal.lock().unwrap() = Some(refusal());
    let (running, _client) = setup().server("s", bad).client().await;
    pass(Duration::from_mins(40)).await;
    assert_eq!(running.phase("s").0, Phase::Parked);
    *running.server("s").refusal.lock().unwrap() = None;
    running.publish(Vec::new());
    running.wait_for("ready", |running| running.phase("s").0 == Phase::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn only_an_answered_call_gives_the_budget_back() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    client.tools().await;
    let waits = async |client: Option<&mut Client>| {
        running.wait_for("ready", |running| running.phase("s").0 == Phase::Ready).await;
        pass(Duration::from_hours(1)).await;
        if let Some(client) = client {
            client.call("mcp__s__t", "{}").await;
        }
        running.server("s").peer().closed("killed".to_owned());
        running.wait_for("the end", |running| running.phase("s").0 == Phase::CoolingDown).await;
        running.gateway.status().servers[0].retry_in.unwrap()
    };
    let (first, second, third) = (waits(None).await, waits(None).await, waits(None).await);
    assert!(first < Duration::from_millis(1_300) && second > Duration::from_millis(1_500), "{first:?} {second:?}");
    assert!(third > Duration::from_secs(3), "{third:?}");
    let proven = waits(Some(&mut client)).await;
    assert!(proven < Duration::from_millis(1_300), "{proven:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_are_held_back_after_three_without_an_answer_until_one_is_answered() {
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = Arc::clone(&silent);
    let server = Scripted::with_tools(&[&tool("t")]).answering(move |_| {
        let limit = Duration::from_mins(5);
        if is_silent.load(Ordering::SeqCst) { Err(LinkError::TimedOut { limit }) } else { Ok(Ok(json("{}"))) }
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    for _ in 0..3 {
        assert!(client.call("mcp__s__t", "{}").await.to_json().contains("within 300 s"));
    }
    assert_eq!(running.phase("s"), (Phase::Degraded, Some("calls-held-back".to_owned())));
    pass(Duration::from_secs(20)).await;
    let text = client.call("mcp__s__t", "{}").await.to_json();
    assert!(text.contains("held back for 40 more s") && text.contains("Do not retry at once"), "{text}");
    assert_eq!(running.server("s").calls().len(), 3);
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    pass(Duration::from_secs(41)).await;
    assert_eq!(running.gateway.status().servers[0].breaker, Breaker::HalfOpen);
    silent.store(false, Ordering::SeqCst);
    assert_eq!(client.call("mcp__s__t", "{}").await.to_json(), "{}");
    assert_eq!(running.phase("s"), (Phase::Ready, None));
}

#[tokio::test(start_paused = true)]
async fn errors_that_a_server_answers_hold_nothing_back() {
    let server = Scripted::with_tools(&[&tool("t"), &tool("u")]).answering(|call| {
        Ok(if call.name == "t" { Ok(json(r#"{"content":[],"isError":true}"#)) } else { Err(error(-32_603, "broken")) })
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    for _ in 0..10 {
        client.call("mcp__s__t", "{}").await;
        client.request("tools/call", r#"{"name":"mcp__s__u"}"#).await;
    }
    assert_eq!(running.server("s").calls().len(), 20);
    assert_eq!(running.phase("s").0, Phase::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_a_while_for_a_server_that_is_being_connected() {
    let mut slow = Scripted::with_tools(&[&tool("t")]);
    slow.delay = Duration::from_secs(3);
    let (running, mut client) = setup().server("s", slow).client().await;
    client.tools().await;
    running.server("s").peer().closed("killed".to_owned());
    running.wait_for("a second start", |running| running.phase("s").0 == Phase::Connecting).await;
    client.call("mcp__s__t", "{}").await;
    assert_eq!((running.server("s").launches(), running.server("s").calls().len()), (2, 1));
}
