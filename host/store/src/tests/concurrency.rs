use std::collections::BTreeSet;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use portcullis_gates::Journal as _;

use super::crash::Writing;
use super::{block_on, home, record, store};
use crate::{JournalReader as _, Query};

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
    let mut other = Writing::start(&home);
    let mut own = 0;
    while other.acknowledged() < 200 {
        block_on(store.write(record("own"))).unwrap();
        own += 1;
    }
    let theirs = other.kill();
    block_on(store.write(record("last"))).unwrap();
    let entries = store.latest(&Query { limit: Query::MOST, ..Query::default() }).unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.name == "own").count().min(own), own.min(Query::MOST));
    assert!(entries.iter().filter(|entry| entry.name.starts_with("child-")).count() >= theirs.min(Query::MOST - own));
}

#[test]
fn a_lock_that_another_process_keeps_is_an_error_in_bounded_time_and_harms_nothing_later() {
    let (_folder, home) = home();
    let store = store(&home);
    block_on(store.write(record("before"))).unwrap();
    let other = rusqlite::Connection::open(home.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let error = block_on(store.write(record("during"))).unwrap_err();
    assert!(error.to_string().contains("locked"), "{error}");
    assert!((Duration::from_secs(3)..Duration::from_secs(30)).contains(&start.elapsed()), "{:?}", start.elapsed());
    other.execute_batch("COMMIT").unwrap();
    block_on(store.write(record("after"))).unwrap();
    let names: Vec<_> = store.latest(&Query::default()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["after", "before"]);
}

#[test]
fn a_short_lock_of_another_process_only_delays() {
    let (_folder, home) = home();
    let store = store(&home);
    let other = rusqlite::Connection::open(home.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(store.write(record("patient"))));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished(), "nothing is acknowledged before it is written");
        other.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(store.latest(&Query::default()).unwrap().len(), 1);
}

#[test]
fn nobody_waits_for_a_caller_that_is_not_polled_again() {
    let (_folder, home) = home();
    let store = store(&home);
    let mut context = Context::from_waker(Waker::noop());
    let mut first = store.write(record("first"));
    assert!(first.as_mut().poll(&mut context).is_pending(), "it lets others have a turn");
    let mut second = store.write(record("second"));
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    assert_eq!(store.latest(&Query::default()).unwrap().len(), 2, "it wrote the other one's record as well");
    assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(Ok(())));
}

#[test]
fn the_record_of_a_caller_that_is_cancelled_is_written() {
    let (_folder, home) = home();
    let store = store(&home);
    let mut cancelled = store.write(record("cancelled"));
    assert!(cancelled.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(cancelled);
    assert_eq!(store.latest(&Query::default()).unwrap()[0].name, "cancelled");
}
