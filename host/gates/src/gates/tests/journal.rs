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

/// Keeps the level and the fields of each decision.
#[derive(Clone, Default)]
struct Lines(Arc<std::sync::Mutex<Vec<String>>>);

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        use std::fmt::Write as _;
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "portcullis::decision"
    }

    fn new_span(&self, _span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _span: &tracing::span::Id) {}

    fn exit(&self, _span: &tracing::span::Id) {}
}

#[tokio::test]
async fn each_decision_is_one_line_without_payload() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let (gates, _) = gates(vec![policy("p", &[GateName::Call], says(deny("no")))]);
    let context = context(&gates);
    // Another test may register the same call sites at this moment, when no subscriber counts for all threads; tracing then takes
    // them for unwanted until interest is asked for again.
    for _ in 0..100 {
        tracing::callsite::rebuild_interest_cache();
        lines.0.lock().unwrap().clear();
        let hostile = Call { name: "t\u{1b}[2J".to_owned(), ..call(r#"{"path":"confidential"}"#) };
        gates.call(&context, hostile).await.unwrap_err();
        gates.result(&context, message(r#"{"content":[{"type":"text","text":"confidential"}]}"#)).await.unwrap();
        if lines.0.lock().unwrap().len() == 2 {
            break;
        }
    }
    let lines = lines.0.lock().unwrap();
    let [refused, cleared] = &lines[..] else { panic!("{lines:?}") };
    let expected = r#"WARN gate="call" policy="p" decision="refused" code="no" server="server" tool="t\\u{1b}[2J" session="one" elapsed_us="#;
    assert!(refused.starts_with(expected), "{refused}");
    assert!(cleared.starts_with(r#"INFO gate="result" policy="" decision="cleared" code="" "#), "{cleared}");
    assert!(!lines.concat().contains("confidential"));
}
