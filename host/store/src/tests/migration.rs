use portcullis_gates::Journal as _;

use super::{block_on, home, record, store};
use crate::{
    Durability, GrantList as _, JournalReader as _, MigrateError, OpenError, Pins as _, Query, SqliteStore,
    StoreOptions,
};
use crate::{migrate, open};

#[test]
fn a_database_of_the_first_layout_is_brought_up_to_date_with_its_records() {
    let (_folder, home) = home();
    std::fs::write(home.database(), b"").unwrap();
    let mut old = open::open(&home.database(), Durability::Process).unwrap();
    migrate::migrate_to(&mut old, 1).unwrap();
    old.execute(
        "INSERT INTO journal (at, session, gate, server, name, subject, generation, decision, elapsed, policies)
         VALUES (unixepoch() * 1000000, 's', 'call', 'files', 'old', zeroblob(32), 1, 0, 1, '[]')",
        [],
    )
    .unwrap();
    drop(old);

    let store = store(&home);
    block_on(store.write(record("new"))).unwrap();
    let names: Vec<_> = store.latest(&Query::default()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["new", "old"]);
    assert_eq!(store.pins("files").unwrap(), []);
    assert_eq!(store.all_grants().unwrap(), []);
}

#[test]
fn gateways_that_start_at_once_migrate_once() {
    let (_folder, home) = home();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| block_on(store(&home).write(record("echo"))).unwrap());
        }
    });
    assert_eq!(store(&home).latest(&Query::default()).unwrap().len(), 4);
}

#[test]
fn a_database_of_a_newer_program_is_left_alone() {
    let (_folder, home) = home();
    drop(store(&home));
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = SqliteStore::open(&home, StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, OpenError::Migrate { source: MigrateError::Newer { found: 99, known: 5 }, .. }),
        "{error:?}"
    );
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let (_folder, home) = home();
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    connection.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    drop(connection);
    let error = SqliteStore::open(&home, StoreOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::Migrate { source: MigrateError::Foreign, .. }), "{error:?}");
}

#[test]
fn a_file_that_is_no_database_is_an_error() {
    let (_folder, home) = home();
    std::fs::write(home.database(), "no database at all, but long enough to have a header in it".repeat(20)).unwrap();
    let error = SqliteStore::open(&home, StoreOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::Sqlite { .. }), "{error:?}");
}
