//! Policies in shadow: never waited for, compared, and recorded where they differ.

use std::future::pending;
use std::time::{Duration, Instant};

use portcullis_model::{Charge, Facts, Label, Rights};

use super::*;
use crate::{Evaluation, EvaluationFuture, PolicyOutcome, Record, RecordedDecision};

fn on_call(name: &str, verdict: Verdict) -> ActivePolicy {
    policy(name, &[GateName::Call], says(verdict))
}

fn in_shadow(policy: ActivePolicy) -> ActivePolicy {
    ActivePolicy { mode: Mode::Shadow, ..policy }
}

/// Waits for what nobody else waits for.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn tally(gates: &Gates) -> Tally {
    let tallies = gates.tallies();
    assert!(tallies.len() <= 1, "{tallies:?}");
    tallies.first().map(|(_, _, tally)| *tally).unwrap_or_default()
}

/// Returns the records of differences.
fn differences(journal: &Kept) -> Vec<Record> {
    journal.records().into_iter().filter(|record| record.decision == RecordedDecision::Compared).collect()
}

#[tokio::test]
async fn what_a_policy_in_shadow_would_say_otherwise_is_recorded_and_never_applied() {
    let mut verdict = deny("no");
    verdict.labels = vec![Label { name: "read:untrusted".to_owned(), segment: Some(0) }];
    verdict.charges = vec![Charge { meter: "meter".to_owned(), key: "k".to_owned(), amount: 5, limit: 1 }];
    let (gates, journal) = gates(vec![in_shadow(on_call("shadow", verdict))]);
    let context = context(&gates);
    gates.call(&context, call(r#"{"path":"é"}"#)).await.unwrap();
    until("the difference is recorded", || !differences(&journal).is_empty()).await;
    let records = journal.records();
    assert!(records[0].policies.is_empty(), "it is no part of the passage: {records:?}");
    assert_eq!((records[1].subject, records[1].name.as_str()), (records[0].subject, "write"));
    let said = &records[1].policies[0];
    assert!(said.shadow);
    assert_eq!(said.outcome, PolicyOutcome::Deny("no".to_owned()));
    assert!(context.session.labels().is_empty());
    assert_eq!(tally(&gates), Tally { compared: 1, differed: 1, alike: 0, skipped: 0 });
}

#[tokio::test]
async fn a_policy_in_shadow_is_compared_to_the_one_of_its_name_and_what_is_alike_is_only_counted() {
    for (counts, tried, differs) in [("no", "no", false), ("no", "never", true)] {
        let (gates, journal) = gates(vec![on_call("a", deny(counts)), in_shadow(on_call("a", deny(tried)))]);
        let context = context(&gates);
        for _ in 0..3 {
            gates.call(&context, call("{}")).await.unwrap_err();
        }
        until("all are compared", || tally(&gates).compared == 3).await;
        assert_eq!(tally(&gates).differed, if differs { 3 } else { 0 });
        assert_eq!(tally(&gates).alike, if differs { 0 } else { 3 });
        until("differences are recorded", || differences(&journal).len() == if differs { 3 } else { 0 }).await;
    }
    // One that says nothing differs from nobody.
    let (gates, journal) = gates(vec![in_shadow(policy("quiet", &[GateName::Result], AllowAll))]);
    gates.result(&context(&gates), message(r#"{"content":[]}"#)).await.unwrap();
    until("it is compared", || tally(&gates).alike == 1).await;
    assert!(differences(&journal).is_empty());
}

#[tokio::test]
async fn an_edit_that_only_a_policy_in_shadow_wishes_for_is_a_difference() {
    use portcullis_model::{Edit, Replacement, Span};
    let span = Span { segment: 0, start: 0, end: 2 };
    let rule = crate::testing::rule_id("rule");
    let verdict =
        Verdict { edits: vec![Edit::Blank { rule, span, replacement: Replacement::Marker }], ..Verdict::allow() };
    let shadow = ActivePolicy { rights: Rights::ALL, ..policy("shadow", &[GateName::Result], says(verdict)) };
    let (gates, _) = gates(vec![in_shadow(shadow)]);
    let document = r#"{"content":[{"type":"text","text":"hello"}]}"#;
    let cleared = gates.result(&context(&gates), message(document)).await.unwrap();
    assert!(!cleared.receipt().edited);
    until("it is compared", || tally(&gates).differed == 1).await;
}

/// Never answers.
#[derive(Debug)]
struct Stuck;

impl Evaluate for Stuck {
    fn evaluate<'a>(&'a self, _facts: &'a Facts, _subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(pending::<Evaluation>())
    }
}

#[tokio::test]
async fn a_policy_in_shadow_that_never_answers_holds_nobody_up_and_what_finds_no_room_is_counted() {
    let (gates, journal) = gates(vec![in_shadow(policy("stuck", &[GateName::Call], Stuck))]);
    let context = context(&gates);
    for _ in 0..1_000 {
        gates.call(&context, call("{}")).await.unwrap();
    }
    assert_eq!(journal.records().len(), 1_000);
    let skipped = tally(&gates).skipped;
    assert!((700..1_000).contains(&skipped), "{skipped} of 1000 were skipped");
}

#[tokio::test]
async fn what_was_counted_of_a_policy_goes_with_it() {
    let (gates, _) = gates(vec![in_shadow(on_call("a", deny("no")))]);
    gates.call(&context(&gates), call("{}")).await.unwrap();
    until("it is compared", || !gates.tallies().is_empty()).await;
    gates.publish(PolicySet::new(vec![Arc::new(on_call("a", deny("no")))]));
    assert_eq!(gates.tallies(), []);
}
