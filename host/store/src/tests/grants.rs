use std::time::{Duration, SystemTime};

use portcullis_gates::{
    ApprovalEvent, ApprovalRecord, Bound, Constraint, Grant, GrantError, Grants as _, Journal as _, MOST_GRANTS,
    Record, RecordedDecision, Scope,
};
use portcullis_model::{ApproverClass, Digest, GateName, PolicyName, Principal, RuleId};

use super::{block_on, home, record, store};
use crate::{GrantList as _, JournalEntry, JournalReader as _, Query, decode, encode};

fn grant(id: &str, name: &str) -> Grant {
    // The store keeps microseconds.
    let now = decode::time(encode::microseconds(SystemTime::now()));
    Grant {
        id: id.to_owned(),
        bound: Bound {
            gate: GateName::Call,
            policy: PolicyName::parse("trust").unwrap(),
            code: RuleId::parse("write-capable").unwrap(),
            server: "files".to_owned(),
            identity: Digest::of(b"npx files"),
            kind: "tool".to_owned(),
            name: name.to_owned(),
            definition: Some(Digest::of(b"definition")),
            principal: Principal::parse("local").unwrap(),
        },
        constraint: Constraint::parse(["/path^=/home/me", "/n=1", "/n=2"]).unwrap(),
        allows: true,
        class: ApproverClass::Operator,
        surface: "terminal".to_owned(),
        given_at: now,
        expires_at: now + Duration::from_hours(1),
        session: None,
    }
}

#[test]
fn a_grant_is_found_by_its_question_in_every_gateway_of_the_home_until_it_is_removed() {
    let (_folder, home) = home();
    let (one, other) = (store(&home), store(&home));
    let mut session = grant("second", "write");
    session.session = Some("stdio-1#abc".to_owned());
    session.bound.definition = None;
    session.class = ApproverClass::Client;
    session.allows = false;
    let first = grant("first", "write");
    one.add(&[first.clone(), session.clone(), grant("third", "delete")]).unwrap();
    assert_eq!(other.find(&first.bound.key()).unwrap(), std::slice::from_ref(&first));
    assert_eq!(other.find(&session.bound.key()).unwrap(), std::slice::from_ref(&session));
    assert_eq!(other.all_grants().unwrap().len(), 3);

    assert_eq!(other.remove(&["first".to_owned(), "unknown".to_owned()]).unwrap(), std::slice::from_ref(&first));
    assert!(one.find(&first.bound.key()).unwrap().is_empty());
    one.end_session("stdio-1#abc").unwrap();
    assert!(other.find(&session.bound.key()).unwrap().is_empty());
    assert_eq!(other.all_grants().unwrap().len(), 1);
}

#[test]
fn an_expired_grant_is_not_listed_and_makes_room() {
    let (_folder, home) = home();
    let store = store(&home);
    let expired = Grant { expires_at: SystemTime::UNIX_EPOCH, ..grant("old", "write") };
    store.add(std::slice::from_ref(&expired)).unwrap();
    assert!(store.all_grants().unwrap().is_empty());
    let many: Vec<Grant> = (0..MOST_GRANTS).map(|index| grant(&format!("grant-{index}"), "write")).collect();
    store.add(&many).unwrap();
    assert!(matches!(store.add(&[grant("one-more", "write")]), Err(GrantError::Full)));
    store.remove(&["grant-7".to_owned()]).unwrap();
    store.add(&[grant("one-more", "write")]).unwrap();
}

#[test]
fn a_grant_that_was_tampered_with_is_an_error_and_not_a_wider_grant() {
    let (_folder, home) = home();
    let store = store(&home);
    let written = grant("first", "write");
    store.add(std::slice::from_ref(&written)).unwrap();
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    connection.execute("UPDATE grants SET limits = '[{\"pointer\":\"/path\"}]'", []).unwrap();
    assert!(matches!(store.find(&written.bound.key()), Err(GrantError::Store(_))));
    assert_eq!(store.remove(&["first".to_owned()]).unwrap(), [], "it can be removed all the same");
    assert!(store.find(&written.bound.key()).unwrap().is_empty());
}

#[test]
fn who_answered_what_is_read_back_with_the_passage() {
    let (_folder, home) = home();
    let store = store(&home);
    let approval = |event, grant: Option<&str>| ApprovalRecord {
        policy: PolicyName::parse("trust").unwrap(),
        code: RuleId::parse("write-capable").unwrap(),
        event,
        class: ApproverClass::Operator,
        surface: "terminal".to_owned(),
        grant: grant.map(str::to_owned),
    };
    let events = [
        ApprovalEvent::Approved(Scope::Once),
        ApprovalEvent::Approved(Scope::Session),
        ApprovalEvent::Approved(Scope::Always),
        ApprovalEvent::Declined,
        ApprovalEvent::Granted,
        ApprovalEvent::Barred,
    ];
    let approvals = events.into_iter().map(|event| approval(event, Some("k3f9"))).chain([approval(events[0], None)]);
    let approved = Record { decision: RecordedDecision::Approved, approvals: approvals.collect(), ..record("write") };
    let revoked = grant("first", "write").revocation("terminal");
    block_on(store.write(approved.clone())).unwrap();
    block_on(store.write(revoked.clone())).unwrap();
    let entries = store.latest(&Query::default()).unwrap();
    let read = &entries[1];
    assert_eq!(*read, JournalEntry { place: read.place, ..JournalEntry::of_record(read.id, &approved) });
    assert_eq!(entries[0].decision, RecordedDecision::Revoked);
    assert_eq!(entries[0].approvals, revoked.approvals);
    let refused = store.latest(&Query { refused: true, ..Query::default() }).unwrap();
    assert!(refused.is_empty(), "a revocation is no refused passage");
}
