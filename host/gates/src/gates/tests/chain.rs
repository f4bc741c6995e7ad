//! Joining, rights, modes, faults, malformed verdicts, charges, labels.

use std::sync::Mutex;

use portcullis_model::{
    ApproverClass, Charge, Decision, Edit, Finding, Label, LabelFact, PolicyName, Question, Replacement, Rights,
    Severity, Span,
};

use super::*;
use crate::testing::{Broken, Fixed, ask, rule_id};
use crate::{Fault, Mode, OnFault, PolicyOutcome};

fn on_call(name: &str, verdict: Verdict) -> ActivePolicy {
    policy(name, &[GateName::Call], says(verdict))
}

async fn code(policies: Vec<ActivePolicy>) -> RefusalCode {
    let (gates, _) = gates(policies);
    gates.call(&context(&gates), call(r#"{"path":"é"}"#)).await.unwrap_err().code
}

fn malformed() -> RefusalCode {
    RefusalCode::PolicyFault("malformed".to_owned())
}

fn span(segment: u32, start: u32, end: u32) -> Span {
    Span { segment, start, end }
}

fn finding(rule: &str, evidence: Vec<Span>) -> Finding {
    Finding { rule: rule_id(rule), severity: Severity::Low, message: "seen\u{202e}".to_owned(), evidence }
}

fn blank(span: Span) -> Edit {
    Edit::Blank { rule: rule_id("rule"), span, replacement: Replacement::Marker }
}

fn charge(amount: u64, limit: u64) -> Charge {
    Charge { meter: "meter".to_owned(), key: "k".to_owned(), amount, limit }
}

#[tokio::test]
async fn a_denial_outranks_an_ask_and_a_fault() {
    let refused = code(vec![
        policy("broken", &[GateName::Call], Broken(Fault::QueueFull)),
        on_call("asks", ask("sure", ApproverClass::Client)),
        on_call("denies", deny("no")),
    ])
    .await;
    assert_eq!(refused, RefusalCode::Denied("no".to_owned()));
}

#[tokio::test]
async fn a_fault_refuses_unless_the_config_says_otherwise_and_is_recorded_either_way() {
    let broken = || policy("broken", &[GateName::Call], Broken(Fault::Trap("unreachable".to_owned())));
    assert_eq!(code(vec![broken()]).await, RefusalCode::PolicyFault("trap".to_owned()));
    let tolerated = ActivePolicy { on_fault: OnFault::Allow, ..broken() };
    let (gates, journal) = gates(vec![tolerated]);
    gates.call(&context(&gates), call("{}")).await.unwrap();
    let outcome = journal.records()[0].policies[0].outcome.clone();
    assert_eq!(outcome, PolicyOutcome::Fault(Fault::Trap("unreachable".to_owned())));
}

#[tokio::test]
async fn a_missing_required_policy_keeps_its_gate_shut_and_no_other() {
    let name = PolicyName::parse("trust").unwrap();
    let set = PolicySet::new(vec![]).with_missing(name.clone(), vec![GateName::Call]);
    let gates = Gates::new(set, Arc::new(Kept::default()));
    let context = context(&gates);
    let refusal = gates.call(&context, call("{}")).await.unwrap_err();
    assert_eq!((refusal.code, refusal.policy), (RefusalCode::PolicyMissing, Some(name)));
    assert!(gates.result(&context, message("{}")).await.is_ok());
}

#[tokio::test]
async fn a_policy_that_is_off_is_not_evaluated() {
    let off = ActivePolicy { mode: Mode::Off, ..on_call("off", deny("no")) };
    let (gates, journal) = gates(vec![off]);
    gates.call(&context(&gates), call("{}")).await.unwrap();
    assert!(journal.records()[0].policies.is_empty());
}

#[tokio::test]
async fn what_exceeds_the_rights_is_dropped_and_recorded() {
    let everything = Verdict {
        labels: vec![Label { name: "read:untrusted".to_owned(), segment: Some(0) }],
        charges: vec![charge(9, 1)],
        edits: vec![blank(span(1, 0, 2)), Edit::Fence { rule: rule_id("rule"), segment: 1 }],
        ..deny("no")
    };
    for verdict in [everything, ask("sure", ApproverClass::Client)] {
        let powerless = ActivePolicy { rights: Rights::NONE, ..on_call("powerless", verdict.clone()) };
        let (gates, journal) = gates(vec![powerless]);
        let context = context(&gates);
        gates.call(&context, call(r#"{"path":"é"}"#)).await.unwrap();
        assert!(context.session.labels().is_empty());
        let record = journal.records()[0].policies[0].clone();
        assert_eq!(record.outcome, PolicyOutcome::Allow);
        let expected: &[&str] = match verdict.decision {
            Decision::Deny(_) => &[
                "deny: no",
                "edit-span: 1 not allowed here",
                "fence: 1 not allowed here",
                "label: read:untrusted",
                "charge: meter",
            ],
            Decision::Allow | Decision::Ask(_) => &["ask: sure"],
        };
        assert_eq!(record.dropped, expected);
    }
}

#[tokio::test]
async fn edits_at_the_call_gate_are_dropped_even_with_the_right() {
    let verdict = Verdict { edits: vec![blank(span(1, 0, 2))], ..Verdict::allow() };
    let (gates, journal) = gates(vec![on_call("editor", verdict)]);
    let cleared = gates.call(&context(&gates), call(r#"{"path":"é"}"#)).await.unwrap();
    assert_eq!(cleared.get().params, call(r#"{"path":"é"}"#).params);
    assert_eq!(journal.records()[0].policies[0].dropped, ["edit-span: 1 not allowed here"]);
}

#[tokio::test]
async fn verdicts_that_break_the_contract_are_faults() {
    // Segment 0 is the key `path`, segment 1 its value of two bytes.
    let edit = |edit: Edit| Verdict { edits: vec![edit], ..Verdict::allow() };
    let found = |finding: Finding| Verdict { findings: vec![finding], ..Verdict::allow() };
    let question = Question {
        code: rule_id("q"),
        text: String::new(),
        severity: Severity::Low,
        lowest_approver: ApproverClass::Client,
    };
    let cases = [
        ("a span beyond the segments", edit(blank(span(9, 0, 0)))),
        ("a span beyond the text", edit(blank(span(1, 0, 3)))),
        ("a span that cuts a character", edit(blank(span(1, 0, 1)))),
        ("a span that ends before it starts", edit(blank(span(1, 2, 0)))),
        ("a span in a key", edit(blank(span(0, 0, 1)))),
        ("an undeclared rule of an edit", edit(Edit::Fence { rule: rule_id("made-up"), segment: 1 })),
        ("a fence around a key", edit(Edit::Fence { rule: rule_id("rule"), segment: 0 })),
        ("a fence around nothing", edit(Edit::Fence { rule: rule_id("rule"), segment: 9 })),
        ("an undeclared rule of a finding", found(finding("made-up", vec![]))),
        ("evidence that cuts a character", found(finding("rule", vec![span(1, 1, 2)]))),
        ("an ask without a question", Verdict { decision: Decision::Ask(vec![]), ..Verdict::allow() }),
        ("a flood of questions", Verdict { decision: Decision::Ask(vec![question; 17]), ..Verdict::allow() }),
        (
            "an undeclared label",
            Verdict { labels: vec![Label { name: "made-up".to_owned(), segment: Some(0) }], ..Verdict::allow() },
        ),
        (
            "a label of no segment",
            Verdict { labels: vec![Label { name: "read:untrusted".to_owned(), segment: Some(9) }], ..Verdict::allow() },
        ),
        (
            "an undeclared meter",
            Verdict { charges: vec![Charge { meter: "made-up".to_owned(), ..charge(1, 1) }], ..Verdict::allow() },
        ),
        (
            "a key of a meter that is too long",
            Verdict { charges: vec![Charge { key: "k".repeat(257), ..charge(1, 1) }], ..Verdict::allow() },
        ),
    ];
    for (case, verdict) in cases {
        assert_eq!(code(vec![on_call("p", verdict.clone())]).await, malformed(), "{case}");
        let powerless = ActivePolicy { rights: Rights::NONE, ..on_call("p", verdict) };
        assert_eq!(code(vec![powerless]).await, malformed(), "{case}, without rights");
    }
    let selection = portcullis_model::Selection { removed: vec![], findings: vec![], extensions: Object::new() };
    let other = policy("p", &[GateName::Call], Fixed(Answer::Selection(selection)));
    assert_eq!(code(vec![other]).await, malformed());
}

#[tokio::test]
async fn evidence_may_lie_in_a_key_and_messages_are_escaped() {
    let verdict = Verdict { findings: vec![finding("rule", vec![span(0, 0, 4)])], ..Verdict::allow() };
    let (gates, journal) = gates(vec![on_call("p", verdict)]);
    gates.call(&context(&gates), call(r#"{"path":"é"}"#)).await.unwrap();
    assert_eq!(journal.records()[0].policies[0].findings[0].message, "seen\\u{202e}");
}

#[tokio::test]
async fn labels_of_a_cleared_passage_stay_with_the_session_and_reach_the_facts() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let reader = {
        let seen = Arc::clone(&seen);
        policy(
            "reader",
            &[GateName::Call],
            Judge(move |facts: &portcullis_model::Facts, subject: &Subject| {
                seen.lock().unwrap().push(facts.labels.clone());
                Ok(answer(subject, &Verdict::allow()))
            }),
        )
    };
    let verdict =
        Verdict { labels: vec![Label { name: "read:untrusted".to_owned(), segment: Some(0) }], ..Verdict::allow() };
    let (gates, _) = gates(vec![reader, policy("marker", &[GateName::Result], says(verdict))]);
    let context = context(&gates);
    gates.call(&context, call("{}")).await.unwrap();
    gates.result(&context, message(r#"{"content":[{"type":"text","text":"x"}]}"#)).await.unwrap();
    gates.call(&context, call("{}")).await.unwrap();
    let fact = LabelFact { name: "read:untrusted".to_owned(), server: "server".to_owned(), tool: "write".to_owned() };
    assert_eq!(*seen.lock().unwrap(), [vec![], vec![fact]]);
}

#[tokio::test]
async fn labels_and_charges_of_a_refused_passage_are_not_applied() {
    let verdict = Verdict {
        labels: vec![Label { name: "read:untrusted".to_owned(), segment: Some(0) }],
        charges: vec![charge(1, 1)],
        ..Verdict::allow()
    };
    let (gates, _) = gates(vec![on_call("counter", verdict), on_call("denies", deny("no"))]);
    let context = context(&gates);
    for _ in 0..2 {
        let refusal = gates.call(&context, call(r#"{"path":"é"}"#)).await.unwrap_err();
        assert_eq!(refusal.code, RefusalCode::Denied("no".to_owned()));
    }
    assert!(context.session.labels().is_empty());
    let counter = gates.set().policies()[0].clone();
    assert!(gates.meters.readings(&context.session.principal, &counter).is_empty());
}

#[tokio::test]
async fn a_charge_beyond_its_limit_refuses_and_a_policy_sees_its_own_meter() {
    let readings = Arc::new(Mutex::new(Vec::new()));
    let counter = {
        let readings = Arc::clone(&readings);
        policy(
            "counter",
            &[GateName::Call],
            Judge(move |facts: &portcullis_model::Facts, subject: &Subject| {
                readings.lock().unwrap().push(facts.meters.first().map_or(0, |reading| reading.amount));
                Ok(answer(subject, &Verdict { charges: vec![charge(2, 5)], ..Verdict::allow() }))
            }),
        )
    };
    let (gates, _) = gates(vec![counter]);
    let context = context(&gates);
    gates.call(&context, call("{}")).await.unwrap();
    gates.call(&context, call("{}")).await.unwrap();
    let refusal = gates.call(&context, call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::LimitExceeded);
    assert_eq!(refusal.policy.unwrap().as_str(), "counter");
    assert_eq!(*readings.lock().unwrap(), [0, 2, 4]);
}

#[tokio::test]
async fn a_message_is_judged_by_the_set_it_started_with() {
    let (gates, _) = gates(vec![]);
    let before = context(&gates);
    let mut changes = gates.changes();
    let generation = gates.publish(PolicySet::new(vec![Arc::new(on_call("p", deny("no")))]));
    assert_eq!(generation, 1);
    assert!(changes.has_changed().unwrap());
    assert_eq!(*changes.borrow_and_update(), 1);
    assert!(gates.call(&before, call("{}")).await.is_ok());
    assert!(gates.call(&context(&gates), call("{}")).await.is_err());
}

#[tokio::test]
async fn arguments_larger_than_a_gate_judges_are_refused() {
    let (gates, _) = gates(vec![on_call("p", Verdict::allow())]);
    let large = call(&format!(r#"{{"a":"{}"}}"#, "a".repeat(4 * 1024 * 1024 + 1)));
    assert_eq!(gates.call(&context(&gates), large).await.unwrap_err().code, RefusalCode::TooLarge);
}

#[tokio::test]
async fn several_policies_are_evaluated_at_the_same_time() {
    #[derive(Debug)]
    struct Meets(Arc<tokio::sync::Barrier>);
    impl Evaluate for Meets {
        fn evaluate<'a>(
            &'a self,
            _facts: &'a portcullis_model::Facts,
            _subject: &'a Subject,
        ) -> crate::EvaluationFuture<'a> {
            Box::pin(async {
                self.0.wait().await;
                crate::Evaluation { outcome: Ok(Answer::Verdict(Verdict::allow())), cost: crate::Cost::default() }
            })
        }
    }
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let meets = |name| policy(name, &[GateName::Call], Meets(Arc::clone(&barrier)));
    let (gates, _) = gates(vec![meets("a"), meets("b"), meets("c")]);
    assert!(gates.call(&context(&gates), call("{}")).await.is_ok());
}
