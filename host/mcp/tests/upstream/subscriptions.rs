//! What servers of the stateless era tell by themselves.

use std::time::Duration;

use libtest_mimic::Trial;
use portcullis_config::Protocol;
use portcullis_mcp::jsonrpc::code;
use portcullis_mcp::upstream::{CallError, ConnectOptions, Outcome};
use portcullis_model::{Launch, ServerEntry, object};

use crate::http_server::HttpServer;
use crate::support::{Connected, Recorder, connect_with, entry, options, stdio_entry, trial, until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("changes_that_a_server_offers_to_tell_are_asked_for", changes_that_a_server_offers_are_asked_for),
        trial("resources_join_the_one_subscription", resources_join_the_one_subscription),
        trial("tasks_are_listened_for_by_who_declares_them", tasks_are_listened_for_by_who_declares_them),
        trial("a_subscription_that_ends_is_made_again", a_subscription_that_ends_is_made_again),
        trial("a_server_without_subscriptions_is_asked_once", a_server_without_subscriptions_is_asked_once),
        trial("a_subscription_does_not_hide_whose_error_it_is", a_subscription_does_not_hide_whose_error_it_is),
        trial("a_subscription_over_http_is_a_stream_of_its_own", a_subscription_over_http_is_a_stream_of_its_own),
    ]
}

async fn connect(mode: &str) -> Connected {
    let options = ConnectOptions { protocol: Protocol::Auto, ..options() };
    connect_with(entry(mode), options, Recorder::default()).await.unwrap_or_else(|error| panic!("{error:?}"))
}

/// Returns the notes of the server that begin so, once there are so many.
async fn notes(server: &Connected, start: &str, count: usize) -> Vec<String> {
    let notes = || -> Vec<String> {
        let lines = server.peer.stderr.lock().unwrap();
        lines.iter().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect()
    };
    until(start, || notes().len() >= count).await;
    notes()
}

async fn ask(server: &Connected, method: &str, uri: &str) -> Outcome {
    server.upstream.request(method, Some(&object! { "uri" => uri }.into())).await.unwrap()
}

async fn changes_that_a_server_offers_are_asked_for() {
    let server = connect("tells").await;
    assert_eq!(notes(&server, "wanted ", 1).await, [r#"{"toolsListChanged":true}"#]);
    until("the notification", || !server.peer.notifications.lock().unwrap().is_empty()).await;
    // Neither the acknowledgement nor the name of the subscription reaches anybody.
    let expected = [("notifications/resources/updated".to_owned(), r#"{"uri":"a"}"#.to_owned())];
    assert_eq!(*server.peer.notifications.lock().unwrap(), expected);
    server.assert_alive().await;
}

async fn resources_join_the_one_subscription() {
    let server = connect("tells").await;
    notes(&server, "wanted ", 1).await;
    for uri in ["b", "a", "a"] {
        assert_eq!(ask(&server, "resources/subscribe", uri).await.unwrap().to_json(), "{}");
    }
    let both = r#"{"toolsListChanged":true,"resourceSubscriptions":["a","b"]}"#;
    let lines = |start: &str| {
        let lines = server.peer.stderr.lock().unwrap();
        lines.iter().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect::<Vec<_>>()
    };
    until("both", || lines("wanted ").iter().any(|wanted| wanted == both)).await;
    assert_eq!(ask(&server, "resources/unsubscribe", "b").await.unwrap().to_json(), "{}");
    let one = r#"{"toolsListChanged":true,"resourceSubscriptions":["a"]}"#;
    until("one", || lines("wanted ").iter().any(|wanted| wanted == one)).await;
    // Each but the last is withdrawn.
    until("the others' end", || lines("cancelled ").len() == lines("wanted ").len() - 1).await;
    let refused = ask(&connect("stateless").await, "resources/subscribe", "a").await;
    assert_eq!(refused.unwrap_err().code(), code::METHOD_NOT_FOUND);
}

async fn tasks_are_listened_for_by_who_declares_them() {
    let server = connect("tells-tasks").await;
    server.upstream.listen_for_task("one", true);
    assert_eq!(notes(&server, "wanted ", 1).await, [r#"{"taskIds":["one"]}"#]);
    assert_eq!(notes(&server, "declares ", 1).await, [r#"{"io.modelcontextprotocol/tasks":{}}"#]);
    server.upstream.listen_for_task("two", true);
    assert_eq!(notes(&server, "wanted ", 2).await[1], r#"{"taskIds":["one","two"]}"#);
    server.upstream.listen_for_task("one", false);
    assert_eq!(notes(&server, "wanted ", 3).await[2], r#"{"taskIds":["two"]}"#);
    server.assert_alive().await;
}

async fn a_subscription_that_ends_is_made_again() {
    let server = connect("tells-briefly").await;
    assert_eq!(notes(&server, "wanted ", 2).await.len(), 2);
    // What changed in between was not told, so it is to be looked at.
    until("the lists", || {
        let notifications = server.peer.notifications.lock().unwrap();
        notifications.iter().any(|(method, _)| method == "notifications/tools/list_changed")
    })
    .await;
    server.assert_alive().await;
}

async fn a_server_without_subscriptions_is_asked_once() {
    let server = connect("tells-nothing").await;
    notes(&server, "got subscriptions/listen", 1).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(notes(&server, "got subscriptions/listen", 1).await.len(), 1);
    server.assert_alive().await;
}

async fn a_subscription_does_not_hide_whose_error_it_is() {
    let server = connect("tells").await;
    notes(&server, "wanted ", 1).await;
    assert_eq!(server.call("null-id").await, Err(CallError::Unattributed));
}

async fn a_subscription_over_http_is_a_stream_of_its_own() {
    let http = HttpServer::start().await;
    let launch = Launch::Http { url: http.url("/stateless-tells"), headers: Vec::new(), legacy_sse: false };
    let entry = ServerEntry { launch, ..stdio_entry("", &[]) };
    let options = ConnectOptions { protocol: Protocol::Auto, ..options() };
    let server = connect_with(entry, options, Recorder::default()).await.unwrap_or_else(|error| panic!("{error:?}"));
    until("the notification", || !server.peer.notifications.lock().unwrap().is_empty()).await;
    assert_eq!(server.peer.notifications.lock().unwrap()[0].0, "notifications/tools/list_changed");
    assert_eq!(server.result("json").await, r#"{"resultType":"complete","n":1.0}"#);
    server.upstream.shutdown().await;
    until("the end of the stream", || !http.seen("CLOSED").is_empty()).await;
}
