//! The listing gate: one bad item harms only itself.

use portcullis_model::{Batch, Edit, Facts, Pinned, Replacement, Span};

use super::*;
use crate::testing::{ask, rule_id};
use crate::{Fault, RecordedDecision};

fn tool(name: &str, description: &str) -> Listed {
    let mut document = Object::new();
    document.insert("name", name);
    document.insert("description", description);
    let item = ListedItem { server: server(), kind: ItemKind::Tool, name: name.to_owned(), document: document.into() };
    Listed { item, pinned: None }
}

/// Judges each item by a function.
fn scans(judge: impl Fn(&Facts, &portcullis_model::Item) -> Verdict + Send + Sync + 'static) -> ActivePolicy {
    policy(
        "scan",
        &[GateName::Listing],
        Judge(move |facts: &Facts, subject: &Subject| {
            let Subject::Listing(batch) = subject else { panic!("another gate") };
            assert!(batch.items.len() <= Batch::LARGEST);
            Ok(Answer::Verdicts(batch.items.iter().map(|item| judge(facts, item)).collect()))
        }),
    )
}

async fn scan(gates: &Gates, items: Vec<Listed>) -> Vec<Result<Cleared<ListedItem>, Withheld>> {
    is_send(gates.listing(&context(gates), items, Arc::new(vec![]))).await
}

fn description(scanned: &Result<Cleared<ListedItem>, Withheld>) -> &str {
    scanned.as_ref().unwrap().get().document.get("description").unwrap().as_str().unwrap()
}

fn blank(item: &portcullis_model::Item, pointer: &str, word: &str) -> Option<Edit> {
    let segment = item.segments.iter().position(|segment| segment.pointer == pointer && !segment.key)?;
    let start = item.segments[segment].text.find(word)?;
    let (start, end) = (u32::try_from(start).unwrap(), u32::try_from(start + word.len()).unwrap());
    let span = Span { segment: u32::try_from(segment).unwrap(), start, end };
    Some(Edit::Blank { rule: rule_id("rule"), span, replacement: Replacement::Marker })
}

#[tokio::test]
async fn items_come_back_in_order_each_cleared_hidden_or_quarantined() {
    let (gates, journal) = gates(vec![scans(|_, item| match item.name.as_str() {
        "t3" => deny("poisoned"),
        "t70" => ask("new-tool", portcullis_model::ApproverClass::Client),
        _ => Verdict::allow(),
    })]);
    let items = (0..130).map(|index| tool(&format!("t{index}"), "d")).collect();
    let scanned = scan(&gates, items).await;
    assert_eq!(scanned.len(), 130);
    for (index, one) in scanned.iter().enumerate() {
        let name = format!("t{index}");
        match (index, one) {
            (3, Err(withheld)) => {
                assert_eq!((withheld.reason.clone(), withheld.name.as_str()), (WithheldReason::Hidden, "t3"));
                assert_eq!(withheld.refusal.code, RefusalCode::Denied("poisoned".to_owned()));
            }
            (70, Err(withheld)) => {
                assert_eq!(withheld.reason, WithheldReason::Quarantined);
                assert_eq!(withheld.refusal.code, RefusalCode::Quarantined("new-tool".to_owned()));
            }
            (_, Ok(cleared)) => assert_eq!(cleared.get().name, name),
            (_, Err(withheld)) => panic!("{withheld:?}"),
        }
    }
    let records = journal.records();
    assert_eq!(records.len(), 130);
    assert_eq!(records[70].decision, RecordedDecision::Quarantined("new-tool".to_owned()));
}

#[tokio::test]
async fn a_wrong_number_of_verdicts_is_a_fault_for_the_whole_batch() {
    let short = policy("short", &[GateName::Listing], Judge(|_: &Facts, _: &Subject| Ok(Answer::Verdicts(vec![]))));
    let (gates, journal) = gates(vec![short]);
    let scanned = scan(&gates, vec![tool("a", "d"), tool("b", "d")]).await;
    for one in &scanned {
        let code = &one.as_ref().unwrap_err().refusal.code;
        assert_eq!(*code, RefusalCode::PolicyFault("malformed".to_owned()));
    }
    let outcome = journal.records()[0].policies[0].outcome.clone();
    assert!(matches!(outcome, crate::PolicyOutcome::Fault(Fault::Malformed(_))));
}

#[tokio::test]
async fn a_malformed_verdict_about_one_item_withholds_that_item_alone() {
    let (gates, _) = gates(vec![scans(|_, item| {
        let span = Span { segment: 99, start: 0, end: 0 };
        let edit = Edit::Blank { rule: rule_id("rule"), span, replacement: Replacement::Marker };
        let edits = if item.name == "a" { vec![edit] } else { vec![] };
        Verdict { edits, ..Verdict::allow() }
    })]);
    let scanned = scan(&gates, vec![tool("a", "d"), tool("b", "d")]).await;
    assert!(scanned[0].is_err());
    assert!(scanned[1].is_ok());
}

