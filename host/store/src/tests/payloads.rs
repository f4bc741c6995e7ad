use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::{Journal as _, Judged, Record};
use portcullis_model::json::Value;
use portcullis_model::{
    ClientFacts, Echo, Encoding, Era, Facts, LabelFact, MeterReading, PolicyName, Principal, RequestKind,
    RequestSubject, Role, Segment, ServerName, SessionId, Span, Subject, object,
};

use super::{block_on, home, record, store};
use crate::{JournalReader as _, PayloadError, PayloadKey, Query, Retention, SqliteStore, maintenance};

/// What a policy was told of a request, with some of every fact.
fn judged(text: &str) -> Arc<Judged> {
    let server = ServerName::parse("files").unwrap();
    let document = Value::from(object! { "message" => text, "number" => 12_345_u64 });
    let segment = Segment { pointer: "/message".to_owned(), role: Role::Text, key: false, text: text.to_owned() };
    let label = LabelFact { name: "read:private".to_owned(), server: "mail".to_owned(), tool: "read".to_owned() };
    let echo = Echo {
        span: Span { segment: 0, start: 0, end: 1 },
        label: "read:private".to_owned(),
        server: "mail".to_owned(),
        tool: "read".to_owned(),
        encoding: Encoding::Base64,
        prose: true,
        length: 40,
        text: 7,
    };
    let reading = MeterReading { meter: "sampling".to_owned(), key: "files".to_owned(), amount: 3, window_seconds: 60 };
    Arc::new(Judged {
        facts: Facts {
            session: SessionId::parse("one").unwrap(),
            principal: Principal::parse("ada").unwrap(),
            client: ClientFacts { name: "client".to_owned(), version: "1".to_owned() },
            era: Era::Stateless,
            server: Some(server.clone()),
            server_trust: None,
            approver: None,
            labels: vec![label],
            echoes_incomplete: true,
            echoes: vec![echo],
            meters: Vec::new(),
            tool_rounds: 2,
            round: 1,
        },
        readings: vec![(PolicyName::parse("server-requests").unwrap(), vec![reading])],
        subject: Subject::Request(RequestSubject {
            server,
            kind: RequestKind::ElicitationUrl("https://example.org".to_owned()),
            document: document.clone(),
            segments: vec![segment],
        }),
        document: Some(document),
    })
}

fn told(name: &str, inputs: Vec<Arc<Judged>>) -> Record {
    Record { inputs, ..record(name) }
}

fn rows(store: &SqliteStore) -> i64 {
    store.read(|connection| Ok(connection.query_row("SELECT count(*) FROM payloads", [], |row| row.get(0))?)).unwrap()
}

#[test]
fn what_policies_were_told_is_read_back_with_the_key_alone() {
    let (_folder, home) = home();
    let store = store(&home);
    store.keep_payloads(Arc::new(PayloadKey::of(&home).unwrap()));
    let secret = "a text that nobody else may read";
    block_on(store.write(told("told", vec![judged(secret), judged("second round")]))).unwrap();
    let entry = store.latest(&Query::default()).unwrap().remove(0);
    let sealed = store.payload(&entry.payload.unwrap()).unwrap().unwrap();
    let key = PayloadKey::of(&home).unwrap();
    let opened = key.open(&sealed).unwrap();
    assert_eq!(opened, [(*judged(secret)).clone(), (*judged("second round")).clone()]);
    let is_hidden = |bytes: &[u8]| !bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(is_hidden(&sealed));
    for file in std::fs::read_dir(home.path()).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        assert!(is_hidden(&std::fs::read(&file).unwrap()), "{}", file.display());
    }
    let (_other_folder, other) = super::home();
    assert!(matches!(PayloadKey::of(&other).unwrap().open(&sealed), Err(PayloadError::Open)));
    for place in [0, 12, sealed.len() - 1] {
        let mut changed = sealed.clone();
        changed[place] ^= 1;
        assert!(matches!(key.open(&changed), Err(PayloadError::Open)), "byte {place}");
    }
    assert!(matches!(key.open(&[]), Err(PayloadError::Open)));
}

#[test]
fn nothing_is_kept_without_a_key_and_items_of_a_batch_share_one_payload() {
    let (_folder, home) = home();
    let store = store(&home);
    let batch = judged("batch");
    block_on(store.write(told("before", vec![Arc::clone(&batch)]))).unwrap();
    store.keep_payloads(Arc::new(PayloadKey::of(&home).unwrap()));
    for name in ["first", "second"] {
        block_on(store.write(told(name, vec![Arc::clone(&batch)]))).unwrap();
    }
    block_on(store.write(told("other", vec![judged("batch")]))).unwrap();
    let entries = store.latest(&Query::default()).unwrap();
    let payloads: Vec<_> = entries.iter().map(|entry| entry.payload).collect();
    assert_eq!(payloads[3], None);
    assert!(payloads[1].is_some() && payloads[1] == payloads[2] && payloads[0] != payloads[1], "{payloads:?}");
    assert_eq!(rows(&store), 2);
    assert!(store.verify(&[]).unwrap().holds());
}

#[test]
fn payloads_are_removed_by_their_own_age_and_the_chain_holds_without_them() {
    let (_folder, home) = home();
    let store = store(&home);
    store.keep_payloads(Arc::new(PayloadKey::of(&home).unwrap()));
    for index in 0..3 {
        let now = std::time::SystemTime::now();
        block_on(store.write(Record { at: now, ..told(&format!("tool-{index}"), vec![judged("x")]) })).unwrap();
    }
    let entries = store.latest(&Query::default()).unwrap();
    maintenance::prune(&store.shared, Retention::default()).unwrap();
    assert_eq!(rows(&store), 3);
    std::thread::sleep(Duration::from_millis(2));
    maintenance::prune(&store.shared, Retention { payloads: Duration::ZERO, ..Retention::default() }).unwrap();
    assert_eq!(rows(&store), 0);
    assert_eq!(store.payload(&entries[0].payload.unwrap()).unwrap(), None);
    assert_eq!(store.latest(&Query::default()).unwrap(), entries);
    assert!(store.verify(&[]).unwrap().holds());
}
