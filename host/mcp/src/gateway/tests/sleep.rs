//! Servers that are put to sleep and woken, and calls whose connection is lost, in a clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portcullis_gates::testing;
use portcullis_model::GateName;

use super::support::*;
use crate::gateway::LinkError;
use crate::method::Listable;
use crate::status::Phase;

fn sleeper(options: &str) -> Setup {
    setup().server_with("s", &format!("{{command: scripted, {options}}}"), Scripted::with_tools(&[&tool("t")]))
}

fn closes(running: &Running) -> usize {
    running.server("s").closes.load(Ordering::SeqCst)
}

async fn asleep(running: &Running, code: &str) {
    let state = (Phase::Configured, Some(code.to_owned()));
    running.wait_for("sleep", |running| running.phase("s") == state).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_server_sleeps_with_its_tools_listed_and_the_next_call_starts_it() {
    let (running, mut client) = sleeper("idle_timeout_seconds: 60").client().await;
    client.tools().await;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        client.call("mcp__s__t", "{}").await;
    }
    assert_eq!(running.server("s").launches(), 1, "a server that is used does not sleep");
    tokio::time::sleep(Duration::from_secs(61)).await;
    asleep(&running, "idle").await;
    assert_eq!((running.server("s").launches(), closes(&running)), (1, 1));
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    client.call("mcp__s__t", "{}").await;
    assert_eq!((running.server("s").launches(), running.server("s").calls().len()), (2, 4));
    assert_eq!(running.phase("s"), (Phase::Ready, None));
    assert!(!client.hears("notifications/tools/list_changed").await, "nothing changed for the client");
}

#[tokio::test(start_paused = true)]
async fn age_counts_before_idleness_and_neither_ends_a_call() {
    let mut server = Scripted::with_tools(&[&tool("t")]);
    server.on_call = Arc::new(|_, _, _| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_mins(3)).await;
            Ok(Ok(json(r#"{"done":true}"#)))
        })
    });
    let entry = "{command: scripted, idle_timeout_seconds: 60, lifecycle: {max_lifetime_seconds: 60}}";
    let (running, mut client) = setup().server_with("s", entry, server).client().await;
    client.tools().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__t"}"#).await;
    tokio::time::sleep(Duration::from_secs(170)).await;
    assert_eq!((running.phase("s").0, closes(&running)), (Phase::Ready, 0));
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(client.answer_to(id).await.get("result").unwrap().to_json(), r#"{"done":true}"#);
    asleep(&running, "lifetime").await;
    running.wait_for("the close", |running| closes(running) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_wakes_nobody() {
    let deny = judging("guard", GateName::Call, |_| testing::deny("not-here"));
    let (running, mut client) = sleeper("idle_timeout_seconds: 60").policy(deny).client().await;
    client.tools().await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    asleep(&running, "idle").await;
    assert!(client.call("mcp__s__t", "{}").await.to_json().contains("not-here"));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(running.server("s").launches(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_set_judges_what_a_sleeping_server_offers_without_starting_it() {
    let (running, mut client) = sleeper("idle_timeout_seconds: 60").client().await;
    client.tools().await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    asleep(&running, "idle").await;
    running.publish(vec![hiding("scan", |name| name == "t")]);
    client.expect("notifications/tools/list_changed").await;
    assert!(client.tools().await.is_empty());
    assert_eq!(running.server("s").launches(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_changed_while_its_server_slept_is_not_called_as_it_was_judged() {
    let (running, mut client) = sleeper("idle_timeout_seconds: 60").client().await;
    client.tools().await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    asleep(&running, "idle").await;
    running.server("s").set(Listable::Tools, &[&tool("t").replace("Does t", "Does more")]);
    let text = client.call("mcp__s__t", "{}").await.to_json();
    assert!(text.contains("does not offer this as it did before"), "{text}");
    assert!(running.server("s").calls().is_empty());
    client.expect("notifications/tools/list_changed").await;
    client.call("mcp__s__t", "{}").await;
    assert_eq!(running.server("s").calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_server_that_does_not_come_up_is_told_of_like_any_other() {
    let (running, mut client) = sleeper("idle_timeout_seconds: 60").client().await;
    client.tools().await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    asleep(&running, "idle").await;
    let refusal = crate::gateway::LaunchError { code: "not-startable", detail: "gone".to_owned(), retry: true };
    *running.server("s").refusal.lock().unwrap() = Some(refusal);
    let text = client.call("mcp__s__t", "{}").await.to_json();
    assert!(text.contains("state: cooling-down, code: not-startable"), "{text}");
}

/// A server with a tool that reads and one that writes; the first call ends its connection after it was sent.
async fn dying() -> (Running, Client, Arc<AtomicUsize>) {
    let reading = r#"{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Scripted::with_tools(&[reading, &tool("writes")]).answering(move |_| {
        let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        let gone = LinkError::Gone { detail: "killed".to_owned(), sent: true };
        if first { Err(gone) } else { Ok(Ok(json(r#"{"x":1.0}"#))) }
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    (running, client, count)
}

#[tokio::test(start_paused = true)]
async fn a_read_is_sent_once_more_where_its_connection_was_lost() {
    let (running, mut client, count) = dying().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__reads"}"#).await;
    running.wait_for("the first try", |_| count.load(Ordering::SeqCst) == 1).await;
    running.server("s").peer().closed("killed".to_owned());
    assert_eq!(client.answer_to(id).await.get("result").unwrap().to_json(), r#"{"x":1.0}"#);
    assert_eq!((count.load(Ordering::SeqCst), running.server("s").launches()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_write_is_never_sent_twice_and_its_outcome_is_told_to_be_uncertain() {
    let (running, mut client, count) = dying().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__writes"}"#).await;
    running.wait_for("the first try", |_| count.load(Ordering::SeqCst) == 1).await;
    running.server("s").peer().closed("killed".to_owned());
    let text = client.answer_to(id).await.to_json();
    assert!(text.contains("outcome is uncertain") && text.contains("may have done"), "{text}");
    running.wait_for("a second start", |running| running.server("s").launches() == 2).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_forgotten_is_replaced_at_once() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    client.tools().await;
    client.call("mcp__s__t", "{}").await;
    let began = tokio::time::Instant::now();
    running.server("s").peer().expired("not known any more".to_owned());
    running.wait_for("a second start", |running| running.server("s").launches() == 2).await;
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}
