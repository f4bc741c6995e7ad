//! Servers that start at their first call, listed from what they offered when they last ran.

use std::path::Path;
use std::time::Duration;

use portcullis_gates::testing;
use portcullis_model::GateName;

use super::support::*;
use crate::status::Phase;

fn lazy(folder: &Path, tools: &[&str]) -> Setup {
    let folder = folder.to_owned();
    setup()
        .server_with("s", "{command: scripted, lazy: true}", Scripted::with_tools(tools))
        .options(|options| options.schema_folder = Some(folder))
}

/// Runs the server once, so that its lists are known.
async fn known(tools: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (running, mut client) = lazy(folder.path(), tools).client().await;
    client.tools().await;
    assert_eq!(running.server("s").launches(), 1, "nothing was known of it");
    for _ in 0..500 {
        let mut files = std::fs::read_dir(folder.path()).unwrap();
        if files.any(|file| file.unwrap().path().extension().is_some_and(|extension| extension == "json")) {
            running.gateway.shutdown().await;
            return folder;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the lists were never kept");
}

#[tokio::test]
async fn a_known_server_is_listed_without_a_process_and_starts_at_its_first_call() {
    let folder = known(&[&tool("t")]).await;
    let (running, mut client) = lazy(folder.path(), &[&tool("t")]).client().await;
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    assert_eq!(running.phase("s"), (Phase::Configured, Some("lazy".to_owned())));
    assert_eq!(running.server("s").launches(), 0);
    client.call("mcp__s__t", "{}").await;
    assert_eq!((running.server("s").launches(), running.server("s").calls().len()), (1, 1));
    assert_eq!(running.phase("s").0, Phase::Ready);
    assert!(!client.hears("notifications/tools/list_changed").await, "it offers what was listed");
}

#[tokio::test]
async fn a_list_that_lost_a_tool_is_corrected_once_the_server_runs() {
    let folder = known(&[&tool("t"), &tool("gone")]).await;
    let (running, mut client) = lazy(folder.path(), &[&tool("t")]).client().await;
    assert_eq!(client.tools().await, ["mcp__s__t", "mcp__s__gone"]);
    let text = client.call("mcp__s__gone", "{}").await.to_json();
    assert!(text.contains("does not offer this as it did before"), "{text}");
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    assert!(running.server("s").calls().is_empty());
}

#[tokio::test]
async fn what_is_known_of_a_server_is_judged_like_what_it_says() {
    let folder = known(&[&tool("t"), &tool("bad")]).await;
    let setup = lazy(folder.path(), &[&tool("t"), &tool("bad")]).policy(hiding("scan", |name| name == "bad"));
    let (running, mut client) = setup.client().await;
    assert_eq!(client.tools().await, ["mcp__s__t"]);
    let refuse = judging("screen", GateName::Config, |_| testing::deny("ioc"));
    running.publish(vec![refuse]);
    client.expect("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await, ["portcullis_status"]);
    assert_eq!(running.phase("s"), (Phase::Denied, Some("ioc".to_owned())));
    assert_eq!(running.server("s").launches(), 0);
}

#[tokio::test]
async fn a_known_server_whose_entry_is_refused_is_not_listed() {
    let folder = known(&[&tool("t")]).await;
    let refuse = judging("screen", GateName::Config, |_| testing::deny("ioc"));
    let (running, mut client) = lazy(folder.path(), &[&tool("t")]).policy(refuse).client().await;
    assert_eq!(client.tools().await, ["portcullis_status"]);
    assert_eq!(running.phase("s"), (Phase::Denied, Some("ioc".to_owned())));
    assert_eq!(running.server("s").launches(), 0);
}
