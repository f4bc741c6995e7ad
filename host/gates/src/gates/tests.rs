//! The gates seen from outside, with stand-ins for policies.

use std::sync::Arc;

use portcullis_model::json::{Value, parse_str};
use portcullis_model::{Annotations, Answer, CallKind, GateName, PinState, ResultKind, ServerName, Subject, Verdict};

mod approvals;
mod chain;
mod environment;
mod inbox;
mod journal;
mod listing;
mod results;
mod shadow;

use super::*;
use crate::testing::{AllowAll, Judge, Kept, answer, deny, policy, session};
use crate::{ActivePolicy, Evaluate, NoApprover, RefusalCode};

fn server() -> ServerName {
    ServerName::parse("server").unwrap()
}

fn json(text: &str) -> Value {
    parse_str(text).unwrap()
}

fn call(arguments: &str) -> Call {
    Call {
        server: server(),
        kind: CallKind::Tool,
        name: "write".to_owned(),
        utility: false,
        annotations: Annotations::default(),
        pin: PinState::Unpinned,
        definition: None,
        params: json(&format!(r#"{{"name":"write","arguments":{arguments}}}"#)),
    }
}

fn message(document: &str) -> ServerMessage {
    ServerMessage { server: server(), kind: ResultKind::Result, name: "write".to_owned(), document: json(document) }
}

fn gates(policies: Vec<ActivePolicy>) -> (Gates, Arc<Kept>) {
    let journal = Arc::new(Kept::default());
    let set = PolicySet::new(policies.into_iter().map(Arc::new).collect());
    (Gates::new(set, Arc::clone(&journal) as Arc<dyn Journal>), journal)
}

fn context(gates: &Gates) -> Context {
    gates.context(session("one"), Arc::new(NoApprover), None)
}

/// Answers with one verdict in whatever form the gate wants.
fn says(verdict: Verdict) -> impl Evaluate {
    Judge(move |_: &_, subject: &Subject| Ok(answer(subject, &verdict)))
}

fn is_send<T: Send>(future: T) -> T {
    future
}

#[tokio::test]
async fn an_empty_chain_clears_calls_and_results_with_a_record_each() {
    let (gates, journal) = gates(vec![]);
    let context = context(&gates);
    let cleared = is_send(gates.call(&context, call("{}"))).await.unwrap();
    assert_eq!(cleared.receipt().rounds, 0);
    is_send(gates.result(&context, message(r#"{"content":[]}"#))).await.unwrap();
    assert_eq!(journal.records().len(), 2);
}

#[tokio::test]
async fn the_denial_of_one_policy_refuses_the_call_whatever_others_say() {
    for order in [["a", "b"], ["b", "a"]] {
        let build = |name: &str| match name {
            "a" => policy("a", &[GateName::Call], AllowAll),
            _ => policy("b", &[GateName::Call], says(deny("no-writes"))),
        };
        let (gates, journal) = gates(order.map(build).into());
        let refusal = gates.call(&context(&gates), call("{}")).await.unwrap_err();
        assert_eq!(refusal.code, RefusalCode::Denied("no-writes".to_owned()));
        assert_eq!(refusal.policy.unwrap().as_str(), "b");
        assert_eq!(journal.records().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_for_another_gate_is_a_fault() {
    let (gates, _) =
        gates(vec![policy("a", &[GateName::Call], Judge(|_: &_, _: &Subject| Ok(Answer::Verdicts(vec![]))))]);
    let refusal = gates.call(&context(&gates), call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::PolicyFault("malformed".to_owned()));
}
