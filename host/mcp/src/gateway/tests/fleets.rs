use std::sync::Arc;
use std::time::Duration;

use portcullis_model::json::Value;

use super::support::*;
use crate::status::Phase;

const ROOTS: &str = r#"{"roots":{}}"#;
const SAMPLING: &str = r#"{"sampling":{}}"#;
const ELICITATION: &str = r#"{"elicitation":{}}"#;
const ALL: &str = r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{}}"#;

/// A server that lists one more tool to clients with roots, as real ones do.
fn depending() -> Scripted {
    Scripted::with_tools(&[&tool("always")]).also_with("roots", &[&tool("with_roots")])
}

async fn introduced(running: &Running, capabilities: &str) -> Client {
    let mut client = running.connect();
    client.introduce(capabilities).await;
    client
}

#[tokio::test]
async fn each_client_sees_what_servers_list_to_its_own_capabilities() {
    let running = setup().server("s", depending()).run();
    let mut bare = introduced(&running, "{}").await;
    let mut rooted = introduced(&running, ROOTS).await;
    assert_eq!(bare.tools().await, ["mcp__s__always"]);
    assert_eq!(rooted.tools().await, ["mcp__s__always", "mcp__s__with_roots"]);
    let missing = bare.request("tools/call", r#"{"name":"mcp__s__with_roots"}"#).await;
    assert_eq!(missing.pointer("/error/code").unwrap().to_json(), "-32602");
    rooted.call("mcp__s__with_roots", "{}").await;
    let declared: Vec<String> = running.server("s").declarations().iter().map(Value::to_json).collect();
    assert_eq!(declared, ["{}", ROOTS]);
}

#[tokio::test]
async fn clients_that_declare_the_same_share_servers() {
    let running = setup().server("s", depending()).run();
    let mut first = introduced(&running, r#"{"roots":{},"experimental":{"a":1}}"#).await;
    let mut second = introduced(&running, r#"{"tasks":{},"roots":{"x-vendor":true}}"#).await;
    assert_eq!(first.tools().await, second.tools().await);
    assert_eq!(running.server("s").launches(), 1);
    let [fleet] = running.gateway.status().fleets.try_into().unwrap();
    assert_eq!((fleet.number, fleet.capabilities.as_str(), fleet.sessions, fleet.narrowed), (1, "roots", 2, 0));
}

#[tokio::test]
async fn a_server_asks_only_clients_of_its_own_fleet() {
    let running = setup().server("s", depending()).run();
    let mut rooted = introduced(&running, ROOTS).await;
    rooted.tools().await;
    let of_rooted = running.server("s").peer();
    let mut other = introduced(&running, ALL).await;
    other.tools().await;
    let asked = tokio::spawn(async move { of_rooted.request("roots/list", json("{}"), None).await });
    let request = rooted.expect("roots/list").await;
    rooted.respond(&request, r#"{"roots":[]}"#).await;
    assert_eq!(asked.await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
    assert!(!other.hears("roots/list").await);
    // The narrower server was never told of sampling, though one client of the gateway has it.
    let of_other = running.server("s").peer();
    let asked = tokio::spawn(async move { of_other.request("sampling/createMessage", json("{}"), None).await });
    let request = other.expect("sampling/createMessage").await;
    other.respond(&request, r#"{"role":"assistant"}"#).await;
    assert!(asked.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_change_of_lists_is_told_to_the_clients_of_that_fleet_alone() {
    let running = setup().server("s", depending()).run();
    let mut bare = introduced(&running, "{}").await;
    bare.tools().await;
    let mut rooted = introduced(&running, ROOTS).await;
    rooted.tools().await;
    running.server("s").set(crate::method::Listable::Tools, &[&tool("new")]);
    running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    rooted.expect("notifications/tools/list_changed").await;
    assert_eq!(rooted.tools().await, ["mcp__s__new", "mcp__s__with_roots"]);
    assert!(!bare.hears("notifications/tools/list_changed").await);
    assert_eq!(bare.tools().await, ["mcp__s__always"]);
}

#[tokio::test]
async fn beyond_four_sets_a_client_is_served_by_the_widest_that_it_covers() {
    let running = setup().server("s", depending()).run();
    let mut clients = Vec::new();
    for capabilities in [SAMPLING, ROOTS, ELICITATION] {
        clients.push(introduced(&running, capabilities).await);
    }
    // The last place is kept for clients without any.
    let mut wide = introduced(&running, ALL).await;
    assert_eq!(wide.tools().await.len(), 1, "the fleet of sampling or elicitation, as wide as that of roots and older");
    let mut bare = introduced(&running, "{}").await;
    assert_eq!(bare.tools().await, ["mcp__s__always"]);
    let mut changes = introduced(&running, r#"{"roots":{"listChanged":true}}"#).await;
    assert_eq!(changes.tools().await, ["mcp__s__always", "mcp__s__with_roots"], "the fleet of roots");
    let status = running.gateway.status();
    let shown: Vec<_> = status.fleets.iter().map(|fleet| (fleet.capabilities.as_str(), fleet.sessions)).collect();
    assert_eq!(shown, [("sampling", 1), ("roots", 2), ("elicitation.form", 2), ("none", 1)]);
    assert_eq!(status.fleets.iter().map(|fleet| fleet.narrowed).collect::<Vec<_>>(), [0, 1, 1, 0]);
    assert_eq!(status.servers.iter().map(|server| server.fleet).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(running.server("s").launches(), 4, "never more processes than that");
}

#[tokio::test]
async fn a_client_that_covers_no_fleet_is_served_without_capabilities() {
    let running = setup().server("s", depending()).run();
    let mut clients = Vec::new();
    for capabilities in [SAMPLING, ALL, ELICITATION] {
        clients.push(introduced(&running, capabilities).await);
    }
    let mut rooted = introduced(&running, ROOTS).await;
    assert_eq!(rooted.tools().await, ["mcp__s__always"]);
    let status = running.gateway.status();
    let last = status.fleets.last().unwrap();
    assert_eq!((last.capabilities.as_str(), last.sessions, last.narrowed), ("none", 1, 1));
}

/// Different sets of capabilities, as many as wanted.
fn sets(count: usize) -> Vec<String> {
    let roots = ["", r#""roots":{},"#, r#""roots":{"listChanged":true},"#];
    let sampling = ["", r#""sampling":{},"#, r#""sampling":{"tools":{}},"#];
    let elicitation = [r#""x":1"#, r#""elicitation":{}"#, r#""elicitation":{"url":{}}"#];
    let all = roots.iter().flat_map(|roots| {
        sampling
            .iter()
            .flat_map(move |sampling| elicitation.map(|elicitation| format!("{{{roots}{sampling}{elicitation}}}")))
    });
    all.take(count).collect()
}

#[tokio::test]
async fn without_processes_many_more_sets_of_capabilities_are_served_each_by_its_own() {
    let remote = "{url: 'http://127.0.0.1:1/mcp'}";
    let running = setup().server_with("s", remote, depending()).spare("local", depending()).run();
    let mut clients = Vec::new();
    for capabilities in sets(16) {
        clients.push(introduced(&running, &capabilities).await);
    }
    for client in &mut clients {
        client.tools().await;
    }
    let narrowed =
        |running: &Running| running.gateway.status().fleets.iter().map(|fleet| fleet.narrowed).sum::<usize>();
    assert_eq!((running.gateway.status().fleets.len(), narrowed(&running)), (16, 0));
    let last = introduced(&running, &sets(17)[16]).await;
    assert_eq!((running.gateway.status().fleets.len(), narrowed(&running)), (16, 1));
    // A process that the config gets now is started for four of them, and the others say why they lack it.
    running.reload(&format!("mcp_servers:\n  s: {remote}\n  local: {{command: scripted}}\n"));
    let in_phase = |running: &Running, phase: Phase| {
        let status = running.gateway.status();
        status.servers.iter().filter(|server| server.server.as_str() == "local" && server.phase == phase).count()
    };
    running.wait_for("the process", |running| in_phase(running, Phase::Ready) == 4).await;
    assert_eq!(in_phase(&running, Phase::Disabled), 12);
    assert_eq!(running.server("local").launches(), 4);
    let reasons = running.gateway.status().servers.into_iter().filter(|server| server.phase == Phase::Disabled);
    assert!(reasons.map(|server| server.reason_code).all(|code| code.as_deref() == Some("too-many-processes")));
    drop((last, clients));
}

#[tokio::test]
async fn a_fleet_without_clients_is_stopped_after_a_while_and_the_first_one_stays() {
    let running =
        setup().server("s", depending()).options(|options| options.fleet_idle = Duration::from_millis(200)).run();
    let mut first = introduced(&running, "{}").await;
    first.tools().await;
    let mut second = introduced(&running, ROOTS).await;
    second.tools().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(running.gateway.status().fleets.len(), 2, "both have a client");
    drop((first, second));
    running.wait_for("the stop", |running| running.gateway.status().fleets.len() == 1).await;
    running.wait_for("the end", |running| running.server("s").closes() == 1).await;
    assert_eq!(running.gateway.status().fleets[0].capabilities, "none");
    assert_eq!(running.phase("s").0, Phase::Ready);
    // Whoever comes back finds the first one warm, or starts another.
    let mut third = introduced(&running, ROOTS).await;
    assert_eq!(third.tools().await.len(), 2);
    assert_eq!(running.server("s").launches(), 3);
    running.gateway.shutdown().await;
    assert_eq!(running.server("s").closes(), 3);
}

#[tokio::test]
async fn two_principals_never_share_a_servers_session() {
    let running = setup().server("s", depending()).run();
    let principal = |name| portcullis_model::Principal::parse(name).unwrap();
    let capabilities = json(ROOTS);
    let ada = running.gateway.fleet_for(&principal("ada"), &capabilities);
    let bob = running.gateway.fleet_for(&principal("bob"), &capabilities);
    assert!(!Arc::ptr_eq(&ada, &bob));
    assert!(Arc::ptr_eq(&ada, &running.gateway.fleet_for(&principal("ada"), &capabilities)));
    ada.settled().await;
    bob.settled().await;
    assert_eq!(running.server("s").launches(), 2);
}

#[tokio::test]
async fn a_new_policy_judges_the_servers_of_every_fleet() {
    let running = setup().server("s", depending()).run();
    let mut bare = introduced(&running, "{}").await;
    let mut rooted = introduced(&running, ROOTS).await;
    assert_eq!((bare.tools().await.len(), rooted.tools().await.len()), (1, 2));
    running.publish(vec![hiding("scan", |name| name == "always")]);
    bare.expect("notifications/tools/list_changed").await;
    rooted.expect("notifications/tools/list_changed").await;
    assert_eq!(rooted.tools().await, ["mcp__s__with_roots"]);
    assert!(bare.tools().await.is_empty());
}

#[tokio::test]
async fn after_the_end_no_server_is_started_any_more() {
    let running = setup().server("s", depending()).run();
    let mut client = introduced(&running, "{}").await;
    client.tools().await;
    running.gateway.shutdown().await;
    let mut late = introduced(&running, ROOTS).await;
    late.request("tools/list", "{}").await;
    assert_eq!(running.server("s").launches(), 1);
}
