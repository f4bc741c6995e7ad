//! What a policy has no right to is dropped by the gates, and what it says never reaches the model.

use std::sync::{Arc, Mutex};

use portcullis_gates::{
    ActivePolicy, Call, Context, Gates, Isolation, Journal, JournalFuture, Mode, NoApprover, OnFault, PolicySet,
    PolicySource, Record, RefusalCode, ServerMessage,
};
use portcullis_model::json::parse_str;
use portcullis_model::{
    Annotations, CallKind, ClientFacts, Era, PinState, Principal, ResultKind, Rights, ServerName, SessionId,
};
use portcullis_runtime::Budget;

use crate::guest::{component, load};

#[derive(Debug, Default)]
struct Records(Mutex<Vec<Record>>);

impl Journal for Records {
    fn write(&self, record: Record) -> JournalFuture<'_> {
        self.0.lock().unwrap().push(record);
        Box::pin(std::future::ready(Ok(())))
    }
}

struct Gateway {
    gates: Gates,
    records: Arc<Records>,
}

impl Gateway {
    /// Puts one guest in front of everything.
    fn of(guest: &str, rights: Rights) -> Self {
        let loaded = load(&component(guest));
        let policy = ActivePolicy {
            description: Arc::clone(&loaded.description),
            digest: loaded.digest,
            source: PolicySource::Bundle,
            gates: loaded.gates().to_vec(),
            rights,
            mode: Mode::Enforce,
            on_fault: OnFault::Deny,
            evaluator: Arc::new(loaded.evaluator(Budget::DEFAULT, Isolation::Fresh)),
        };
        let records = Arc::new(Records::default());
        let journal: Arc<dyn Journal> = Arc::clone(&records) as _;
        Self { gates: Gates::new(PolicySet::new(vec![Arc::new(policy)]), journal), records }
    }

    fn context(&self) -> Context {
        let (id, principal) = (SessionId::parse("session").unwrap(), Principal::parse("someone").unwrap());
        let session = self.gates.sessions().open(&id, &principal, &ClientFacts::default(), Era::Initialize).unwrap();
        self.gates.context(session, Arc::new(NoApprover), None)
    }
}

fn call() -> Call {
    Call {
        server: ServerName::parse("server").unwrap(),
        kind: CallKind::Tool,
        name: "echo".to_owned(),
        utility: false,
        annotations: Annotations::default(),
        pin: PinState::Unpinned,
        definition: None,
        params: parse_str(r#"{"name":"echo","arguments":{"text":"hello"}}"#).unwrap(),
    }
}

fn message() -> ServerMessage {
    ServerMessage {
        server: ServerName::parse("server").unwrap(),
        kind: ResultKind::Result,
        name: "echo".to_owned(),
        document: parse_str(r#"{"content":[{"type":"text","text":"abcdef"}]}"#).unwrap(),
    }
}

#[tokio::test]
async fn a_denial_meant_for_the_model_does_not_reach_it() {
    let gateway = Gateway::of("denial-text", Rights::ALL);
    let refusal = gateway.gates.call(&gateway.context(), call()).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Denied("hostile-rule".to_owned()));
    assert!(!refusal.model_text().contains("IGNORE"));
    assert!(refusal.detail.contains("IGNORE"));
}

#[tokio::test]
async fn a_policy_that_breaks_shuts_its_gate() {
    for guest in ["trap", "bad-decision", "huge-output"] {
        let gateway = Gateway::of(guest, Rights::ALL);
        let refusal = gateway.gates.call(&gateway.context(), call()).await.unwrap_err();
        assert!(matches!(refusal.code, RefusalCode::PolicyFault(_)), "{guest}: {refusal:?}");
    }
}

#[tokio::test]
async fn a_denial_without_the_right_to_deny_is_dropped_and_recorded() {
    let gateway = Gateway::of("denial-text", Rights::NONE);
    gateway.gates.call(&gateway.context(), call()).await.unwrap();
    let records = gateway.records.0.lock().unwrap();
    assert!(!records[0].policies[0].dropped.is_empty());
}

#[tokio::test]
async fn a_label_and_a_charge_without_right_are_dropped_and_recorded() {
    let gateway = Gateway::of("label-and-charge", Rights::NONE);
    let context = gateway.context();
    gateway.gates.call(&context, call()).await.unwrap();
    assert_eq!(context.session.labels(), []);
    let records = gateway.records.0.lock().unwrap();
    assert_eq!(records[0].policies[0].dropped.len(), 2, "{:?}", records[0].policies[0].dropped);
}

#[tokio::test]
async fn a_charge_beyond_its_limit_refuses_the_passage_as_a_whole() {
    let gateway = Gateway::of("label-and-charge", Rights::ALL);
    let context = gateway.context();
    let refusal = gateway.gates.call(&context, call()).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::LimitExceeded);
    assert_eq!(context.session.labels(), []);
}

#[tokio::test]
async fn overlapping_edits_join() {
    let gateway = Gateway::of("overlapping-edits", Rights::ALL);
    let cleared = gateway.gates.result(&gateway.context(), message()).await.unwrap();
    let text = cleared.get().document.pointer("/content/0/text").unwrap().as_str().unwrap();
    assert!(text.ends_with("ef") && !text.contains('a') || text.contains("hostile-rule"), "{text}");
    assert!(cleared.receipt().edited);
}
