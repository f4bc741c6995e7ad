//! Requests of the stateless era over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis_model::json::Value;

use super::http::{Open, Outgoing};
use super::support::*;
use crate::HttpOptions;

const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}"#;

async fn open(server: Scripted) -> Open {
    let door = Open::new(setup().server("s", server).run(), HttpOptions::default()).await;
    ask(&door, "tools/list", "", "{}").whole().await;
    door
}

/// A request with all headers that it should have but the name.
fn ask(door: &Open, method: &str, members: &str, capabilities: &str) -> Outgoing {
    let params = stateless_params(capabilities, members, "");
    door.post(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#))
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", method)
}

fn call(door: &Open, arguments: &str) -> Outgoing {
    ask(door, "tools/call", &format!(r#""name":"mcp__s__t","arguments":{arguments},"#), "{}")
        .with("Mcp-Name", "mcp__s__t")
}

#[tokio::test]
async fn a_request_needs_no_session_and_is_answered_with_json() {
    let door = open(Scripted::with_tools(&[&tool("t")])).await;
    let discovered = ask(&door, "server/discover", "", "{}").whole().await;
    assert_eq!((discovered.status, discovered.header("content-type")), (200, "application/json"));
    assert_eq!(discovered.json().pointer("/result/supportedVersions/0").and_then(Value::as_str), Some("2026-07-28"));
    let listed = ask(&door, "tools/list", "", "{}").whole().await.json();
    assert_eq!(names(listed.get("result").unwrap(), "tools", "name"), ["mcp__s__t"]);
    let called = call(&door, r#"{"big":1.50}"#).with("Mcp-Session-Id", "made-up").whole().await;
    assert_eq!(called.status, 200);
    assert_eq!(
        called.text(),
        r#"{"jsonrpc":"2.0","id":7,"result":{"name":"t","arguments":{"big":1.50},"resultType":"complete"}}"#
    );
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let door = open(Scripted::with_tools(&[TOOL, &tool("u")])).await;
    let good = call(&door, r#"{"region":"eu","n":10}"#).with("Mcp-Param-Region", "eu").with("Mcp-Param-N", "10");
    assert_eq!(good.whole().await.status, 200, "{}", good.whole().await.text());
    for request in [
        good.clone().without("MCP-Protocol-Version"),
        good.clone().without("Mcp-Method"),
        good.clone().without("Mcp-Name"),
        good.clone().without("Mcp-Param-Region"),
        good.clone().set("MCP-Protocol-Version", "2031-01-01"),
        good.clone().set("Mcp-Method", "tools/list"),
        good.clone().set("Mcp-Name", "mcp__s__u"),
        good.clone().set("Mcp-Param-N", "11"),
        good.clone().set("Mcp-Param-Region", "=?base64?dXM=?="),
    ] {
        let refused = request.whole().await;
        assert_eq!((refused.status, refused.code()), (400, Some(-32_020)), "{}", refused.text());
        assert_eq!(refused.json().get("id").and_then(Value::as_u64), Some(7));
    }
    assert_eq!(good.set("Mcp-Param-Region", "=?base64?ZXU=?=").whole().await.status, 200);
    assert_eq!(door.running.server("s").calls().len(), 2, "nothing of what was refused reached the server");
}

#[tokio::test]
async fn each_error_has_its_status() {
    let door = open(Scripted::with_tools(&[&tool("t")])).await;
    let other = ask(&door, "tools/list", "", "{}").set("MCP-Protocol-Version", "2031-01-01");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}}"#,
        stateless_params("{}", "", "").replace("2026-07-28", "2031-01-01")
    );
    let bare = ask(&door, "tools/list", "", "{}").body(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    for (request, status, code) in [
        (ask(&door, "ping", "", "{}"), 404, -32_601),
        (ask(&door, "initialize", "", "{}"), 404, -32_601),
        (ask(&door, "resources/subscribe", r#""uri":"x","#, "{}"), 404, -32_601),
        (ask(&door, "tools/call", r#""name":"none","#, "{}").with("Mcp-Name", "none"), 200, -32_602),
        (other.body(body), 400, -32_022),
        (bare, 400, -32_602),
    ] {
        let answer = request.whole().await;
        assert_eq!((answer.status, answer.code()), (status, Some(code)), "{}", answer.text());
    }
    for method in ["GET", "DELETE"] {
        let request = door.request(method, "/mcp").with("MCP-Protocol-Version", "2026-07-28");
        assert_eq!(request.whole().await.status, 405, "{method}");
    }
    let batch = ask(&door, "tools/list", "", "{}").body(r#"[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]"#);
    assert_eq!(batch.whole().await.status, 400);
}

#[tokio::test]
async fn what_comes_before_the_answer_makes_it_a_stream_and_closing_that_cancels_the_request() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let mut server = Scripted::with_tools(&[&tool("t")]);
    server.on_call = Arc::new(move |call, _, progress| {
        let counted = Arc::clone(&counted);
        Box::pin(async move {
            progress.unwrap()(json(r#"{"progressToken":1,"progress":1}"#));
            if call.params.pointer("/arguments/hang").is_none() {
                return Ok(Ok(json(r#"{"content":[]}"#)));
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let _ended = Ended(counted);
            std::future::pending().await
        })
    });
    let door = open(server).await;
    let with_token = |arguments: &str| {
        let members = format!(r#""name":"mcp__s__t","arguments":{arguments},"#);
        let params = stateless_params("{}", &members, r#""progressToken":"p","#);
        call(&door, "{}").body(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#))
    };
    let mut answer = with_token("{}").send().await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), "no");
    let progress = answer.event().await.unwrap();
    assert_eq!(progress.id, None, "no client comes back to a stream of this era");
    assert_eq!(progress.json().pointer("/params/progressToken").and_then(Value::as_str), Some("p"));
    let reply = answer.event().await.unwrap().json();
    assert_eq!(reply.get("result").unwrap().to_json(), r#"{"content":[],"resultType":"complete"}"#);
    assert!(answer.event().await.is_none());
    let mut answer = with_token(r#"{"hang":1}"#).send().await;
    answer.event().await.unwrap();
    assert_eq!(running.load(Ordering::SeqCst), 1);
    drop(answer);
    door.running.wait_for("the end of the call", |_| running.load(Ordering::SeqCst) == 0).await;
}

struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_question_is_a_round_of_its_own_request_and_a_missing_capability_a_status() {
    let slot = Arc::new(std::sync::Mutex::new(None::<Arc<crate::gateway::ServerPeer>>));
    let peer = Arc::clone(&slot);
    let mut server = Scripted::with_tools(&[&tool("t")]);
    server.on_call = Arc::new(move |_, _, _| {
        let peer = peer.lock().unwrap().clone().unwrap();
        Box::pin(async move {
            Ok(match peer.request("roots/list", json("{}"), None).await {
                Ok(roots) => Ok(json(&format!(r#"{{"content":[],"x":{}}}"#, roots.to_json()))),
                Err(error) => Err(error),
            })
        })
    });
    let door = open(server).await;
    *slot.lock().unwrap() = Some(door.running.server("s").peer());
    let refused = call(&door, "{}").whole().await;
    assert_eq!((refused.status, refused.code()), (400, Some(-32_021)), "{}", refused.text());
    let roots = r#"{"roots":{}}"#;
    ask(&door, "tools/list", "", roots).whole().await;
    *slot.lock().unwrap() = Some(door.running.server("s").peer());
    let first = |more: &str| {
        ask(&door, "tools/call", &format!(r#""name":"mcp__s__t",{more}"#), roots).with("Mcp-Name", "mcp__s__t")
    };
    let asked = first("").whole().await;
    let state = asked.json().pointer("/result/requestState").and_then(Value::as_str).unwrap().to_owned();
    let more = format!(r#""inputResponses":{{"input-1":{{"roots":[]}}}},"requestState":"{state}","#);
    let done = first(&more).whole().await;
    assert_eq!(
        done.json().get("result").unwrap().to_json(),
        r#"{"content":[],"x":{"roots":[]},"resultType":"complete"}"#
    );
}

#[tokio::test]
async fn a_request_that_listens_is_a_stream_that_ends_with_its_result() {
    let door = open(Scripted::with_tools(&[&tool("t")])).await;
    let members = r#""notifications":{"toolsListChanged":true},"#;
    let mut answer = ask(&door, "subscriptions/listen", members, "{}").send().await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let acknowledged = answer.event().await.unwrap().json();
    let method = acknowledged.get("method").and_then(Value::as_str);
    assert_eq!(method, Some("notifications/subscriptions/acknowledged"));
    door.running.server("s").set(crate::method::Listable::Tools, &[&tool("u")]);
    door.running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    let changed = answer.event().await.unwrap().json();
    assert_eq!(changed.get("method").and_then(Value::as_str), Some("notifications/tools/list_changed"));
    door.close().await;
    let result = answer.event().await.unwrap().json();
    assert_eq!(result.pointer("/result/resultType").and_then(Value::as_str), Some("complete"));
}

#[tokio::test]
async fn a_route_to_one_server_shows_that_one_only() {
    let running = setup()
        .server("one", Scripted::with_tools(&[&tool("a")]))
        .server("other", Scripted::with_tools(&[&tool("b")]))
        .run();
    let door = Open::new(running, HttpOptions::default()).await;
    let params = stateless_params("{}", "", "");
    let request = door
        .request("POST", "/mcp/one")
        .with("Content-Type", "application/json")
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/list")
        .body(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{params}}}"#));
    let listed = request.whole().await.json();
    assert_eq!(names(listed.get("result").unwrap(), "tools", "name"), ["mcp__one__a"]);
}
