use portcullis_model::json::parse_str;
use proptest::prelude::*;

use super::*;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn bound() -> Bound {
    Bound {
        gate: GateName::Call,
        policy: PolicyName::parse("trust").unwrap(),
        code: RuleId::parse("write-capable").unwrap(),
        server: "files".to_owned(),
        identity: Digest::of(b"npx files"),
        kind: "tool".to_owned(),
        name: "write".to_owned(),
        definition: Some(Digest::of(b"definition")),
        principal: Principal::parse("local").unwrap(),
    }
}

/// Returns a grant of a class for a session or all, with an hour to live.
pub(crate) fn grant(bound: Bound, class: ApproverClass, session: Option<&str>) -> Grant {
    Grant {
        id: new_id(8),
        bound,
        constraint: Constraint::default(),
        allows: true,
        class,
        surface: "terminal".to_owned(),
        given_at: NOW,
        expires_at: NOW + Duration::from_hours(1),
        session: session.map(str::to_owned),
    }
}

fn answers(grant: &Grant, bound: &Bound) -> bool {
    grant.answers(bound, "session", ApproverClass::Client, &Value::Null, NOW)
}

/// The question with one thing changed.
fn changed(which: usize, text: &str) -> Bound {
    let mut bound = bound();
    let word = text.to_owned();
    match which {
        0 => bound.gate = GateName::Request,
        1 => bound.policy = PolicyName::parse(text).unwrap(),
        2 => bound.code = RuleId::parse(text).unwrap(),
        3 => bound.server = word,
        4 => bound.identity = Digest::of(text.as_bytes()),
        5 => bound.kind = word,
        6 => bound.name = word,
        7 => bound.definition = Some(Digest::of(text.as_bytes())),
        8 => bound.definition = None,
        _ => bound.principal = Principal::parse(text).unwrap(),
    }
    bound
}

proptest! {
    #[test]
    fn a_grant_for_one_question_answers_none_that_differs_in_anything(which in 0..10_usize, text in "[a-z]{1,8}") {
        let granted = grant(bound(), ApproverClass::Operator, None);
        let other = changed(which, &text);
        prop_assume!(other != bound());
        prop_assert!(answers(&granted, &bound()));
        prop_assert!(!answers(&granted, &other));
        prop_assert!(!answers(&grant(other.clone(), ApproverClass::Operator, None), &bound()));
        prop_assert_ne!(other.key(), bound().key());
    }
}

#[test]
fn text_that_moves_from_one_field_to_the_next_makes_another_key() {
    let moved = Bound { kind: "too".to_owned(), name: "lwrite".to_owned(), ..bound() };
    assert_ne!(moved.key(), bound().key());
}

#[test]
fn a_grant_of_a_client_never_answers_what_an_operator_must() {
    let granted = grant(bound(), ApproverClass::Client, Some("session"));
    assert!(answers(&granted, &bound()));
    assert!(!granted.answers(&bound(), "session", ApproverClass::Operator, &Value::Null, NOW));
    let refused = Grant { allows: false, ..granted };
    assert!(refused.answers(&bound(), "session", ApproverClass::Operator, &Value::Null, NOW));
}

#[test]
fn a_grant_of_one_session_answers_in_no_other() {
    let granted = grant(bound(), ApproverClass::Operator, Some("session"));
    assert!(answers(&granted, &bound()));
    assert!(!granted.answers(&bound(), "another", ApproverClass::Client, &Value::Null, NOW));
}

#[test]
fn a_grant_ends_at_its_time_and_holds_for_its_arguments_only() {
    let constraint = Constraint::parse(["/path^=/tmp"]).unwrap();
    let granted = Grant { constraint, ..grant(bound(), ApproverClass::Operator, None) };
    let at =
        |text: &str, now| granted.answers(&bound(), "session", ApproverClass::Operator, &parse_str(text).unwrap(), now);
    assert!(at(r#"{"path":"/tmp/x"}"#, NOW));
    assert!(!at(r#"{"path":"/etc/x"}"#, NOW));
    assert!(at(r#"{"path":"/tmp/x"}"#, granted.expires_at - Duration::from_nanos(1)));
    assert!(!at(r#"{"path":"/tmp/x"}"#, granted.expires_at));
}

#[test]
fn what_is_removed_or_ends_with_its_session_is_found_no_more() {
    let grants = InMemory::default();
    let given_at = SystemTime::now();
    let new = |session| Grant {
        given_at,
        expires_at: given_at + Duration::from_hours(1),
        ..grant(bound(), ApproverClass::Operator, session)
    };
    let (lasting, ending) = (new(None), new(Some("one")));
    grants.add(&[lasting.clone(), ending.clone()]).unwrap();
    assert_eq!(grants.find(&bound().key()).unwrap().len(), 2);
    grants.end_session("one").unwrap();
    assert_eq!(grants.find(&bound().key()).unwrap(), std::slice::from_ref(&lasting));
    assert_eq!(grants.remove(&[lasting.id.clone(), ending.id]).unwrap(), [lasting]);
    assert!(grants.find(&bound().key()).unwrap().is_empty());
}

#[test]
fn names_are_easy_to_type_and_differ() {
    let names: std::collections::BTreeSet<String> = (0..100).map(|_| new_id(8)).collect();
    assert_eq!(names.len(), 100);
    assert!(names.iter().all(|name| name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_alphanumeric())));
}
