use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_gates::testing::Judge;
use portcullis_gates::{ActivePolicy, testing};
use portcullis_model::json::Value;
use portcullis_model::{Answer as PolicyAnswer, GateName, Subject, Verdict};

use super::support::*;
use crate::Schemas;
use crate::method::Listable;
use crate::status::Phase;

#[tokio::test]
async fn listed_items_keep_every_member_and_only_their_name_is_new() {
    let listed = r#"{"x-vendor":{"n":1.50},"name":"a.b","title":"A","inputSchema":{"type":"object","$defs":{},"x":1e5},"execution":{"taskSupport":"forbidden"},"annotations":{"readOnlyHint":true,"vendorHint":7}}"#;
    let (_running, mut client) = setup().server("my-server", Scripted::with_tools(&[listed])).client().await;
    let result = client.result("tools/list", "{}").await;
    assert_eq!(
        result.to_json(),
        format!(r#"{{"tools":[{}]}}"#, json(listed).to_json().replace(r#""a.b""#, r#""mcp__my_server__a_b""#))
    );
}

#[tokio::test]
async fn a_schema_of_structured_content_that_is_no_object_does_not_reach_an_earlier_client() {
    let tool =
        |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{{}},"outputSchema":{schema},"x":1}}"#);
    let tools = [tool("a", r#"{"type":"array"}"#), tool("b", "{}"), tool("c", r#"{"type":"object","y":1.0}"#)];
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let (_running, mut client) = setup().server("s", Scripted::with_tools(&tools)).client().await;
    let result = client.result("tools/list", "{}").await;
    let listed: Vec<String> =
        result.get("tools").and_then(Value::as_array).unwrap().iter().map(Value::to_json).collect();
    assert_eq!(
        listed,
        [
            r#"{"name":"mcp__s__a","inputSchema":{},"x":1}"#,
            r#"{"name":"mcp__s__b","inputSchema":{},"x":1}"#,
            r#"{"name":"mcp__s__c","inputSchema":{},"outputSchema":{"type":"object","y":1.0},"x":1}"#
        ]
    );
}

#[tokio::test]
async fn a_client_that_asks_for_schemas_of_providers_gets_them_and_the_gates_and_others_see_what_was_listed() {
    let listed =
        r#"{"name":"a","inputSchema":{"properties":{"b":{"type":["string","null"]}},"required":["c"]},"x":1.0}"#;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let scan = judging_listed(Arc::clone(&seen));
    let server = Scripted::with_tools(&[listed, &tool("plain")]);
    let (running, mut client) = setup().server("s", server).policy(scan).client().await;
    let mut provider = running.connect_with(Schemas::Provider);
    provider.introduce("{}").await;
    let expected = r#"{"name":"mcp__s__a","inputSchema":{"properties":{"b":{"type":"string","nullable":true}},"type":"object"},"x":1.0}"#;
    let first = |list: &Value| list.pointer("/tools/0").unwrap().to_json();
    let list = provider.result("tools/list", "{}").await;
    assert_eq!(first(&list), expected);
    // An object without properties is what some providers refuse.
    assert_eq!(list.pointer("/tools/1/inputSchema").unwrap().to_json(), r#"{"type":"object","properties":{}}"#);
    let listed = listed.replace(r#""a""#, r#""mcp__s__a""#);
    assert_eq!(first(&client.result("tools/list", "{}").await), listed);
    let mut stateless = running.connect_with(Schemas::Provider);
    let list = stateless.stateless("tools/list", "{}", "").await;
    assert_eq!(first(list.get("result").unwrap()), expected);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [r#"{"type":["string","null"]}"#]);
}

/// A policy that keeps what it is shown of the property `b`.
fn judging_listed(seen: Arc<Mutex<Vec<String>>>) -> ActivePolicy {
    let judge = Judge(move |_: &_, subject: &Subject| {
        let Subject::Listing(batch) = subject else { panic!("the listing gate") };
        let found = batch.items.iter().filter_map(|item| item.document.pointer("/inputSchema/properties/b"));
        seen.lock().unwrap().extend(found.map(Value::to_json));
        Ok(PolicyAnswer::Verdicts(batch.items.iter().map(|_| Verdict::allow()).collect()))
    });
    testing::policy("scan", &[GateName::Listing], judge)
}

#[tokio::test]
async fn one_bad_tool_costs_no_other_and_is_shown_with_its_reason() {
    let (running, mut client) = setup()
        .server("s", Scripted::with_tools(&[r#"{"name":"bad"}"#, &tool("good"), r#"{"name":3,"inputSchema":{}}"#]))
        .client()
        .await;
    assert_eq!(client.tools().await, ["mcp__s__good"]);
    let status = &running.gateway.status().servers[0];
    assert_eq!((status.phase, status.counts.tools_listed, status.counts.tools_exposed), (Phase::Ready, 3, 1));
    let withheld: Vec<_> = status.withheld.iter().map(|item| (item.name.as_str(), item.code.as_str())).collect();
    assert_eq!(withheld, [("bad", "malformed"), ("#2", "malformed")]);
    assert!(status.withheld[0].detail.contains("inputSchema"));
}

#[tokio::test]
async fn a_hidden_tool_is_neither_listed_nor_called() {
    let (running, mut client) = setup()
        .server("s", Scripted::with_tools(&[&tool("good"), &tool("evil")]))
        .policy(hiding("scan", |name| name == "evil"))
        .client()
        .await;
    assert_eq!(client.tools().await, ["mcp__s__good"]);
    let response = client.request("tools/call", r#"{"name":"mcp__s__evil"}"#).await;
    assert_eq!(response.pointer("/error/code").unwrap().to_json(), "-32602");
    let withheld = &running.gateway.status().servers[0].withheld[0];
    assert_eq!((withheld.name.as_str(), withheld.code.as_str()), ("evil", "hidden-here"));
    assert_eq!(withheld.policy.as_ref().unwrap().as_str(), "scan");
}

#[tokio::test]
async fn the_filter_of_the_config_leaves_tools_out_by_the_servers_own_names() {
    let entry = "{command: scripted, tools: {include: ['read_*']}}";
    let server = Scripted::with_tools(&[&tool("read_file"), &tool("write_file")]);
    let (running, mut client) = setup().server_with("s", entry, server).client().await;
    assert_eq!(client.tools().await, ["mcp__s__read_file"]);
    let counts = running.gateway.status().servers[0].counts;
    assert_eq!((counts.tools_listed, counts.tools_filtered, counts.withheld), (2, 1, 0));
}

#[tokio::test]
async fn two_servers_never_share_a_published_name() {
    let (running, mut client) = setup()
        .server("a", Scripted::with_tools(&[&tool("b__c")]))
        .server("a__b", Scripted::with_tools(&[&tool("c")]))
        .client()
        .await;
    let mut names = client.tools().await;
    names.sort();
    names.dedup();
    let exposed: usize = running.gateway.status().servers.iter().map(|server| server.counts.tools_exposed).sum();
    assert_eq!(names.len(), exposed);
    for name in names {
        client.call(&name, "{}").await;
    }
    let calls = [running.server("a").calls(), running.server("a__b").calls()].concat();
    assert_eq!(calls.len(), exposed);
}

#[tokio::test]
async fn a_changed_list_is_scanned_again_and_the_client_told() {
    let (running, mut client) = setup()
        .server("s", Scripted::with_tools(&[&tool("one")]))
        .policy(hiding("scan", |name| name == "evil"))
        .client()
        .await;
    assert_eq!(client.tools().await, ["mcp__s__one"]);
    running.server("s").set(Listable::Tools, &[&tool("one"), &tool("two"), &tool("evil")]);
    running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__s__one", "mcp__s__two"]);
    // The same again is no change.
    running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    assert!(!client.hears("notifications/tools/list_changed").await);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_costs_few_turns() {
    let (running, mut client) = setup().server("s", Scripted::with_tools(&[&tool("one")])).client().await;
    client.tools().await;
    for number in 0..200 {
        running.server("s").set(Listable::Tools, &[&tool(&format!("tool{number}"))]);
        running.server("s").peer().notification("notifications/tools/list_changed", json("{}"));
    }
    client.expect("notifications/tools/list_changed").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(client.tools().await, ["mcp__s__tool199"]);
}

#[tokio::test(start_paused = true)]
async fn initialize_never_waits_for_a_server_and_lists_wait_only_so_long() {
    let mut slow = Scripted::with_tools(&[&tool("late")]);
    slow.delay = Duration::from_millis(800);
    let running = setup()
        .server("quick", Scripted::with_tools(&[&tool("early")]))
        .server("slow", slow)
        .options(|options| options.list_wait = Duration::from_millis(200))
        .run();
    let mut client = running.connect();
    let began = tokio::time::Instant::now();
    client.introduce("{}").await;
    assert!(began.elapsed() < Duration::from_millis(150), "{:?}", began.elapsed());
    assert_eq!(client.tools().await, ["mcp__quick__early"]);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__quick__early", "mcp__slow__late"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_may_come_before_its_server_is_there() {
    let mut slow = Scripted::with_tools(&[&tool("late")]);
    slow.delay = Duration::from_millis(300);
    let (running, mut client) = setup().server("slow", slow).client().await;
    client.call("mcp__slow__late", "{}").await;
    assert_eq!(running.server("slow").calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_first_list_is_complete_where_the_servers_are_quick_enough() {
    let mut slow = Scripted::with_tools(&[&tool("late")]);
    slow.delay = Duration::from_millis(300);
    let (_running, mut client) =
        setup().server("quick", Scripted::with_tools(&[&tool("early")])).server("slow", slow).client().await;
    assert_eq!(client.tools().await, ["mcp__quick__early", "mcp__slow__late"]);
    assert!(!client.hears("notifications/tools/list_changed").await);
}

#[tokio::test(start_paused = true)]
async fn lists_wait_for_the_first_policies_longer_than_for_servers() {
    let (loaded, ready) = tokio::sync::watch::channel(false);
    let running = setup()
        .server("s", Scripted::with_tools(&[&tool("t")]))
        .options(|options| {
            options.list_wait = Duration::from_millis(200);
            options.ready = Some(ready);
        })
        .run();
    let mut client = running.connect();
    client.introduce("{}").await;
    let id = client.start("tools/list", "{}").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(running.server("s").launches(), 0, "no server is started before there are policies to judge by");
    loaded.send(true).unwrap();
    assert_eq!(names(client.answer_to(id).await.get("result").unwrap(), "tools", "name"), ["mcp__s__t"]);
}

fn library() -> Scripted {
    let capabilities = r#"{"resources":{},"prompts":{},"completions":{}}"#;
    Scripted::with_tools(&[])
        .greeting(|greeting| {
            greeting.capabilities = json(capabilities);
            greeting.instructions = Some("Ask before you lend.".to_owned());
        })
        .listing(Listable::Resources, &[r#"{"uri":"book://1","name":"one","size":12.0}"#])
        .listing(Listable::Templates, &[r#"{"uriTemplate":"book://{id}/pages/{page}","name":"page"}"#])
        .listing(Listable::Prompts, &[r#"{"name":"summarise","arguments":[{"name":"title"}]}"#])
}

#[tokio::test]
async fn prompts_resources_and_completions_find_their_server() {
    let (running, mut client) = setup().server("lib", library()).client().await;
    assert_eq!(names(&client.result("prompts/list", "{}").await, "prompts", "name"), ["mcp__lib__summarise"]);
    assert_eq!(names(&client.result("resources/list", "{}").await, "resources", "uri"), ["book://1"]);
    let templates = client.result("resources/templates/list", "{}").await;
    assert_eq!(names(&templates, "resourceTemplates", "uriTemplate"), ["book://{id}/pages/{page}"]);
    client.result("prompts/get", r#"{"name":"mcp__lib__summarise","arguments":{"title":"x"}}"#).await;
    client.result("resources/read", r#"{"uri":"book://1"}"#).await;
    client.result("resources/read", r#"{"uri":"book://7/pages/9"}"#).await;
    let reference =
        r#"{"ref":{"type":"ref/prompt","name":"mcp__lib__summarise"},"argument":{"name":"title","value":"a"}}"#;
    client.result("completion/complete", reference).await;
    assert_eq!(
        running.server("lib").calls(),
        [
            r#"summarise {"name":"summarise","arguments":{"title":"x"}}"#,
            r#"book://1 {"uri":"book://1"}"#,
            r#"book://7/pages/9 {"uri":"book://7/pages/9"}"#,
            r#"summarise {"ref":{"type":"ref/prompt","name":"summarise"},"argument":{"name":"title","value":"a"}}"#,
        ]
    );
}

#[tokio::test]
async fn a_resource_that_nobody_lists_is_read_where_there_is_one_server_and_nothing_of_it_was_withheld() {
    let read = |uri: &str| format!(r#"{{"uri":"{uri}"}}"#);
    let (running, mut client) = setup().server("lib", library()).client().await;
    client.tools().await;
    client.result("resources/read", &read("shelf://linked")).await;
    assert_eq!(running.server("lib").calls(), [r#"shelf://linked {"uri":"shelf://linked"}"#]);
}

#[tokio::test]
async fn a_withheld_resource_cannot_be_read() {
    let read = |uri: &str| format!(r#"{{"uri":"{uri}"}}"#);
    for hidden in ["book://1", "book://{id}/pages/{page}"] {
        let (running, mut client) =
            setup().server("lib", library()).policy(hiding("scan", move |name| name == hidden)).client().await;
        client.tools().await;
        let uri = if hidden == "book://1" { hidden } else { "book://7/pages/9" };
        let refused = client.request("resources/read", &read(uri)).await;
        assert_eq!(refused.pointer("/error/code").unwrap().to_json(), "-32002", "{hidden}");
        let refused = client
            .request("tools/call", &format!(r#"{{"name":"mcp__lib__read_resource","arguments":{}}}"#, read(uri)))
            .await;
        assert_eq!(refused.pointer("/error/code").unwrap().to_json(), "-32602", "{hidden}");
        assert!(running.server("lib").calls().is_empty());
    }
}

#[tokio::test]
async fn with_several_servers_an_unlisted_resource_is_nobodys() {
    let (_running, mut client) = setup().server("lib", library()).server("lib2", library()).client().await;
    client.tools().await;
    let missing = client.request("resources/read", r#"{"uri":"shelf://linked"}"#).await;
    assert_eq!(missing.pointer("/error/code").unwrap().to_json(), "-32002");
}

#[tokio::test]
async fn utility_tools_reach_resources_and_prompts_through_the_same_gates() {
    let read = r#"{"contents":[{"uri":"book://1","mimeType":"text/plain","text":"Once","x":1.0}]}"#;
    let server = library().answering(move |call| {
        Ok(Ok(json(match call.kind {
            portcullis_model::CallKind::Resource => read,
            portcullis_model::CallKind::Tool
            | portcullis_model::CallKind::Prompt
            | portcullis_model::CallKind::Completion => {
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"description":"d"}"#
            }
        })))
    });
    let (running, mut client) = setup().server("lib", server).client().await;
    let tools = client.tools().await;
    let expected =
        ["list_resources", "read_resource", "list_prompts", "get_prompt"].map(|name| format!("mcp__lib__{name}"));
    assert_eq!(tools, expected);
    let listed = client.call("mcp__lib__list_resources", "{}").await;
    let text = listed.pointer("/content/0/text").and_then(Value::as_str).unwrap();
    assert!(text.contains(r#""uri":"book://1""#) && text.contains("12.0"), "{text}");
    let result = client.call("mcp__lib__read_resource", r#"{"uri":"book://1"}"#).await;
    let resource = r#"{"uri":"book://1","mimeType":"text/plain","text":"Once","x":1.0}"#;
    assert_eq!(result.to_json(), format!(r#"{{"content":[{{"type":"resource","resource":{resource}}}]}}"#));
    let prompt = client.call("mcp__lib__get_prompt", r#"{"name":"summarise","arguments":{"title":"x"}}"#).await;
    assert!(prompt.to_json().contains("Hi"));
    assert_eq!(running.server("lib").calls().len(), 2, "lists are answered from what passed the listing gate");

    running.publish(vec![judging("guard", portcullis_model::GateName::Call, |subject| {
        let portcullis_model::Subject::Call(call) = subject else { panic!("the call gate") };
        assert!(call.utility);
        portcullis_gates::testing::deny("not-here")
    })]);
    for (tool, arguments) in [("list_resources", "{}"), ("read_resource", r#"{"uri":"book://1"}"#)] {
        let refused = client.call(&format!("mcp__lib__{tool}"), arguments).await;
        assert!(refused.to_json().contains("not-here"), "{}", refused.to_json());
    }
}

#[tokio::test]
async fn utility_tools_exist_only_where_the_server_advertises_and_the_config_allows() {
    let entry = "{command: scripted, tools: {prompts: false}}";
    let (_running, mut client) = setup()
        .server_with("lib", entry, library())
        .server("plain", Scripted::with_tools(&[&tool("t")]))
        .client()
        .await;
    assert_eq!(client.tools().await, ["mcp__plain__t", "mcp__lib__list_resources", "mcp__lib__read_resource"]);
}

#[tokio::test]
async fn cleared_instructions_and_servers_that_are_down_are_told_to_a_client_that_comes_later() {
    let broken = Scripted::with_tools(&[]);
    *broken.refusal.lock().unwrap() =
        Some(crate::gateway::LaunchError { code: "not-startable", detail: "no such file".to_owned(), retry: true });
    let (running, mut client) = setup().server("lib", library()).server("broken", broken).client().await;
    client.tools().await;
    let mut second = running.connect();
    let result = second.introduce("{}").await;
    let text = result.get("instructions").and_then(Value::as_str).unwrap();
    assert!(text.contains("Instructions of the server `lib`:\nAsk before you lend."), "{text}");
    assert!(text.contains("`broken` (cooling-down: not-startable)") && !text.contains("no such file"), "{text}");
    client.expect("notifications/message").await;
}
