//! Calls and sessions over HTTP.

use portcullis_model::json::Value;

use super::http::{Client, Open, front_door, token};
use super::support::*;
use crate::HttpOptions;

async fn open() -> Open {
    let running = setup().server("s", Scripted::with_tools(&[&tool("t")])).run();
    Open::new(running, HttpOptions::default()).await
}

#[tokio::test]
async fn a_plain_call_is_answered_with_plain_json() {
    let door = open().await;
    let client = door.introduce("2025-11-25", "{}").await;
    let listed = client.ask(1, "tools/list", "{}").whole().await;
    assert_eq!(listed.status, 200);
    assert_eq!(names(listed.json().get("result").unwrap(), "tools", "name"), ["mcp__s__t"]);
    let called = client.ask(2, "tools/call", r#"{"name":"mcp__s__t","arguments":{"big":1.50}}"#).whole().await;
    assert_eq!((called.status, called.header("content-type")), (200, "application/json"));
    assert_eq!(called.header("cache-control"), "no-store");
    assert_eq!(called.text(), r#"{"jsonrpc":"2.0","id":2,"result":{"name":"t","arguments":{"big":1.50}}}"#);
}

#[tokio::test]
async fn a_client_asks_for_schemas_of_providers_in_its_address() {
    let door = open().await;
    let provider = door.introduce_at("/mcp/s?schemas=provider", "2025-11-25", "{}").await;
    let plain = door.introduce_at("/mcp/s?schemas=", "2025-11-25", "{}").await;
    let schema = async |client: &Client<'_>| {
        let list = client.ask(1, "tools/list", "{}").whole().await;
        list.json().pointer("/result/tools/0/inputSchema").unwrap().to_json()
    };
    assert_eq!(schema(&provider).await, r#"{"type":"object","properties":{}}"#);
    assert_eq!(schema(&plain).await, r#"{"type":"object"}"#);
}

#[tokio::test]
async fn every_revision_of_the_era_is_spoken() {
    let door = open().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = door.introduce(revision, "{}").await;
        let request = client.call(1, "mcp__s__t").with("MCP-Protocol-Version", revision);
        assert_eq!(request.whole().await.status, 200, "{revision}");
    }
}

#[tokio::test]
async fn a_session_has_an_id_that_cannot_be_guessed_and_ends_when_it_is_deleted() {
    let door = open().await;
    let (one, other) = (door.introduce("2025-11-25", "{}").await, door.introduce("2025-11-25", "{}").await);
    assert_ne!(one.session, other.session);
    assert!(one.session.len() >= 32 && one.session.bytes().all(|byte| byte.is_ascii_graphic()));
    let deleted = one.request("DELETE").whole().await;
    assert_eq!(deleted.status, 204);
    for request in [one.call(1, "mcp__s__t"), one.request("GET"), one.request("DELETE")] {
        assert_eq!(request.whole().await.status, 404);
    }
    assert_eq!(other.call(1, "mcp__s__t").whole().await.status, 200, "the other one goes on");
}

#[tokio::test]
async fn without_a_session_only_initialize_is_answered() {
    let door = open().await;
    let request = door.post(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
    let refused = request.whole().await;
    assert_eq!((refused.status, refused.json().get("id").unwrap().as_str()), (400, Some("a")));
    assert_eq!(door.request("GET", "/mcp").whole().await.status, 400);
    assert_eq!(door.request("DELETE", "/mcp").whole().await.status, 400);
    assert_eq!(request.clone().with("Mcp-Session-Id", "made-up").whole().await.status, 404);
    let twice = request.with("Mcp-Session-Id", "a").with("Mcp-Session-Id", "b");
    assert_eq!(twice.whole().await.status, 400);
}

#[tokio::test]
async fn a_session_speaks_the_revision_that_was_agreed_on() {
    let door = open().await;
    let client = door.introduce("2025-06-18", "{}").await;
    for (revision, status) in [("2025-06-18", 200), ("2025-11-25", 400), ("1999-01-01", 400), ("", 400)] {
        let request = client.call(1, "mcp__s__t").with("MCP-Protocol-Version", revision);
        assert_eq!(request.whole().await.status, status, "{revision}");
    }
}

#[tokio::test]
async fn a_route_to_one_server_shows_and_reaches_that_one_only() {
    let one = Scripted::with_tools(&[&tool("a")]);
    let other = Scripted::with_tools(&[&tool("b")]);
    let running = setup().server("one", one).server("other", other).run();
    let door = Open::new(running, HttpOptions::default()).await;
    let client = door.introduce_at("/mcp/one", "2025-11-25", "{}").await;
    let listed = client.ask(1, "tools/list", "{}").whole().await;
    assert_eq!(names(listed.json().get("result").unwrap(), "tools", "name"), ["mcp__one__a"]);
    assert!(client.call(2, "mcp__one__a").whole().await.json().get("result").is_some());
    let outside = client.call(3, "mcp__other__b").whole().await.json();
    let unknown = client.call(3, "mcp__other__none").whole().await.json();
    assert_eq!(outside, unknown, "what is outside of the view is as if it were not there");
    assert_eq!(door.running.server("other").calls().len(), 0);
    // The session of one route is none of another.
    let elsewhere = door.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).with("Mcp-Session-Id", &client.session);
    assert_eq!(elsewhere.whole().await.status, 404);
    for path in ["/mcp/none", "/mcp/", "/", "/mcp/one/more"] {
        assert_eq!(door.request("POST", path).whole().await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn notifications_and_answers_are_accepted_and_nothing_more() {
    let door = open().await;
    let client = door.introduce("2025-11-25", "{}").await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m"}}"#,
    ] {
        let accepted = client.post(body).whole().await;
        assert_eq!((accepted.status, accepted.body.len()), (202, 0), "{body}");
    }
}

#[tokio::test]
async fn a_batch_is_answered_where_the_revision_has_them() {
    let door = open().await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},
        {"jsonrpc":"2.0","id":2,"method":"nonsense"}]"#;
    let client = door.introduce("2025-03-26", "{}").await;
    let answers = client.post(batch).whole().await;
    let answers = answers.json();
    let answers = answers.as_array().unwrap();
    let ids: Vec<_> = answers.iter().map(|answer| answer.get("id").and_then(Value::as_u64).unwrap()).collect();
    assert_eq!(ids, [1, 2]);
    let client = door.introduce("2025-11-25", "{}").await;
    let refused = client.post(batch).whole().await;
    assert_eq!((refused.status, refused.code()), (400, Some(-32_600)));
}

#[tokio::test]
async fn who_may_come_in_is_asked_before_anything_else() {
    let running = setup().server("s", Scripted::with_tools(&[&tool("t")])).run();
    let door = Open::new(running, HttpOptions { front_door: Some(front_door()), ..HttpOptions::default() }).await;
    let bearer = format!("Bearer {}", token());
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let open = door.post(initialize).with("Authorization", &bearer).whole().await;
    assert_eq!(open.status, 200);
    for (method, path) in
        [("POST", "/mcp"), ("GET", "/mcp/s"), ("DELETE", "/mcp/nowhere"), ("OPTIONS", "/mcp"), ("PUT", "/mcp")]
    {
        let request = door.request(method, path).with("Authorization", &bearer);
        let foreign = request.clone().set("Host", "evil.example").whole().await;
        assert_eq!(foreign.status, 403, "{method} {path}");
        let foreign = request.clone().with("Origin", "http://evil.example").whole().await;
        assert_eq!(foreign.status, 403, "{method} {path}");
        let unknown = request.clone().without("Authorization").whole().await;
        let at = format!(
            "resource_metadata=\"https://gateway.example/.well-known/oauth-protected-resource{path}\",scope=\"mcp\""
        );
        let challenge = format!("Bearer {at}");
        assert_eq!((unknown.status, unknown.header("www-authenticate")), (401, challenge.as_str()), "{method} {path}");
        let wrong = request.set("Authorization", &format!("{bearer}x")).whole().await;
        assert_eq!(wrong.status, 401, "{method} {path}");
        assert_eq!(wrong.header("www-authenticate"), format!("Bearer error=\"invalid_token\",{at}"));
    }
    // A foreign host learns nothing of the token.
    let both = door.post(initialize).set("Host", "evil.example").whole().await;
    assert_eq!((both.status, both.header("www-authenticate")), (403, ""));
    let local = format!("http://localhost:{}", door.address.port());
    let page = door.post(initialize).with("Authorization", &bearer).with("Origin", &local).whole().await;
    assert_eq!(page.status, 200);
    let twice = door.post(initialize).with("Authorization", &bearer).with("Authorization", &bearer);
    assert_eq!(twice.whole().await.status, 400);
}

#[tokio::test]
async fn method_and_media_types_have_to_fit() {
    let door = open().await;
    let client = door.introduce("2025-11-25", "{}").await;
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD"] {
        let refused = client.request(method).send().await;
        assert_eq!((refused.status, refused.header("allow")), (405, "POST, GET, DELETE"), "{method}");
    }
    let call = client.call(1, "mcp__s__t");
    for accept in ["application/json", "text/event-stream", "text/html"] {
        assert_eq!(call.clone().set("Accept", accept).whole().await.status, 406, "{accept}");
    }
    assert_eq!(call.clone().set("Accept", "*/*").whole().await.status, 200);
    assert_eq!(client.request("GET").set("Accept", "application/json").whole().await.status, 406);
    assert_eq!(call.clone().set("Content-Type", "text/plain").whole().await.status, 415);
    assert_eq!(call.without("Content-Type").whole().await.status, 415);
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_the_right_code_and_id() {
    let door = open().await;
    let client = door.introduce("2025-11-25", "{}").await;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"ping","params":{{"a":{}1{}}}}}"#, "[".repeat(80), "]".repeat(80));
    let cases = [
        ("{", -32_700, None),
        ("", -32_700, None),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32_700, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}"#, -32_700, Some(7)),
        (deep.as_str(), -32_700, Some(9)),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32_600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32_600, Some(7)),
        ("17", -32_600, None),
    ];
    for (body, code, id) in cases {
        let refused = client.post(body).whole().await;
        assert_eq!((refused.status, refused.code()), (400, Some(code)), "{body}");
        assert_eq!(refused.json().get("id").unwrap().as_u64(), id, "{body}");
    }
}

#[tokio::test]
async fn no_answer_is_bound_to_an_address_beyond_this_machine() {
    let running = setup().server("s", Scripted::with_tools(&[&tool("t")])).run();
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused =
        crate::serve_http(running.gateway.clone(), listener, HttpOptions::default(), std::future::pending()).await;
    assert!(matches!(refused, Err(crate::ServeHttpError::NotLoopback(_))));
}
