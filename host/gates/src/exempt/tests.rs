use std::sync::Arc;

use portcullis_model::{
    ApproverClass, ClientFacts, ConfigSubject, Day, Era, Launch, Occasion, Origin, Principal, ServerEntry, SessionId,
};

use super::*;
use crate::Fault;
use crate::testing::{Broken, Fixed, ask, deny, rule_id};

fn exemption(rule: &str, server: &str, tool: Option<&str>, until: &str) -> Exemption {
    Exemption {
        rule: rule_id(rule),
        server: ServerName::parse(server).unwrap(),
        tool: tool.map(str::to_owned),
        until: Day::parse(until).unwrap(),
        reason: "known and accepted".to_owned(),
    }
}

/// Far enough away for whoever runs this.
const LATER: &str = "9999-12-31";

fn finding(rule: &str, severity: Severity) -> Finding {
    Finding { rule: rule_id(rule), severity, message: "seen".to_owned(), evidence: Vec::new() }
}

fn with(mut verdict: Verdict, findings: Vec<Finding>) -> Verdict {
    verdict.findings = findings;
    verdict
}

fn entry(server: &str) -> Subject {
    let entry = ServerEntry {
        name: ServerName::parse(server).unwrap(),
        launch: Launch::Http { url: "https://example.com/".to_owned(), headers: Vec::new(), legacy_sse: false },
        origin: Origin::ConfigFile,
        document: portcullis_model::json::Value::Null,
    };
    Subject::Config(ConfigSubject { entry: Arc::new(entry), occasion: Occasion::Start, segments: Vec::new() })
}

/// Returns what becomes of a verdict about the server `web`.
fn said(verdict: Verdict, exemptions: Vec<Exemption>) -> Verdict {
    let wrapped = Exempting::new(Arc::new(Fixed(Answer::Verdict(Verdict::allow()))), exemptions);
    match wrapped.lift(Answer::Verdict(verdict), &entry("web")) {
        Answer::Verdict(verdict) => verdict,
        other @ (Answer::Verdicts(_) | Answer::Selection(_)) => panic!("{other:?}"),
    }
}

#[test]
fn a_denial_by_an_exempted_rule_is_lifted_and_noted() {
    let denied = || with(deny("loud"), vec![finding("loud", Severity::High)]);
    let lifted = said(denied(), vec![exemption("loud", "web", None, LATER)]);
    assert_eq!(lifted.decision, Decision::Allow);
    assert_eq!(lifted.findings[0].severity, Severity::Info);
    assert!(lifted.findings[0].message.contains("9999-12-31 (known and accepted): seen"), "{lifted:?}");
    // A code that no finding names is noted as one.
    let bare = said(deny("loud"), vec![exemption("loud", "web", None, LATER)]);
    assert_eq!((bare.decision, bare.findings.len()), (Decision::Allow, 1));
}

#[test]
fn another_server_another_rule_another_tool_and_a_past_day_lift_nothing() {
    let denied = || with(deny("loud"), vec![finding("loud", Severity::High)]);
    for exemption in [
        exemption("loud", "mail", None, LATER),
        exemption("quiet", "web", None, LATER),
        exemption("loud", "web", Some("send"), LATER),
        exemption("loud", "web", None, "2020-01-01"),
    ] {
        assert_eq!(said(denied(), vec![exemption.clone()]), denied(), "{exemption}");
    }
}

#[test]
fn a_decision_stands_while_another_rule_says_something() {
    let denied = with(deny("loud"), vec![finding("loud", Severity::High), finding("other", Severity::Low)]);
    let exempt = |rules: &[&str]| rules.iter().map(|rule| exemption(rule, "web", None, LATER)).collect::<Vec<_>>();
    assert!(matches!(said(denied.clone(), exempt(&["loud"])).decision, Decision::Deny(_)));
    assert_eq!(said(denied.clone(), exempt(&["loud", "other"])).decision, Decision::Allow);
    let noted = with(deny("loud"), vec![finding("loud", Severity::High), finding("other", Severity::Info)]);
    assert_eq!(said(noted, exempt(&["loud"])).decision, Decision::Allow);
}

#[test]
fn questions_are_lifted_one_by_one() {
    let both = ask("one", ApproverClass::Client);
    let Decision::Ask(mut questions) = both.decision.clone() else { panic!("it asks") };
    let Decision::Ask(more) = ask("two", ApproverClass::Client).decision else { panic!("it asks") };
    questions.extend(more);
    let both = Verdict { decision: Decision::Ask(questions), ..both };
    let Decision::Ask(left) = said(both, vec![exemption("one", "web", None, LATER)]).decision else {
        panic!("it asks")
    };
    assert_eq!(left.iter().map(|question| question.code.as_str()).collect::<Vec<_>>(), ["two"]);
    // The code of a question is not always its rule.
    let shared = with(ask("shared-code", ApproverClass::Client), vec![finding("loud", Severity::Medium)]);
    assert_eq!(said(shared, vec![exemption("loud", "web", None, LATER)]).decision, Decision::Allow);
}

#[test]
fn edits_of_an_exempted_rule_are_left_out_and_noted() {
    let edit = |rule: &str| Edit::Fence { rule: rule_id(rule), segment: 0 };
    let verdict = Verdict { edits: vec![edit("loud"), edit("other")], ..Verdict::allow() };
    let said = said(verdict, vec![exemption("loud", "web", None, LATER)]);
    assert_eq!(said.edits, [edit("other")]);
    assert_eq!(said.findings.len(), 1);
}

#[tokio::test]
async fn a_fault_passes_as_it_is() {
    let broken = Arc::new(Broken(Fault::Trap("on purpose".to_owned())));
    let wrapped = Exempting::new(broken, vec![exemption("loud", "web", None, LATER)]);
    let facts = Facts {
        session: SessionId::parse("one").unwrap(),
        principal: Principal::parse("someone").unwrap(),
        client: ClientFacts::default(),
        era: Era::Initialize,
        server: None,
        server_trust: None,
        approver: None,
        labels: Vec::new(),
        echoes_incomplete: false,
        echoes: Vec::new(),
        meters: Vec::new(),
        tool_rounds: 0,
        round: 1,
    };
    let outcome = wrapped.evaluate(&facts, &entry("web")).await.outcome;
    assert!(matches!(outcome, Err(Fault::Trap(_))), "{outcome:?}");
}
