use portcullis_gates::Journal as _;

use super::{block_on, home, record, store};
use crate::{Head, HeadKey, Home, SignedHead, SqliteStore, Trouble};

/// A journal of one chain: its beginning, one lineup and ten passages.
fn written(home: &Home) -> SqliteStore {
    let store = store(home);
    for index in 0..10 {
        block_on(store.write(record(&format!("tool-{index}")))).unwrap();
    }
    assert!(store.verify(&[]).unwrap().holds());
    store
}

/// Tampers with the database and returns what is found.
fn found_after(sql: &str, heads: fn(&SqliteStore) -> Vec<Head>) -> Vec<Trouble> {
    let (_folder, home) = home();
    let store = written(&home);
    let heads = heads(&store);
    rusqlite::Connection::open(home.database()).unwrap().execute_batch(sql).unwrap();
    let verification = store.verify(&heads).unwrap();
    assert!(!verification.holds());
    verification.chains.into_iter().flat_map(|chain| chain.told).collect()
}

fn nothing(_: &SqliteStore) -> Vec<Head> {
    Vec::new()
}

#[test]
fn a_record_that_was_changed_is_found() {
    let changed = |sql| {
        let found = found_after(sql, nothing);
        assert!(matches!(found.as_slice(), [Trouble::Changed { sequence: 5, .. }]), "{sql}: {found:?}");
    };
    changed("UPDATE records SET body = replace(body, 'cleared', 'refused') WHERE sequence = 5");
    changed("UPDATE records SET at = at + 1 WHERE sequence = 5");
    changed("UPDATE records SET kind = 2 WHERE sequence = 5");
    let found = found_after("UPDATE records SET hash = zeroblob(32) WHERE sequence = 5", nothing);
    assert!(matches!(found.first(), Some(Trouble::Changed { sequence: 5, .. })), "{found:?}");
}

#[test]
fn a_record_that_was_removed_is_found() {
    assert_eq!(
        found_after("DELETE FROM records WHERE sequence IN (5, 6)", nothing),
        [Trouble::Missing { from: 5, to: 6 }]
    );
    assert_eq!(
        found_after("DELETE FROM records WHERE sequence < 3", nothing),
        [Trouble::Missing { from: 1, to: 2 }],
        "only retention removes the beginning, and it says so"
    );
}

#[test]
fn records_that_were_moved_are_found() {
    let found = found_after(
        "UPDATE records SET id = 1000 WHERE sequence = 5; UPDATE records SET id = 5 WHERE sequence = 6;
         UPDATE records SET id = 6 WHERE id = 1000;",
        nothing,
    );
    assert_eq!(found, [Trouble::Missing { from: 5, to: 5 }, Trouble::Moved { sequence: 5, id: 6 }]);
    let swapped = found_after(
        "UPDATE records SET body = (SELECT body FROM records WHERE sequence = 6) WHERE sequence = 5",
        nothing,
    );
    assert!(matches!(swapped.as_slice(), [Trouble::Changed { sequence: 5, .. }]), "{swapped:?}");
}

#[test]
fn a_chain_whose_end_was_cut_is_found() {
    assert_eq!(found_after("DELETE FROM records WHERE sequence > 8", nothing), [Trouble::Cut { known: 12 }]);
    let hiding = "DELETE FROM records WHERE sequence > 8;
         UPDATE chains SET sequence = 8, hash = (SELECT hash FROM records WHERE sequence = 8);";
    assert_eq!(found_after(hiding, |store| store.heads().unwrap()), [Trouble::Cut { known: 12 }]);
}

#[test]
fn the_next_process_bears_witness_of_the_former_ones() {
    let (_folder, home) = home();
    let head = {
        let first = written(&home);
        first.heads().unwrap()[0]
    };
    let second = written(&home);
    let database = rusqlite::Connection::open(home.database()).unwrap();
    database
        .execute_batch(
            "DELETE FROM records WHERE chain = 1 AND sequence > 8;
             UPDATE chains SET sequence = 8, hash = (SELECT hash FROM records WHERE chain = 1 AND sequence = 8)
             WHERE id = 1;",
        )
        .unwrap();
    let chains = second.verify(&[]).unwrap().chains;
    assert_eq!(chains[0].told, [Trouble::Cut { known: 12 }]);
    database.execute_batch("DELETE FROM records WHERE chain = 1; DELETE FROM chains WHERE id = 1").unwrap();
    let verification = second.verify(&[]).unwrap();
    assert!(!verification.holds());
    assert_eq!(verification.missing, [head], "a whole chain is missed too");
}

