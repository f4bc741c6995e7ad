use std::time::{Duration, SystemTime};

use portcullis_gates::{Fault, Journal as _, PolicyOutcome, Record, RecordedDecision};
use portcullis_model::{Finding, GateName, PolicyName, RuleId, Severity, Span};

use super::{allowed, block_on, home, record, store};
use crate::{
    JournalEntry, JournalReader as _, OutcomeEntry, Query, Retention, SqliteStore, StoreOptions, lock, maintenance,
};

#[test]
fn a_record_is_read_back_with_all_that_was_said() {
    let (_folder, home) = home();
    let store = store(&home);
    let mut asked = allowed("trust");
    asked.outcome = PolicyOutcome::Ask(vec!["write-capable".to_owned()]);
    let mut denied = allowed("flow");
    denied.outcome = PolicyOutcome::Deny("private-outward".to_owned());
    denied.round = 2;
    denied.edits = 4;
    denied.dropped = vec!["label `x` was not declared".to_owned()];
    denied.findings = vec![Finding {
        rule: RuleId::parse("echo").unwrap(),
        severity: Severity::High,
        message: "a \"quoted\"\u{1b} text\n".to_owned(),
        evidence: vec![Span { segment: 1, start: 2, end: 30 }],
    }];
    let mut broken = allowed("pins");
    broken.shadow = true;
    broken.outcome = PolicyOutcome::Fault(Fault::Deadline { limit: Duration::from_millis(250) });
    let sent = Record {
        decision: RecordedDecision::Refused("private-outward".to_owned()),
        decided_by: Some(PolicyName::parse("flow").unwrap()),
        policies: vec![asked, denied.clone(), broken],
        ..record("write_file")
    };
    block_on(store.write(sent.clone())).unwrap();

    let entries = store.latest(&Query::default()).unwrap();
    let place = entries[0].place;
    assert!(place.is_some_and(|(_, link)| link.sequence == 3), "its chain begins with heads and a lineup: {place:?}");
    assert_eq!(entries, [JournalEntry { place, ..JournalEntry::of_record(entries[0].id, &sent) }]);
    let [entry] = entries.as_slice() else { panic!("one entry, not {entries:?}") };
    assert_eq!((entry.gate.as_str(), entry.decided_by.as_deref()), ("call", Some("flow")));
    assert_eq!(entry.policies[1].findings[0].message, "a \"quoted\"\u{1b} text\n");
    assert_eq!(
        entry.policies[2].outcome,
        OutcomeEntry::Fault { code: "deadline".to_owned(), message: "the policy ran longer than 250 ms".to_owned() }
    );
}

#[test]
fn what_a_policy_says_at_length_is_cut_and_counted() {
    let (_folder, home) = home();
    let store = store(&home);
    let mut chatty = allowed("trust");
    chatty.dropped = vec!["é".repeat(10_000); 100];
    block_on(store.write(Record { policies: vec![chatty], ..record("echo") })).unwrap();
    let entry = store.latest(&Query::default()).unwrap().remove(0);
    let dropped = &entry.policies[0].dropped;
    assert_eq!((dropped.len(), dropped[0].as_str(), dropped[32].as_str()), (33, "é".repeat(256).as_str(), "68 more"));
}

#[test]
fn the_latest_entries_come_first_and_can_be_narrowed() {
    let (_folder, home) = home();
    let store = store(&home);
    for index in 0..20 {
        let mut record = record(&format!("tool-{index}"));
        if index % 2 == 0 {
            record.server = "mail".to_owned();
        }
        if index % 5 == 0 {
            record.decision = RecordedDecision::Quarantined("new".to_owned());
        }
        block_on(store.write(record)).unwrap();
    }
    let names =
        |query: &Query| -> Vec<String> { store.latest(query).unwrap().into_iter().map(|entry| entry.name).collect() };
    assert_eq!(names(&Query { limit: 2, ..Query::default() }), ["tool-19", "tool-18"]);
    assert_eq!(names(&Query { server: Some("mail".to_owned()), limit: 2, ..Query::default() }), ["tool-18", "tool-16"]);
    assert_eq!(names(&Query { refused: true, ..Query::default() }), ["tool-15", "tool-10", "tool-5", "tool-0"]);
    let number =
        |name: &str| store.latest(&Query::default()).unwrap().iter().find(|entry| entry.name == name).unwrap().id;
    assert_eq!(names(&Query { after: Some(number("tool-17")), ..Query::default() }), ["tool-19", "tool-18"]);
    assert_eq!(names(&Query { before: Some(number("tool-2")), ..Query::default() }), ["tool-1", "tool-0"]);
    assert!(names(&Query { session: Some("another".to_owned()), ..Query::default() }).is_empty());
}

