//! What is written, and what happens where it cannot be.

use super::*;
use crate::testing::FullDisk;
use crate::{NoJournal, RecordedDecision};

#[tokio::test]
async fn nothing_is_cleared_without_its_record() {
    let gates = Gates::new(PolicySet::new(vec![]), Arc::new(FullDisk));
    let context = context(&gates);
    assert_eq!(gates.call(&context, call("{}")).await.unwrap_err().code, RefusalCode::JournalFailed);
    let items = vec![Listed {
        item: ListedItem {
            server: server(),
            kind: ItemKind::Tool,
            name: "t".to_owned(),
            document: json(r#"{"name":"t"}"#),
        },
        pinned: None,
    }];
    let scanned = gates.listing(&context, items, Arc::new(vec![])).await;
    assert_eq!(scanned[0].as_ref().unwrap_err().refusal.code, RefusalCode::JournalFailed);
}

#[tokio::test]
async fn a_refusal_stays_what_it_was_where_its_record_is_lost() {
    let set = PolicySet::new(vec![Arc::new(policy("p", &[GateName::Call], says(deny("no"))))]);
    let gates = Gates::new(set, Arc::new(FullDisk));
    let refusal = gates.call(&context(&gates), call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Denied("no".to_owned()));
}

#[tokio::test]
async fn a_record_names_what_passed_and_holds_digests_instead_of_payload() {
    let (gates, journal) = gates(vec![policy("p", &[GateName::Call], says(deny("no")))]);
    let sent = call(r#"{"path":"confidential"}"#);
    let digest = sent.params.digest();
    gates.call(&context(&gates), sent).await.unwrap_err();
    let record = journal.records().remove(0);
    assert_eq!((record.gate, record.server.as_str(), record.name.as_str()), (GateName::Call, "server", "write"));
    assert_eq!((record.session.as_str(), record.subject), ("one", digest));
    assert_eq!(record.decision, RecordedDecision::Refused("no".to_owned()));
    assert_eq!(record.decided_by.as_ref().unwrap().as_str(), "p");
    assert!(!format!("{record:?}").contains("confidential"));
}

#[test]
fn the_digest_of_a_server_entry_depends_on_the_key() {
    let gates = |key| Gates::new(PolicySet::default(), Arc::new(NoJournal)).with_digest_key(key);
    let entry = json(r#"{"env":{"TOKEN":"x"}}"#);
    assert_ne!(gates([1; 32]).keyed_digest(&entry), gates([2; 32]).keyed_digest(&entry));
    assert_eq!(gates([1; 32]).keyed_digest(&entry), gates([1; 32]).keyed_digest(&entry));
}
