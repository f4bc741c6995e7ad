use portcullis_config::ServerOptions;
use portcullis_model::json::parse_str;

use super::*;
use crate::gateway::tests::support::entry;

fn place(folder: &Path) -> Place {
    Place::new(folder, &entry("s"), &ServerOptions::default(), &Object::new().into())
}

fn remembered(ttl_ms: Option<u64>) -> Remembered {
    let tool = r#"{"name":"t","inputSchema":{"type":"object","x":1.50,"$defs":{"big":12345678901234567890123}}}"#;
    let greeting = Greeting {
        revision: "2025-11-25".to_owned(),
        implementation: None,
        capabilities: parse_str(r#"{"tools":{}}"#).unwrap(),
        instructions: Some("Read this.".to_owned()),
    };
    let raw = RawListing {
        tools: vec![parse_str(tool).unwrap()],
        instructions: greeting.instructions.clone(),
        ttl_ms,
        ..RawListing::default()
    };
    Remembered { greeting, raw }
}

#[test]
fn lists_come_back_value_for_value_from_a_file_that_only_its_owner_reads() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    assert!(place.load().is_none());
    let stored = remembered(None);
    place.store(&stored).unwrap();
    place.store(&stored).unwrap();
    let loaded = place.load().unwrap();
    assert_eq!(loaded.raw.tools[0].to_json(), stored.raw.tools[0].to_json());
    assert_eq!((loaded.greeting, loaded.raw.instructions), (stored.greeting, stored.raw.instructions));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&place.path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_list_stands_as_long_as_its_server_said() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    place.store(&remembered(Some(0))).unwrap();
    assert!(place.load().is_none());
    place.store(&remembered(Some(60_000))).unwrap();
    assert!(place.load().is_some());
}

#[test]
fn a_file_that_is_broken_or_of_another_entry_is_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mine = place(folder.path());
    mine.store(&remembered(None)).unwrap();
    let whole = fs::read_to_string(&mine.path).unwrap();
    let other = ServerOptions { trust: Some(portcullis_model::Trust::Untrusted), ..ServerOptions::default() };
    assert!(Place::new(folder.path(), &entry("s"), &other, &Object::new().into()).load().is_none());
    for broken in ["", "{}", "[1]", &whole[..whole.len() / 2], &whole.replace("\"form\":1", "\"form\":2")] {
        fs::write(&mine.path, broken).unwrap();
        assert!(mine.load().is_none(), "{broken}");
    }
    fs::write(&mine.path, vec![b' '; usize::try_from(LONGEST).unwrap() + 1]).unwrap();
    assert!(mine.load().is_none());
}

#[test]
fn a_list_that_is_not_whole_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = remembered(None);
    part.raw.incomplete.insert(crate::method::Listable::Tools, "a page is missing".to_owned());
    place(folder.path()).store(&part).unwrap();
    assert!(place(folder.path()).load().is_none());
}