#[test]
fn entries_are_narrowed_by_what_policies_said_and_read_from_either_end() {
    let (_folder, home) = home();
    let store = store(&home);
    let mut noticed = allowed("flow");
    noticed.findings = vec![Finding {
        rule: RuleId::parse("echo").unwrap(),
        severity: Severity::High,
        message: String::new(),
        evidence: Vec::new(),
    }];
    let mut asked = allowed("trust");
    asked.outcome = PolicyOutcome::Ask(vec!["write-capable".to_owned()]);
    let edited = Record { decision: RecordedDecision::Edited, gate: GateName::Result, ..record("edited") };
    block_on(store.write(Record { policies: vec![noticed, allowed("trust")], ..record("noticed") })).unwrap();
    block_on(store.write(Record { policies: vec![asked], ..record("asked") })).unwrap();
    block_on(store.write(edited)).unwrap();
    let names = |query: &Query| -> Vec<String> {
        let latest: Vec<_> = store.latest(query).unwrap().into_iter().map(|entry| entry.name).collect();
        let mut earliest: Vec<_> = store.earliest(query).unwrap().into_iter().map(|entry| entry.name).collect();
        earliest.reverse();
        assert_eq!(latest, earliest);
        latest
    };
    let all = Query::default();
    assert_eq!(names(&all), ["edited", "asked", "noticed"]);
    assert_eq!(names(&Query { policy: Some("trust".to_owned()), ..all.clone() }), ["asked"]);
    assert_eq!(names(&Query { rule: Some("write-capable".to_owned()), ..all.clone() }), ["asked"]);
    assert_eq!(names(&Query { rule: Some("echo".to_owned()), ..all.clone() }), ["noticed"]);
    assert_eq!(names(&Query { gate: Some(GateName::Result), ..all.clone() }), ["edited"]);
    assert_eq!(names(&Query { outcome: Some("cleared".to_owned()), ..all.clone() }), ["asked", "noticed"]);
    assert_eq!(names(&Query { name: Some("asked".to_owned()), ..all.clone() }), ["asked"]);
    let at = record("x").at;
    assert_eq!(names(&Query { since: Some(at), ..all.clone() }).len(), 3);
    assert!(names(&Query { since: Some(at + Duration::from_secs(1)), ..all.clone() }).is_empty());
    let newest = store.latest(&all).unwrap().remove(0);
    assert_eq!(store.entry(newest.id).unwrap(), Some(newest.clone()));
    assert_eq!(store.entry(newest.id + 1).unwrap(), None);
}

#[test]
fn only_as_many_and_as_young_records_stay_as_retention_wants() {
    let (_folder, home) = home();
    let store = store(&home);
    for index in 0..700 {
        let mut record = record(&format!("tool-{index}"));
        record.at = if index < 300 { SystemTime::now() - Duration::from_hours(48) } else { SystemTime::now() };
        block_on(store.write(record)).unwrap();
    }
    let kept = |records, hours| {
        maintenance::prune(
            &store.shared,
            Retention { records, age: Duration::from_hours(hours), ..Retention::default() },
        )
        .unwrap();
        let entries = store.latest(&Query { limit: 1_000, ..Query::default() }).unwrap();
        (entries.len(), entries.last().unwrap().name.clone())
    };
    assert_eq!(kept(1_000, 72), (700, "tool-0".to_owned()));
    assert_eq!(kept(1_000, 24), (400, "tool-300".to_owned()));
    assert_eq!(kept(10, 24), (10, "tool-690".to_owned()));
    assert_eq!(kept(0, 0), (1, "tool-699".to_owned()), "the newest stays so that ids go on counting");
}

#[test]
fn the_oldest_records_go_where_the_database_is_larger_than_it_may_be() {
    let (_folder, home) = home();
    let store = store(&home);
    for index in 0..2_000 {
        block_on(store.write(Record { at: SystemTime::now(), ..record(&format!("tool-{index}")) })).unwrap();
    }
    assert_eq!(store.latest(&Query { limit: 5_000, ..Query::default() }).unwrap().len(), 2_000);
    maintenance::prune(&store.shared, Retention { bytes: 600_000, ..Retention::default() }).unwrap();
    let left = store.latest(&Query { limit: 5_000, ..Query::default() }).unwrap();
    assert!((100..1_900).contains(&left.len()), "{}", left.len());
    assert_eq!(left[0].name, "tool-1999");
    assert!(store.verify(&[]).unwrap().holds());
}

#[test]
fn looking_for_old_records_does_not_read_the_young_ones() {
    let (_folder, home) = home();
    let store = store(&home);
    for index in 0..2_000 {
        block_on(store.write(Record { at: SystemTime::now(), ..record(&format!("tool-{index}")) })).unwrap();
    }
    assert_eq!(store.latest(&Query::default()).unwrap().len(), 100);
    let steps = store
        .read(|connection| {
            let mut statement = connection.prepare(maintenance::OLDEST)?;
            assert_eq!(statement.query_map([128], |_| Ok(()))?.count(), 128);
            Ok(statement.get_status(rusqlite::StatementStatus::VmStep))
        })
        .unwrap();
    // About 24 steps a row that is looked at; all rows would take ten times as many.
    assert!((128..5_000).contains(&steps), "{steps} steps");
}

#[test]
fn a_full_database_is_an_error_for_readers_and_loses_nothing() {
    let (_folder, home) = home();
    let store = store(&home);
    block_on(store.write(record("first"))).unwrap();
    assert_eq!(store.latest(&Query::default()).unwrap().len(), 1);
    lock(&store.shared.writer).limit_pages(1);
    for index in 0..200 {
        block_on(store.write(record(&format!("tool-{index}")))).unwrap();
    }
    let error = store.latest(&Query::default()).unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("full"), "the reason is named: {error:?}");
    lock(&store.shared.writer).limit_pages(10_000);
    assert_eq!(store.latest(&Query { limit: 1_000, ..Query::default() }).unwrap().len(), 201);
}

#[test]
fn a_record_of_a_closed_store_is_on_disk() {
    let (_folder, home) = home();
    let power = StoreOptions { durability: crate::Durability::Power, ..StoreOptions::default() };
    for options in [StoreOptions::default(), power] {
        let store = SqliteStore::open(&home, options).unwrap();
        block_on(store.write(record("echo"))).unwrap();
    }
    assert_eq!(store(&home).latest(&Query::default()).unwrap().len(), 2);
}
