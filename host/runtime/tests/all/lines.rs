//! Policies of different lines of the contract, side by side.

use std::sync::Arc;

use portcullis_gates::{
    ActivePolicy, Call, Context, Gates, Isolation, Mode, NoApprover, NoJournal, OnFault, PolicySet, PolicySource,
    RefusalCode,
};
use portcullis_model::json::parse_str;
use portcullis_model::{Annotations, CallKind, ClientFacts, Era, PinState, Principal, ServerName, SessionId};
use portcullis_runtime::{Budget, Inspection, Loaded, Loader, StartKind, supported};

use crate::guest::{component, loader, of_draft, settings};

fn active(loader: &Loader, wasm: &[u8]) -> (Loaded, Arc<ActivePolicy>) {
    let loaded = loader.load(wasm, &settings(), &[], &Budget::DEFAULT).unwrap();
    let policy = ActivePolicy {
        description: Arc::clone(&loaded.description),
        digest: loaded.digest,
        source: PolicySource::Bundle,
        gates: loaded.gates().to_vec(),
        rights: loaded.description.wants,
        mode: Mode::Enforce,
        on_fault: OnFault::Deny,
        evaluator: Arc::new(loaded.evaluator(Budget::DEFAULT, Isolation::Fresh)),
    };
    (loaded, Arc::new(policy))
}

fn context(gates: &Gates) -> Context {
    let (id, principal) = (SessionId::parse("session").unwrap(), Principal::parse("someone").unwrap());
    let session = gates.sessions().open(&id, &principal, &ClientFacts::default(), Era::Initialize).unwrap();
    gates.context(session, Arc::new(NoApprover), None)
}

fn call(name: &str, argument: &str) -> Call {
    Call {
        server: ServerName::parse("server").unwrap(),
        kind: CallKind::Tool,
        name: name.to_owned(),
        utility: false,
        annotations: Annotations::default(),
        pin: PinState::Unpinned,
        definition: None,
        params: parse_str(&format!(r#"{{"name":"{name}","arguments":{{"text":"{argument}"}}}}"#)).unwrap(),
    }
}

#[tokio::test]
async fn a_policy_of_the_draft_judges_beside_one_of_the_first_line() {
    let loader = loader();
    let (first, old) = active(&loader, &component("denies-named"));
    let (draft, new) = active(&loader, &of_draft("denies-names"));
    assert_eq!(draft.description.name.as_str(), "draft-guest");
    // It lives like the other: frozen, described, at its gate.
    assert_eq!((&draft.start, draft.gates()), (&StartKind::Snapshot, first.gates()));
    let gates = Gates::new(PolicySet::new(vec![old, new]), Arc::new(NoJournal));
    let context = context(&gates);
    let refused =
        async |name, argument| gates.call(&context, call(name, argument)).await.err().map(|refusal| refusal.code);
    assert_eq!(refused("echo", "hello").await, None);
    assert_eq!(refused("echo", "frobnicate").await, Some(RefusalCode::Denied("hostile-rule".to_owned())));
    assert_eq!(refused("find", "hello").await, Some(RefusalCode::Denied("draft-rule".to_owned())));
    let asked = refused("add", "hello").await;
    assert!(asked.as_ref().is_some_and(|code| !matches!(code, RefusalCode::Denied(_))), "{asked:?}");
}

#[test]
fn the_lines_that_a_host_has_are_told_and_others_are_refused() {
    assert!(supported().contains("portcullis:policy@0.1 ") && supported().contains("portcullis:policy@0.2 "));
    assert!(Inspection::of(&of_draft("denies-names")).is_ok());
    let newer = wat::parse_str(r#"(component (import "portcullis:policy/types@0.2.1" (instance)))"#).unwrap();
    assert!(Inspection::of(&newer).unwrap_err().to_string().contains("newer than this host"));
    // What a line lacks is not borrowed from another.
    let log = wat::parse_str(r#"(component (import "portcullis:policy/log@0.2.0" (instance)))"#).unwrap();
    assert!(Inspection::of(&log).is_err());
}