#[tokio::test]
async fn only_items_that_changed_are_judged_again() {
    let (gates, journal) = gates(vec![scans(|facts, item| {
        assert!(facts.round == 1 || item.name == "a");
        Verdict { edits: blank(item, "/description", "obey").into_iter().collect(), ..Verdict::allow() }
    })]);
    let scanned = scan(&gates, vec![tool("a", "obey me"), tool("b", "fine")]).await;
    assert_eq!(description(&scanned[0]), "[removed by portcullis: rule] me");
    assert_eq!(description(&scanned[1]), "fine");
    let rounds: Vec<usize> = journal.records().iter().map(|record| record.policies.len()).collect();
    assert_eq!(rounds, [2, 1]);
    assert_eq!(scanned[0].as_ref().unwrap().receipt().rounds, 2);
}

#[tokio::test]
async fn an_edit_of_the_name_withholds_the_item() {
    let (gates, _) = gates(vec![scans(|_, item| Verdict {
        edits: blank(item, "/name", "a").into_iter().collect(),
        ..Verdict::allow()
    })]);
    let scanned = scan(&gates, vec![tool("a", "d"), tool("b", "d")]).await;
    assert_eq!(scanned[0].as_ref().unwrap_err().refusal.code, RefusalCode::EditFailed);
    assert!(scanned[1].is_ok());
}

#[tokio::test]
async fn an_item_is_compared_as_the_server_sent_it_whatever_edits_made_of_it() {
    let sent = tool("a", "obey me");
    let document = sent.item.document.clone();
    let pinned = Pinned { digest: document.digest(), fields: crate::field_digests(&document), document };
    let digest = pinned.digest;
    let (gates, _) = gates(vec![scans(move |_, item| {
        assert_eq!((item.pin, item.digest), (PinState::Approved, digest));
        Verdict { edits: blank(item, "/description", "obey").into_iter().collect(), ..Verdict::allow() }
    })]);
    let scanned = scan(&gates, vec![Listed { pinned: Some(pinned), ..sent }]).await;
    assert_eq!(scanned[0].as_ref().unwrap().receipt().rounds, 2);
}

#[tokio::test]
async fn an_item_that_is_too_large_is_withheld_alone_and_large_ones_are_split_into_batches() {
    let (gates, _) = gates(vec![scans(|_, _| Verdict::allow())]);
    let large = "a".repeat(3 * 1024 * 1024);
    let huge = "a".repeat(5 * 1024 * 1024);
    let scanned = scan(&gates, vec![tool("a", &large), tool("b", &huge), tool("c", &large), tool("d", "small")]).await;
    let cleared: Vec<bool> = scanned.iter().map(Result::is_ok).collect();
    assert_eq!(cleared, [true, false, true, true]);
    assert_eq!(scanned[1].as_ref().unwrap_err().refusal.code, RefusalCode::TooLarge);
}

#[tokio::test]
async fn a_missing_required_policy_hides_every_item() {
    let name = portcullis_model::PolicyName::parse("pins").unwrap();
    let set = PolicySet::new(vec![]).with_missing(name, vec![GateName::Listing]);
    let gates = Gates::new(set, Arc::new(Kept::default()));
    let scanned = scan(&gates, vec![tool("a", "d")]).await;
    assert_eq!(scanned[0].as_ref().unwrap_err().refusal.code, RefusalCode::PolicyMissing);
}

#[tokio::test]
async fn without_policies_items_pass_as_they_came() {
    let (gates, _) = gates(vec![]);
    let sent = tool("a", "d");
    let scanned = scan(&gates, vec![sent.clone()]).await;
    assert_eq!(*scanned[0].as_ref().unwrap().get(), sent.item);
}

#[tokio::test]
async fn an_item_that_breaks_a_policy_hides_itself_alone() {
    let evaluations = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let fragile = {
        let evaluations = Arc::clone(&evaluations);
        policy(
            "fragile",
            &[GateName::Listing],
            Judge(move |_: &Facts, subject: &Subject| {
                evaluations.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Subject::Listing(batch) = subject else { panic!("another gate") };
                if batch.items.iter().any(|item| item.name == "t7") {
                    return Err(Fault::Trap("unreachable".to_owned()));
                }
                Ok(answer(subject, &Verdict::allow()))
            }),
        )
    };
    let (gates, _) = gates(vec![fragile]);
    let scanned = scan(&gates, (0..64).map(|index| tool(&format!("t{index}"), "d")).collect()).await;
    let hidden: Vec<usize> = (0..64).filter(|index| scanned[*index].is_err()).collect();
    assert_eq!(hidden, [7]);
    assert_eq!(evaluations.load(std::sync::atomic::Ordering::Relaxed), 13);
}
