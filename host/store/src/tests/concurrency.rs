use std::collections::BTreeSet;
use std::time::Duration;

use portcullis_gates::Journal as _;

use super::crash::Writing;
use super::{all, block_on, home, record, store};
use crate::{Durability, JournalReader as _, Query, SqliteStore, StoreError, StoreOptions};

#[test]
fn sixteen_callers_each_get_their_own_record_written_once() {
    let (_folder, home) = home();
    let store = store(&home);
    std::thread::scope(|scope| {
        for caller in 0..16 {
            let store = &store;
            scope.spawn(move || {
                for index in 0..50 {
                    block_on(store.write(record(&format!("{caller}-{index}")))).unwrap();
                }
            });
        }
    });
    let entries = store.latest(&Query { limit: 10_000, ..Query::default() }).unwrap();
    let names: BTreeSet<_> = entries.iter().map(|entry| entry.name.clone()).collect();
    assert_eq!((entries.len(), names.len()), (800, 800));
}

#[test]
fn gateways_of_two_processes_write_to_one_home() {
    let (_folder, home) = home();
    let store = store(&home);
    let other = Writing::start(&home);
    let mut own = 0;
    while other.acknowledged() < 200 {
        block_on(store.write(record("own"))).unwrap();
        own += 1;
        std::thread::yield_now();
    }
    let theirs = other.kill();
    block_on(store.write(record("last"))).unwrap();
    let names: Vec<_> = all(&store).into_iter().map(|entry| entry.name).collect();
    assert_eq!(names.iter().filter(|name| *name == "own").count(), own);
    let written: BTreeSet<_> = names.into_iter().collect();
    assert!(theirs.iter().all(|name| written.contains(name)));
}

#[test]
fn records_are_written_while_another_process_keeps_the_database_locked() {
    let (_folder, home) = home();
    let store = store(&home);
    block_on(store.write(record("before"))).unwrap();
    assert_eq!(store.latest(&Query::default()).unwrap().len(), 1);
    let other = rusqlite::Connection::open(home.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    block_on(store.write(record("during"))).unwrap();
    let error = store.latest(&Query::default()).unwrap_err();
    assert!(matches!(error, StoreError::Sqlite(_)), "reading waits in bounded time and then says why: {error:?}");
    other.execute_batch("COMMIT").unwrap();
    block_on(store.write(record("after"))).unwrap();
    let names: Vec<_> = store.latest(&Query::default()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["after", "during", "before"]);
}

#[test]
fn a_short_lock_of_another_process_only_delays_readers() {
    let (_folder, home) = home();
    let store = store(&home);
    let other = rusqlite::Connection::open(home.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    block_on(store.write(record("patient"))).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.latest(&Query::default()).unwrap().len());
        std::thread::sleep(Duration::from_millis(50));
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap(), 1);
    });
}

#[test]
fn the_record_of_a_caller_that_is_cancelled_is_written() {
    for durability in [Durability::Process, Durability::Power] {
        let (_folder, home) = home();
        let store = SqliteStore::open(&home, StoreOptions { durability, ..StoreOptions::default() }).unwrap();
        drop(store.write(record("cancelled")));
        assert_eq!(store.latest(&Query::default()).unwrap()[0].name, "cancelled");
    }
}

#[test]
fn callers_that_wait_for_the_disk_are_all_told() {
    let (_folder, home) = home();
    let options = StoreOptions { durability: Durability::Power, ..StoreOptions::default() };
    let store = SqliteStore::open(&home, options).unwrap();
    let writes: Vec<_> = (0..200).map(|index| store.write(record(&format!("tool-{index}")))).collect();
    for write in writes {
        block_on(write).unwrap();
    }
    assert_eq!(store.latest(&Query { limit: 1_000, ..Query::default() }).unwrap().len(), 200);
}