#[test]
fn a_chain_that_was_computed_anew_contradicts_a_head_that_was_kept() {
    let (_folder, home) = home();
    let store = written(&home);
    let kept = store.heads().unwrap();
    drop(store);
    let database = rusqlite::Connection::open(home.database()).unwrap();
    let rows: Vec<(i64, String)> = database
        .prepare("SELECT id, body FROM records ORDER BY id")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut link = crate::Link::start(kept[0].chain);
    for (id, body) in rows {
        let body = body.replace("tool-3", "tool-x");
        link = link.next(body.as_bytes());
        let hash = link.hash.as_bytes();
        database.execute("UPDATE records SET body = ?2, hash = ?3 WHERE id = ?1", (id, body, hash)).unwrap();
    }
    database.execute("UPDATE chains SET hash = ?1", [link.hash.as_bytes()]).unwrap();
    let store = super::store(&home);
    assert!(store.verify(&[]).unwrap().holds(), "by itself it proves nothing: the writer of the disk wrote it");
    let found = store.verify(&kept).unwrap();
    assert_eq!(found.chains[0].told, [Trouble::Contradicted { sequence: 12 }]);
}

#[test]
fn what_retention_removed_is_no_trouble() {
    let (_folder, home) = home();
    let store = written(&home);
    let retention = crate::Retention { records: 4, ..crate::Retention::default() };
    crate::maintenance::prune(&store.shared, retention).unwrap();
    let verification = store.verify(&store.heads().unwrap()).unwrap();
    assert!(verification.holds(), "{verification:?}");
    assert_eq!((verification.chains[0].pruned, verification.records()), (8, 4));
}

#[test]
fn a_signed_head_is_read_back_and_any_change_of_it_is_noticed() {
    let (_folder, home) = home();
    let store = written(&home);
    let key = HeadKey::of(&home).unwrap();
    assert_eq!(key.public(), HeadKey::of(&home).unwrap().public());
    let signed = key.sign(store.heads().unwrap()[0], std::time::SystemTime::now());
    assert!(signed.is_genuine());
    let read = SignedHead::parse(&signed.to_value().to_json()).unwrap();
    assert_eq!(read, signed);
    let mut other = signed.clone();
    other.head.link.sequence += 1;
    assert!(!other.is_genuine());
    assert!(!SignedHead { at: signed.at + 1, ..signed.clone() }.is_genuine());
    assert!(!SignedHead { key: "00".repeat(32), ..signed.clone() }.is_genuine());
    assert!(!SignedHead { signature: "x".to_owned(), ..signed }.is_genuine());
}

#[test]
fn a_segment_in_which_a_record_was_changed_is_kept_and_told() {
    let (_folder, home) = home();
    let folder = home.folder("journal").unwrap();
    // A process that ended without moving its records.
    let bounds = crate::append::Bounds::default();
    let left = crate::append::Appender::new(folder.clone(), crate::Durability::Process, bounds, Vec::new()).unwrap();
    for index in 0..3 {
        left.append(&record(&format!("tool-{index}"))).unwrap();
    }
    drop(left);
    let path = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&path).unwrap();
    let place = bytes.windows(6).position(|window| window == b"tool-1").unwrap();
    let changed = [&bytes[..place], b"tool-x", &bytes[place + 6..]].concat();
    std::fs::write(&path, changed).unwrap();
    let verification = store(&home).verify(&[]).unwrap();
    assert!(!verification.holds());
    assert_eq!(verification.damaged_segments, 1);
    assert_eq!(verification.records(), 3, "the beginning, the lineup and one passage stand before it");
}

#[test]
fn a_record_that_was_half_written_when_its_process_ended_is_cut_off() {
    let (_folder, home) = home();
    let folder = home.folder("journal").unwrap();
    let bounds = crate::append::Bounds::default();
    let left = crate::append::Appender::new(folder.clone(), crate::Durability::Process, bounds, Vec::new()).unwrap();
    for index in 0..3 {
        left.append(&record(&format!("tool-{index}"))).unwrap();
    }
    drop(left);
    let path = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 40]).unwrap();
    let store = store(&home);
    let verification = store.verify(&[]).unwrap();
    assert!(verification.holds(), "{verification:?}");
    assert_eq!(verification.records(), 4);
    assert!(!path.exists());
}
