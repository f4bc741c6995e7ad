use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use portcullis_gates::Journal as _;

use super::{block_on, home, record, store};
use crate::{Home, HomeError, OpenError, SqliteStore, StoreOptions};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_home_is_0700_and_every_file_of_the_database_0600() {
    let (_folder, home) = home();
    let store = store(&home);
    block_on(store.write(record("echo"))).unwrap();
    assert_eq!(mode(home.path()), 0o700);
    assert_eq!(mode(&home.folder("logs").unwrap()), 0o700);
    let files: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let database_files: Vec<_> = files.iter().filter(|path| path.is_file()).collect();
    assert_eq!(database_files.len(), 3, "the database, its log and its index: {files:?}");
    let segments: Vec<_> =
        std::fs::read_dir(home.path().join("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(segments.len(), 1, "{segments:?}");
    for file in database_files.into_iter().chain(&segments) {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    assert_eq!(mode(&home.path().join("journal")), 0o700);
}

#[test]
fn a_home_and_a_database_that_were_open_to_others_are_closed() {
    let (_folder, home) = home();
    drop(store(&home));
    for (path, mode) in [(home.path().to_owned(), 0o755), (home.database(), 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    drop(store(&Home::open(home.path()).unwrap()));
    assert_eq!((mode(home.path()), mode(&home.database())), (0o700, 0o600));
}

#[test]
fn a_link_in_the_place_of_the_database_is_not_followed() {
    let (folder, home) = home();
    let target = folder.path().join("elsewhere.db");
    std::fs::write(&target, b"").unwrap();
    std::os::unix::fs::symlink(&target, home.database()).unwrap();
    let error = SqliteStore::open(&home, StoreOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert_eq!(std::fs::read(&target).unwrap(), b"");
}

#[test]
fn a_key_is_made_once_and_only_for_its_owner() {
    let (_folder, home) = home();
    let key = home.key("digest.key").unwrap();
    assert_ne!(key, [0; 32]);
    assert_eq!(home.key("digest.key").unwrap(), key);
    assert_ne!(home.key("other.key").unwrap(), key);
    let path = home.path().join("digest.key");
    assert_eq!(mode(&path), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(home.key("digest.key"), Err(HomeError::Key { .. })), "others have read it");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, b"short").unwrap();
    assert!(matches!(home.key("digest.key"), Err(HomeError::Key { .. })));
}

#[test]
fn gateways_that_start_at_once_agree_on_a_key() {
    let (_folder, home) = home();
    let keys: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| home.key("digest.key").unwrap())).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing is left beside");
}

#[test]
fn a_file_in_the_place_of_the_home_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home");
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(Home::open(&path), Err(HomeError::Folder { .. } | HomeError::NotAFolder(_))));
}

#[test]
fn the_home_is_what_the_variable_says_and_else_in_the_users_own_folder() {
    let locate = |ours: Option<&str>, users: Option<&str>| Home::locate(ours.map(Into::into), users.map(Into::into));
    assert_eq!(locate(Some("/srv/gate"), Some("/home/ada")).unwrap(), Path::new("/srv/gate"));
    assert_eq!(locate(Some(""), Some("/home/ada")).unwrap(), Path::new("/home/ada/.portcullis"));
    assert!(matches!(locate(None, Some("")), Err(HomeError::Unknown)));
}
