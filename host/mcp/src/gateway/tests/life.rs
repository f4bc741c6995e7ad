use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_config::ServerOptions;

use super::support::*;
use crate::gateway::LaunchError;
use crate::gateway::keeper::next_wish;
use crate::gateway::server::{Connected, Server};
use crate::method::Listable;
use crate::status::Phase;

fn refusal(retry: bool) -> LaunchError {
    LaunchError { code: "not-startable", detail: "cannot find\u{1b}[2J it".to_owned(), retry }
}

#[tokio::test]
async fn one_bad_server_harms_no_other() {
    let bad = Scripted::with_tools(&[]);
    *bad.refusal.lock().unwrap() = Some(refusal(false));
    let (running, mut client) =
        setup().server("bad", bad).server("good", Scripted::with_tools(&[&tool("t")])).client().await;
    assert_eq!(client.tools().await, ["mcp__good__t", "portcullis_status"]);
    let told = client.call("portcullis_status", "{}").await.to_json();
    assert!(told.contains("bad: parked, code: not-startable") && told.contains("good: ready, 1 tools"), "{told}");
    assert!(!told.contains("cannot find"), "{told}");
    let status = &running.gateway.status().servers[0];
    assert_eq!((status.phase, status.reason_code.as_deref()), (Phase::Parked, Some("not-startable")));
    let reason = status.reason.as_deref().unwrap();
    assert!(reason.contains("cannot find\\u{1b}[2J it") && reason.contains("no further try"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_is_started_again_and_its_tools_stay_meanwhile() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    client.tools().await;
    let server = running.server("s");
    let began = tokio::time::Instant::now();
    server.peer().closed("killed".to_owned());
    running.wait_for("the end", |running| running.phase("s").0 == Phase::CoolingDown).await;
    let text = client.call("mcp__s__t", "{}").await.to_json();
    assert!(text.contains("not available") && text.contains("ended"), "{text}");
    assert!(began.elapsed() < Duration::from_millis(700), "a dead server answers promptly");
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    running.wait_for("a second start", |running| running.server("s").launches() == 2).await;
    running.wait_for("ready", |running| running.phase("s").0 == Phase::Ready).await;
    client.call("mcp__s__t", "{}").await;
    assert_eq!(server.calls().len(), 1);
    assert!(!client.hears("notifications/tools/list_changed").await, "nothing changed for the client");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_an_earlier_connection_does_not_end_the_present_one() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    client.tools().await;
    let first = running.server("s").peer();
    first.closed("killed".to_owned());
    running.wait_for("a second start", |running| running.server("s").launches() == 2).await;
    running.wait_for("ready", |running| running.phase("s").0 == Phase::Ready).await;
    first.closed("killed again".to_owned());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(running.phase("s").0, Phase::Ready);
    assert_eq!(running.server("s").launches(), 2);
}

#[tokio::test(start_paused = true)]
async fn lists_do_not_wait_for_a_server_that_is_tried_again() {
    let mut slow = Scripted::with_tools(&[&tool("t")]);
    slow.delay = Duration::from_millis(500);
    let (running, mut client) = setup().server("s", slow).client().await;
    client.tools().await;
    running.server("s").peer().closed("killed".to_owned());
    running.wait_for("a second start", |running| running.server("s").launches() == 2).await;
    let began = tokio::time::Instant::now();
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_asked_for_a_sign_of_life() {
    let scripted = Arc::new(Scripted::with_tools(&[]));
    let options = ServerOptions { keepalive_interval: Duration::from_millis(20), ..ServerOptions::default() };
    let server = Server::new(0, entry("s"), options);
    let connected = Connected::new(scripted.link(), 1);
    let wish = next_wish(&server, &connected);
    assert!(tokio::time::timeout(Duration::from_millis(500), wish).await.is_err());
    let asked = scripted.asked.lock().unwrap();
    assert!(asked.len() > 2 && asked.iter().all(|(method, _)| *method == "ping"), "{asked:?}");
}

#[tokio::test]
async fn shutdown_ends_every_server() {
    let (running, mut client) = setup()
        .server("a", Scripted::with_tools(&[&tool("t")]))
        .server("b", Scripted::with_tools(&[&tool("t")]))
        .client()
        .await;
    client.tools().await;
    running.gateway.shutdown().await;
    for name in ["a", "b"] {
        assert_eq!(running.server(name).closes.load(Ordering::SeqCst), 1, "{name}");
        assert_eq!(running.phase(name).0, Phase::Disabled);
    }
}

#[tokio::test]
async fn a_disabled_server_is_not_started() {
    let entry = "{command: scripted, enabled: false}";
    let (running, mut client) = setup()
        .server_with("off", entry, Scripted::with_tools(&[&tool("t")]))
        .server("on", Scripted::with_tools(&[&tool("t")]))
        .client()
        .await;
    assert_eq!(client.tools().await, ["mcp__on__t"]);
    assert_eq!(running.server("off").launches(), 0);
    assert_eq!(running.phase("off"), (Phase::Disabled, Some("disabled".to_owned())));
}

#[tokio::test]
async fn safe_mode_starts_no_server_and_says_so() {
    let running = setup()
        .server("s", Scripted::with_tools(&[&tool("t")]))
        .options(|options| options.safe_mode = Some("PORTCULLIS_SAFE_MODE"))
        .run();
    let mut client = running.connect();
    let result = client.introduce("{}").await;
    let text = result.get("instructions").unwrap().to_json();
    assert!(text.contains("safe mode"), "{text}");
    assert_eq!(client.tools().await, ["portcullis_status"]);
    assert!(client.call("portcullis_status", "{}").await.to_json().contains("safe mode"));
    assert_eq!(running.server("s").launches(), 0);
    assert_eq!(running.phase("s"), (Phase::Disabled, Some("safe-mode".to_owned())));
    assert!(running.gateway.status().safe_mode);
}

#[tokio::test]
async fn a_server_without_a_capability_is_not_asked_for_it() {
    let server = Scripted::with_tools(&[&tool("t")])
        .greeting(|greeting| greeting.capabilities = json(r#"{"prompts":{}}"#))
        .listing(Listable::Prompts, &[r#"{"name":"p"}"#]);
    let (_running, mut client) = setup().server("s", server).client().await;
    assert_eq!(client.tools().await, ["mcp__s__list_prompts", "mcp__s__get_prompt"]);
    assert_eq!(names(&client.result("prompts/list", "{}").await, "prompts", "name"), ["mcp__s__p"]);
}

#[tokio::test]
async fn servers_are_told_only_what_the_client_declared_and_the_config_allows() {
    let running = setup()
        .server_with("s", "{command: scripted, sampling: {enabled: false}}", Scripted::with_tools(&[&tool("t")]))
        .run();
    let mut client = running.connect();
    client.introduce(r#"{"sampling":{},"elicitation":{"form":{}},"tasks":{},"experimental":{"x":1}}"#).await;
    client.tools().await;
    let declared = running.server("s").declarations();
    assert_eq!(declared[0].to_json(), r#"{"elicitation":{"form":{}}}"#);
}
