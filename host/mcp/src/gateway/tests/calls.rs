use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portcullis_gates::testing;
use portcullis_model::{GateName, Verdict};

use super::support::*;
use crate::gateway::LinkError;
use crate::method::Verb;

#[tokio::test]
async fn arguments_and_results_pass_value_for_value_with_unknown_members_and_number_text() {
    let result = r#"{"content":[{"type":"text","text":"é\u0000","x-vendor":{"b":1.50,"a":1e400}}],"structuredContent":{"big":12345678901234567890123,"$serde_json::private::Number":"1"},"x-new":null,"isError":false}"#;
    let server = Scripted::with_tools(&[&tool("echo")]).answering(move |_| Ok(Ok(json(result))));
    let (running, mut client) = setup().server("s", server).client().await;
    assert_eq!(client.tools().await, ["mcp__s__echo"]);
    let id = client
        .start("tools/call", r#"{"x":1.0,"name":"mcp__s__echo","arguments":{"b":1.50,"a":12345678901234567890123}}"#)
        .await;
    let response = client.answer_to(id).await;
    assert_eq!(response.get("result").unwrap().to_json(), json(result).to_json());
    let sent = r#"echo {"x":1.0,"name":"echo","arguments":{"b":1.50,"a":12345678901234567890123}}"#;
    assert_eq!(running.server("s").calls(), [sent]);
}

#[tokio::test]
async fn an_error_of_the_server_keeps_its_code_and_data() {
    let server = Scripted::with_tools(&[&tool("t")])
        .answering(|_| Ok(Err(error(-32_050, "no").with_data(json(r#"{"hint":1.0}"#)))));
    let (_running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let response = client.request("tools/call", r#"{"name":"mcp__s__t"}"#).await;
    assert_eq!(response.get("error").unwrap().to_json(), r#"{"code":-32050,"message":"no","data":{"hint":1.0}}"#);
}

#[tokio::test]
async fn a_refused_call_is_a_tool_result_with_the_code_and_is_never_sent() {
    let deny = judging("guard", GateName::Call, |_| testing::deny("not-here"));
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).policy(deny).client().await;
    client.tools().await;
    let result = client.call("mcp__s__t", "{}").await;
    assert_eq!(result.get("isError").unwrap().to_json(), "true");
    let text = result.pointer("/content/0/text").unwrap().as_str().unwrap();
    assert!(text.contains("not-here") && text.contains("guard"), "{text}");
    assert!(!text.contains("denied for"), "the policy's own words are for the operator: {text}");
    assert!(running.server("s").calls().is_empty());
}

#[tokio::test]
async fn a_refused_result_is_replaced_by_the_hosts_own_text_in_success_and_in_error() {
    for answer in [Ok(json(r#"{"content":[{"type":"text","text":"leak"}]}"#)), Err(error(-1, "leak"))] {
        let deny = judging("clean", GateName::Result, |_| testing::deny("leaks"));
        let server = Scripted::with_tools(&[&tool("t")]).answering(move |_| Ok(answer.clone()));
        let (_running, mut client) = setup().server("s", server).policy(deny).client().await;
        client.tools().await;
        let text = client.call("mcp__s__t", "{}").await.to_json();
        assert!(text.contains("leaks)") && !text.contains("\"leak\""), "{text}");
    }
}

#[tokio::test]
async fn a_refused_read_is_an_error_with_a_code_of_our_own() {
    let deny = judging("guard", GateName::Call, |_| testing::deny("not-here"));
    let server = Scripted::with_tools(&[])
        .greeting(|greeting| greeting.capabilities = json(r#"{"resources":{}}"#))
        .listing(crate::method::Listable::Resources, &[r#"{"uri":"file:///a","name":"a"}"#]);
    let (_running, mut client) = setup().server("s", server).policy(deny).client().await;
    client.result("resources/list", "{}").await;
    let response = client.request("resources/read", r#"{"uri":"file:///a"}"#).await;
    assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-31001");
    assert_eq!(response.pointer("/error/data/code").unwrap().to_json(), r#""not-here""#);
}

/// Tells that it was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_cancelled_request_gets_no_answer_and_its_call_is_given_up() {
    let mut server = Scripted::with_tools(&[&tool("slow"), &tool("fast")]);
    let given_up = Arc::new(AtomicBool::new(false));
    let dropped = Arc::clone(&given_up);
    server.on_call = Arc::new(move |call, _, _| {
        let dropped = Arc::clone(&dropped);
        Box::pin(async move {
            if call.name == "slow" {
                let _guard = Dropped(dropped);
                std::future::pending::<()>().await;
            }
            Ok(Ok(json("{}")))
        })
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__slow"}"#).await;
    running.wait_for("the call", |running| running.server("s").calls().len() == 1).await;
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
        .await;
    running.wait_for("the call is given up", |_| given_up.load(Ordering::SeqCst)).await;
    client.call("mcp__s__fast", "{}").await;
    let answered =
        |message: &portcullis_model::json::Value| message.get("id").is_some_and(|other| other.as_u64() == Some(id));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(200), client.wait(answered)).await.is_err());
}

#[tokio::test]
async fn calls_run_at_the_same_time_and_each_answer_finds_its_request() {
    let mut server = Scripted::with_tools(&[&tool("t")]);
    let barrier = Arc::new(tokio::sync::Barrier::new(16));
    server.on_call = Arc::new(move |call, _, _| {
        let barrier = Arc::clone(&barrier);
        Box::pin(async move {
            barrier.wait().await;
            Ok(Ok(call.params.get("arguments").unwrap().clone()))
        })
    });
    let (_running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let mut ids = Vec::new();
    for number in 0..16 {
        let params = format!(r#"{{"name":"mcp__s__t","arguments":{{"n":{number}}}}}"#);
        ids.push((number, client.start("tools/call", &params).await));
    }
    for (number, id) in ids.into_iter().rev() {
        let response = client.answer_to(id).await;
        assert_eq!(response.get("result").unwrap().to_json(), format!(r#"{{"n":{number}}}"#));
    }
}

#[tokio::test]
async fn progress_reaches_the_client_under_its_own_token_and_before_the_answer() {
    let mut server = Scripted::with_tools(&[&tool("t")]);
    server.on_call = Arc::new(|_, _, progress| {
        Box::pin(async move {
            let progress = progress.expect("a token was given");
            for number in 1..=3 {
                let params = format!(r#"{{"progressToken":77,"progress":{number}.0,"x-vendor":1}}"#);
                progress(json(&params));
            }
            Ok(Ok(json("{}")))
        })
    });
    let (_running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__t","_meta":{"progressToken":"mine"}}"#).await;
    for number in 1..=3 {
        let message = client.wait(|_| true).await;
        let expected = format!(r#"{{"progressToken":"mine","progress":{number}.0,"x-vendor":1}}"#);
        assert_eq!(message.get("params").unwrap().to_json(), expected);
    }
    client.answer_to(id).await;
}

#[tokio::test]
async fn a_server_that_times_out_or_ends_is_told_of_in_the_hosts_words() {
    let limit = std::time::Duration::from_mins(5);
    let cases = [
        (LinkError::TimedOut { limit }, "within 300 s"),
        (LinkError::Gone { detail: "secret words".to_owned(), sent: true }, "may have done"),
        (LinkError::Gone { detail: "secret words".to_owned(), sent: false }, "Nothing was done"),
        (LinkError::Malformed { detail: "it is too long".to_owned() }, "dropped: it is too long"),
    ];
    for (error, expected) in cases {
        let server = Scripted::with_tools(&[&tool("t")]).answering(move |_| Err(error.clone()));
        let (_running, mut client) = setup().server("s", server).client().await;
        client.tools().await;
        let text = client.call("mcp__s__t", "{}").await.to_json();
        assert!(text.contains(expected) && text.contains(r#""isError":true"#), "{text}");
        assert!(!text.contains("secret words"), "{text}");
    }
}

#[tokio::test]
async fn a_call_whose_session_was_lost_is_sent_once_more_over_the_new_connection() {
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Scripted::with_tools(&[&tool("t")]).answering(move |_| {
        let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        if first { Err(LinkError::Expired) } else { Ok(Ok(json(r#"{"x":1.0}"#))) }
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.tools().await;
    let id = client.start("tools/call", r#"{"name":"mcp__s__t"}"#).await;
    running.wait_for("the first try", |_| count.load(Ordering::SeqCst) == 1).await;
    running.server("s").peer().closed("the session is not known any more".to_owned());
    assert_eq!(client.answer_to(id).await.get("result").unwrap().to_json(), r#"{"x":1.0}"#);
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(running.server("s").launches(), 2);
}

#[tokio::test]
async fn what_is_not_published_cannot_be_called() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("t")])).client().await;
    client.tools().await;
    for params in [r#"{"name":"t"}"#, r#"{"name":"mcp__s__other"}"#, r#"{"name":7}"#, "{}", "[1]"] {
        let response = client.request("tools/call", params).await;
        assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-32602", "{params}");
    }
    assert!(running.server("s").calls().is_empty());
}

#[tokio::test]
async fn methods_that_nobody_knows_are_refused_and_bad_requests_get_their_error() {
    let (_running, mut client) = setup().server("s", Scripted::with_tools(&[])).client().await;
    for method in ["vendor/thing", "tasks/list"] {
        let response = client.request(method, "{}").await;
        assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-32601", "{method}");
    }
    client.send(r#"{"jsonrpc":"2.0","id":900,"method":"ping","params":{"a":1,"a":2}}"#).await;
    assert_eq!(client.answer_to(900).await.pointer("/error/code").unwrap().to_json(), "-32600");
    client.send("this is no message").await;
    client.send(r#"{"jsonrpc":"2.0","id":901,"method":"ping"}"#).await;
    assert_eq!(client.answer_to(901).await.get("result").unwrap().to_json(), "{}");
}

#[tokio::test]
async fn nothing_is_answered_before_the_client_introduced_itself_and_only_once() {
    let running = setup().server("s", Scripted::with_tools(&[])).run();
    let mut client = running.connect();
    assert_eq!(client.result("ping", "{}").await.to_json(), "{}");
    assert_eq!(client.request("tools/list", "{}").await.pointer("/error/code").unwrap().to_json(), "-32600");
    let discovered = client.request("server/discover", "{}").await;
    assert_eq!(discovered.pointer("/error/code").unwrap().to_json(), "-32602", "it does not say what it must");
    client.introduce("{}").await;
    let again = client.request("initialize", "{}").await;
    assert_eq!(again.pointer("/error/code").unwrap().to_json(), "-32600");
}

#[tokio::test]
async fn a_subscription_is_judged_as_a_read_and_its_updates_reach_only_who_subscribed() {
    let mut server = Scripted::with_tools(&[])
        .greeting(|greeting| greeting.capabilities = json(r#"{"resources":{"subscribe":true}}"#))
        .listing(crate::method::Listable::Resources, &[r#"{"uri":"file:///a","name":"a"}"#]);
    server.on_call = Arc::new(|_, verb, _| {
        Box::pin(async move {
            assert!(matches!(verb, Verb::Subscribe | Verb::Unsubscribe));
            Ok(Ok(json("{}")))
        })
    });
    let (running, mut client) = setup().server("s", server).client().await;
    client.result("resources/list", "{}").await;
    let update = || json(r#"{"uri":"file:///a"}"#);
    running.server("s").peer().notification("notifications/resources/updated", update());
    assert!(!client.hears("notifications/resources/updated").await);
    client.result("resources/subscribe", r#"{"uri":"file:///a"}"#).await;
    running.server("s").peer().notification("notifications/resources/updated", update());
    client.expect("notifications/resources/updated").await;
    client.result("resources/unsubscribe", r#"{"uri":"file:///a"}"#).await;
    running.server("s").peer().notification("notifications/resources/updated", update());
    assert!(!client.hears("notifications/resources/updated").await);
}

#[tokio::test]
async fn log_messages_pass_the_result_gate_and_the_level_of_the_client() {
    let quiet = judging("clean", GateName::Result, |subject| {
        let portcullis_model::Subject::Result(result) = subject else { panic!("the result gate") };
        let secret = result.segments.iter().any(|segment| segment.text.contains("secret"));
        if secret { testing::deny("leaks") } else { Verdict::allow() }
    });
    let server = Scripted::with_tools(&[&tool("t")])
        .greeting(|greeting| greeting.capabilities = json(r#"{"tools":{},"logging":{}}"#));
    let (running, mut client) = setup().server("s", server).policy(quiet).client().await;
    client.tools().await;
    let log = |level: &str, data: &str| json(&format!(r#"{{"level":"{level}","data":"{data}","x":1.0}}"#));
    let peer = running.server("s").peer();
    peer.notification("notifications/message", log("debug", "too quiet"));
    peer.notification("notifications/message", log("error", "a secret"));
    peer.notification("notifications/message", log("error", "fine"));
    let message = client.expect("notifications/message").await;
    assert_eq!(message.get("params").unwrap().to_json(), r#"{"level":"error","data":"fine","x":1.0}"#);
    assert!(!client.hears("notifications/message").await);
    client.result("logging/setLevel", r#"{"level":"debug"}"#).await;
    peer.notification("notifications/message", log("debug", "now"));
    client.expect("notifications/message").await;
    running
        .wait_for("the level at the server", |running| {
            running.server("s").asked.lock().unwrap().iter().any(|(method, _)| *method == "logging/setLevel")
        })
        .await;
    let response = client.request("logging/setLevel", r#"{"level":"loud"}"#).await;
    assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-32602");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_bears_no_parallel_calls_gets_them_one_after_the_other_and_a_cancelled_one_not_at_all() {
    let mut server = Scripted::with_tools(&[&tool("t")]);
    let running_now = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    server.on_call = Arc::new(move |call, _, _| {
        let running_now = Arc::clone(&running_now);
        Box::pin(async move {
            assert_eq!(running_now.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            running_now.fetch_sub(1, Ordering::SeqCst);
            Ok(Ok(call.params.get("arguments").unwrap().clone()))
        })
    });
    let entry = "{command: scripted, supports_parallel_tool_calls: false}";
    let (running, mut client) = setup().server_with("s", entry, server).client().await;
    client.tools().await;
    let mut ids = Vec::new();
    for number in 0..4 {
        let params = format!(r#"{{"name":"mcp__s__t","arguments":{{"n":{number}}}}}"#);
        ids.push(client.start("tools/call", &params).await);
    }
    running.wait_for("the first call", |running| running.server("s").calls().len() == 1).await;
    let cancelled = ids.remove(2);
    let params = format!(r#"{{"requestId":{cancelled}}}"#);
    client.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#)).await;
    for (id, number) in ids.into_iter().zip([0, 1, 3]) {
        assert_eq!(client.answer_to(id).await.pointer("/result/n").unwrap().to_json(), number.to_string());
    }
    assert_eq!(running.server("s").calls().len(), 3);
    let usage = running.gateway.status().servers[0].usage.clone();
    assert_eq!((usage.requests, usage.errors, usage.unanswered), (3, 0, 0));
    assert_eq!(usage.tools.get("t"), Some(&3));
}
