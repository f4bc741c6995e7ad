use portcullis_gates::testing;
use portcullis_model::json::Value;
use portcullis_model::{GateName, Subject, Verdict};

use super::support::*;

async fn running(setup: Setup, capabilities: &str) -> (Running, Client) {
    let running = setup.server("s", Scripted::with_tools(&[&tool("t")])).run();
    let mut client = running.connect();
    client.introduce(capabilities).await;
    client.tools().await;
    (running, client)
}

fn ask(running: &Running, method: &'static str, params: &str) -> tokio::task::JoinHandle<crate::gateway::Answer> {
    let (peer, params) = (running.server("s").peer(), json(params));
    tokio::spawn(async move { peer.request(method, params, None).await })
}

#[tokio::test]
async fn a_servers_request_reaches_the_client_and_the_answer_the_server() {
    let (running, mut client) = running(setup(), r#"{"sampling":{},"roots":{}}"#).await;
    let params = r#"{"messages":[],"maxTokens":10,"temperature":0.70,"x-vendor":1}"#;
    let asked = ask(&running, "sampling/createMessage", params);
    let request = client.expect("sampling/createMessage").await;
    assert_eq!(request.get("params").unwrap().to_json(), params);
    client.respond(&request, r#"{"role":"assistant","content":{"type":"text","text":"4"},"model":"m","x":1.0}"#).await;
    let answer = asked.await.unwrap().unwrap().to_json();
    assert_eq!(answer, r#"{"role":"assistant","content":{"type":"text","text":"4"},"model":"m","x":1.0}"#);
    let asked = ask(&running, "roots/list", "{}");
    let request = client.expect("roots/list").await;
    client.respond(&request, r#"{"roots":[]}"#).await;
    assert_eq!(asked.await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
}

#[tokio::test]
async fn what_the_client_did_not_declare_is_not_asked_of_it() {
    let (running, mut client) = running(setup(), "{}").await;
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "vendor/thing"] {
        let answer = ask(&running, method, "{}").await.unwrap();
        assert_eq!(answer.unwrap_err().code(), -32_601, "{method}");
    }
    assert_eq!(ask(&running, "ping", "{}").await.unwrap().unwrap().to_json(), "{}");
    assert!(!client.hears("sampling/createMessage").await);
}

#[tokio::test]
async fn a_part_of_a_capability_that_the_client_did_not_declare_is_refused_to_the_server_as_invalid() {
    let (running, mut client) = running(setup(), r#"{"sampling":{},"elicitation":{}}"#).await;
    for (method, params, part) in [
        ("elicitation/create", r#"{"mode":"url","url":"https://example.org/","message":"m"}"#, "elicitation.url"),
        ("sampling/createMessage", r#"{"messages":[],"tools":[{"name":"t"}]}"#, "sampling.tools"),
        ("sampling/createMessage", r#"{"messages":[],"includeContext":"allServers"}"#, "sampling.context"),
    ] {
        let error = ask(&running, method, params).await.unwrap().unwrap_err();
        assert_eq!(error.code(), -32_602, "{part}");
        assert!(error.message().contains(part), "{}", error.message());
    }
    for unknown in [r#"{"mode":"voice","message":"m"}"#, r#"{"mode":7,"message":"m"}"#] {
        assert_eq!(ask(&running, "elicitation/create", unknown).await.unwrap().unwrap_err().code(), -32_602);
    }
    assert!(!client.hears("elicitation/create").await && !client.hears("sampling/createMessage").await);
    let (second, mut client) = super::requests::running(setup(), r#"{"elicitation":{"url":{}}}"#).await;
    let error = ask(&second, "elicitation/create", r#"{"message":"m"}"#).await.unwrap().unwrap_err();
    assert_eq!(error.code(), -32_602, "a client of pages only is shown no form");
    let asked = ask(&second, "elicitation/create", r#"{"mode":"url","url":"https://example.org/","message":"m"}"#);
    let page = client.expect("elicitation/create").await;
    client.respond(&page, r#"{"action":"decline"}"#).await;
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_cannot_know_whether_it_may_wish_for_context_is_not_refused_for_it() {
    let old = Scripted::with_tools(&[&tool("t")]).greeting(|greeting| greeting.revision = "2025-06-18".to_owned());
    let running = setup().server("s", old).run();
    let mut client = running.connect();
    client.introduce(r#"{"sampling":{}}"#).await;
    client.tools().await;
    let asked = ask(&running, "sampling/createMessage", r#"{"messages":[],"includeContext":"thisServer"}"#);
    let request = client.expect("sampling/createMessage").await;
    assert_eq!(request.pointer("/params/includeContext").and_then(Value::as_str), Some("thisServer"));
    client.respond(&request, r#"{"role":"assistant","content":{"type":"text","text":"4"},"model":"m"}"#).await;
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn somebody_who_only_listens_is_not_taken_for_a_client_that_can_be_asked() {
    let (running, mut client) = running(setup(), r#"{"roots":{}}"#).await;
    let mut listener = running.connect();
    let wanted = r#""notifications":{"toolsListChanged":true},"#;
    listener.start_stateless("subscriptions/listen", r#"{"roots":{}}"#, wanted).await;
    listener.expect("notifications/subscriptions/acknowledged").await;
    let asked = ask(&running, "roots/list", "{}");
    let request = client.expect("roots/list").await;
    client.respond(&request, r#"{"roots":[]}"#).await;
    assert_eq!(asked.await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
    drop(client);
    running.wait_for("the end of the client", |running| running.gateway.sessions().len() == 1).await;
    let error = ask(&running, "roots/list", "{}").await.unwrap().unwrap_err();
    assert_eq!(error.code(), -32_601, "there is nobody left who can be asked");
}

#[tokio::test]
async fn a_refused_request_never_reaches_the_client() {
    let deny = judging("requests", GateName::Request, |subject| {
        assert!(matches!(subject, Subject::Request(_)));
        testing::deny("too-often")
    });
    let (running, mut client) = running(setup().policy(deny), r#"{"sampling":{},"elicitation":{}}"#).await;
    let error = ask(&running, "sampling/createMessage", "{}").await.unwrap().unwrap_err();
    assert_eq!(error.code(), -31_001);
    assert!(error.message().contains("too-often"));
    let declined = ask(&running, "elicitation/create", r#"{"message":"m"}"#).await.unwrap().unwrap();
    assert_eq!(declined.to_json(), r#"{"action":"decline"}"#);
    assert!(!client.hears("elicitation/create").await);
}

#[tokio::test]
async fn a_form_names_its_server_and_an_answer_that_does_not_fit_is_none() {
    let (running, mut client) = running(setup(), r#"{"elicitation":{}}"#).await;
    let params = r#"{"message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}"#;
    let asked = ask(&running, "elicitation/create", params);
    let form = client.expect("elicitation/create").await;
    let message = form.pointer("/params/message").and_then(Value::as_str).unwrap();
    assert_eq!(message, "The server `s` asks: Name?");
    client.respond(&form, r#"{"action":"accept","content":{}}"#).await;
    assert!(asked.await.unwrap().is_err());
    let asked = ask(&running, "elicitation/create", params);
    let form = client.expect("elicitation/create").await;
    client.respond(&form, r#"{"action":"accept","content":{"name":"x"}}"#).await;
    assert_eq!(asked.await.unwrap().unwrap().to_json(), r#"{"action":"accept","content":{"name":"x"}}"#);
}

#[tokio::test]
async fn a_question_is_never_put_to_the_wrong_client() {
    let (running, mut first) = running(setup(), r#"{"roots":{}}"#).await;
    let mut second = running.connect();
    second.introduce(r#"{"roots":{}}"#).await;
    let error = ask(&running, "roots/list", "{}").await.unwrap().unwrap_err();
    assert_eq!(error.code(), -32_601, "with two clients and no call it is nobody's question");
    assert!(!first.hears("roots/list").await && !second.hears("roots/list").await);
}

#[tokio::test]
async fn policies_see_rounds_with_tools_and_lower_the_tokens() {
    let limit = testing::policy(
        "requests",
        &[GateName::Request],
        testing::Judge(|facts: &portcullis_model::Facts, subject: &Subject| {
            let mut verdict = Verdict::allow();
            verdict.extensions.insert("sampling", json(r#"{"max_tokens":100}"#));
            if facts.tool_rounds >= 2 {
                verdict = testing::deny("too-many-rounds");
            }
            Ok(testing::answer(subject, &verdict))
        }),
    );
    let (running, mut client) = running(setup().policy(limit), r#"{"sampling":{"tools":{}}}"#).await;
    for _ in 0..2 {
        let asked = ask(&running, "sampling/createMessage", r#"{"maxTokens":5000,"tools":[{"name":"t"}]}"#);
        let request = client.expect("sampling/createMessage").await;
        assert_eq!(request.pointer("/params/maxTokens").unwrap().to_json(), "100");
        client.respond(&request, r#"{"stopReason":"toolUse","content":[]}"#).await;
        asked.await.unwrap().unwrap();
    }
    let error = ask(&running, "sampling/createMessage", r#"{"tools":[{"name":"t"}]}"#).await.unwrap().unwrap_err();
    assert!(error.message().contains("too-many-rounds"));
}
