use std::time::UNIX_EPOCH;

use super::*;
use crate::segment::{Next, next_frame};

fn appender(folder: &std::path::Path, bounds: Bounds) -> Appender {
    Appender::new(folder.to_owned(), Durability::Process, bounds, Vec::new()).unwrap()
}

fn record(name: &str) -> Record {
    let policy = portcullis_gates::PolicyRecord {
        policy: portcullis_model::PolicyName::parse("trust").unwrap(),
        digest: portcullis_model::Digest::of(b"trust"),
        shadow: false,
        round: 1,
        outcome: portcullis_gates::PolicyOutcome::Allow,
        findings: Vec::new(),
        edits: 0,
        dropped: Vec::new(),
        cost: portcullis_gates::Cost::default(),
    };
    Record {
        at: UNIX_EPOCH,
        session: "one".to_owned(),
        gate: portcullis_model::GateName::Call,
        server: "files".to_owned(),
        name: name.to_owned(),
        subject: portcullis_model::Digest::of(b"subject"),
        generation: 1,
        decision: portcullis_gates::RecordedDecision::Cleared,
        decided_by: None,
        policies: vec![policy],
        approvals: Vec::new(),
        elapsed: std::time::Duration::from_nanos(1),
        inputs: Vec::new(),
    }
}

/// Returns the texts of all segments of a folder, after checking that they make one chain.
fn bodies(folder: &std::path::Path) -> Vec<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut bodies = Vec::new();
    let mut link = None;
    for file in files {
        let bytes = std::fs::read(file).unwrap();
        let header = Header::parse(&bytes).unwrap();
        let mut at = link.unwrap_or(Link::start(header.chain));
        assert_eq!(header.before, at);
        let mut rest = &bytes[HEADER..];
        while let Next::Record { body, link, length } = next_frame(rest, &at) {
            bodies.push(body.to_owned());
            at = link;
            rest = &rest[length..];
        }
        assert_eq!(rest, b"");
        link = Some(at);
    }
    bodies
}

#[test]
fn the_text_of_records_is_what_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let appender = appender(folder.path(), Bounds::default());
    appender.append(&record("read")).unwrap();
    appender.append(&record("list")).unwrap();
    let [heads, lineup, read, list] = bodies(folder.path()).try_into().unwrap();
    assert_eq!(heads, format!(r#"{{"at":0,"heads":[],"version":"{}"}}"#, env!("CARGO_PKG_VERSION")));
    let trust = portcullis_model::Digest::of(b"trust");
    let policies = format!(r#"[["trust","{trust}"]]"#);
    assert_eq!(lineup, format!(r#"{{"at":0,"lineup":{policies}}}"#));
    let subject = portcullis_model::Digest::of(b"subject");
    let named = portcullis_model::Digest::of(policies.as_bytes());
    assert_eq!(
        read,
        format!(
            r#"{{"at":0,"gate":"call","server":"files","name":"read","session":"one","subject":"{subject}","generation":1,"decision":"cleared","elapsed":1,"lineup":"{named}","policies":[[0,0,0]]}}"#
        )
    );
    assert_eq!(list, read.replace("\"read\"", "\"list\""), "its policies are not told again");
}

#[test]
fn a_chain_goes_on_in_another_segment_where_one_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let appender = appender(folder.path(), Bounds { segment: 1_000, ..Bounds::default() });
    for index in 0..20 {
        appender.append(&record(&format!("tool-{index}"))).unwrap();
    }
    assert_eq!(bodies(folder.path()).len(), 22);
    assert!(std::fs::read_dir(folder.path()).unwrap().count() > 3);
}

#[test]
fn more_than_may_wait_for_the_database_is_refused_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let appender = appender(folder.path(), Bounds { backlog: 2_000, ..Bounds::default() });
    let refused = (0..100).find_map(|_| appender.append(&record("tool")).err()).unwrap();
    assert!(matches!(refused, AppendError::Backlog { backlog: 2_001.. }), "{refused}");
    appender.absorbed(appender.appended(), &[]);
    appender.append(&record("after")).unwrap();
    assert!(bodies(folder.path()).last().unwrap().contains("after"));
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_and_writing_goes_on_once_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let appender = appender(&missing, Bounds::default());
    assert!(matches!(appender.append(&record("tool")), Err(AppendError::Create { .. })));
    std::fs::create_dir(&missing).unwrap();
    appender.append(&record("tool")).unwrap();
    assert_eq!(bodies(&missing).len(), 3);
}

/// A disk that is full, as far as this process is told: its largest file is limited.
#[test]
fn a_full_disk_is_an_error_that_leaves_whole_records() {
    let folder = tempfile::tempdir().unwrap();
    let appender = appender(folder.path(), Bounds::default());
    appender.append(&record("before")).unwrap();
    // A descriptor that cannot be written stands in for the disk.
    let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let writable =
        std::mem::replace(&mut lock(&appender.state).open.as_mut().unwrap().file, Arc::new(File::open(path).unwrap()));
    assert!(matches!(appender.append(&record("during")), Err(AppendError::Write(_))));
    lock(&appender.state).open.as_mut().unwrap().file = writable;
    appender.append(&record("after")).unwrap();
    let bodies = bodies(folder.path());
    assert_eq!(bodies.iter().filter(|body| body.contains("during")).count(), 0);
    assert_eq!(bodies.iter().filter(|body| body.contains("\"lineup\":[")).count(), 2, "what failed is told again");
    assert!(bodies.last().unwrap().contains("after"));
}

#[test]
fn chains_of_others_are_joined_where_they_went_on() {
    let folder = tempfile::tempdir().unwrap();
    let appender = appender(folder.path(), Bounds::default());
    let other = ChainId::from_bytes([1; 16]);
    let head = |link: Link| vec![Head { chain: other, link }];
    appender.append(&record("tool")).unwrap();
    let first = Link::start(other).next(b"x");
    appender.join(head(first)).unwrap();
    appender.join(head(first)).unwrap();
    appender.join(head(first.next(b"y"))).unwrap();
    let joined: Vec<_> = bodies(folder.path()).into_iter().filter(|body| body.contains("\"heads\":[[")).collect();
    assert_eq!(joined.len(), 2, "{joined:?}");
    assert!(joined[0].contains(&format!(r#"["{other}",1,"{}"]"#, first.hash)), "{joined:?}");
}
