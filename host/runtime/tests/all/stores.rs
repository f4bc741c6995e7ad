//! A store follows its folder, and nothing that is wrong there changes anything.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_gates::{Gates, Mode, NoJournal, PolicySource};
use portcullis_model::json::Value;
use portcullis_model::{GateName, PolicyName};
use portcullis_runtime::{
    BundledPolicy, Loader, PackFile, PolicyConfig, PolicyEvent, PolicyStore, SelfTestError, StoreConfig, Unsigned,
    Watching,
};
use tempfile::TempDir;

use crate::guest::{component, component_of, engine};

/// A guest that calls itself otherwise. The name in `base.wat` has five letters.
fn named(name: &str, parts: &str) -> Vec<u8> {
    assert_eq!(name.len(), 5);
    component_of(&format!("{parts}\n(data (i32.const 16) \"{name}\")"))
}

fn policy(name: &str) -> PolicyName {
    PolicyName::parse(name).unwrap()
}

fn pack(version: &str, data: &str) -> PackFile {
    PackFile::parse(format!("name: iocs\nversion: {version}\ngrows: ['']\ndata: {data}").as_bytes()).unwrap()
}

struct Home {
    folder: TempDir,
    store: Arc<PolicyStore>,
    gates: Arc<Gates>,
}

impl Home {
    fn new() -> Self {
        Self::with(|_| {}, |store| store)
    }

    fn with(config: impl FnOnce(&mut StoreConfig), store: impl FnOnce(PolicyStore) -> PolicyStore) -> Self {
        let folder = TempDir::new().unwrap();
        let bundled = BundledPolicy {
            name: policy("guest"),
            wasm: component_of("").leak(),
            settings: Value::Null,
            packs: vec![pack("1.0.0", "[a]")],
            optional: false,
        };
        let mut stated =
            StoreConfig { unsigned: Unsigned::All, folder: Some(folder.path().to_owned()), ..StoreConfig::default() };
        config(&mut stated);
        let loader = Loader::without_cache(engine()).unwrap();
        let store = Arc::new(store(PolicyStore::new(loader, vec![bundled], stated)));
        let gates = Arc::new(Gates::new(store.load(), Arc::new(NoJournal)));
        Self { folder, store, gates }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes as the documentation says: under another name, then renamed.
    fn drop(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let draft = self.file(&format!(".{name}.draft"));
        fs::write(&draft, bytes).unwrap();
        fs::rename(draft, self.file(name)).unwrap();
    }

    fn refresh(&self) -> bool {
        self.store.refresh(&self.gates).is_some()
    }

    fn names(&self) -> Vec<String> {
        self.gates.set().policies().iter().map(|policy| policy.description.name.to_string()).collect()
    }

    /// Expects that a look changes nothing and names the reason.
    fn expect_refused(&self, what: &str, reason: &str) {
        let before = (self.names(), self.gates.set().generation);
        assert!(!self.refresh());
        assert_eq!((self.names(), self.gates.set().generation), before);
        let refused = self.store.refused();
        assert!(
            refused.iter().any(|(name, why)| name == what && why.contains(reason)),
            "nothing refuses {what} because of {reason:?}: {refused:?}"
        );
    }
}

#[test]
fn the_first_set_is_the_bundle() {
    let home = Home::new();
    assert_eq!(home.names(), ["guest"]);
    let [status] = home.store.status().try_into().unwrap();
    assert_eq!(status.source, PolicySource::Bundle);
    assert_eq!(status.packs, [("iocs".to_owned(), "1.0.0".to_owned())]);
    assert!(status.required);
    assert!(status.loosened.is_empty());
    assert!(!home.refresh());
}

#[test]
fn a_dropped_module_is_added_and_the_others_are_not_touched() {
    let home = Home::new();
    let before = home.gates.set();
    home.drop("other.wasm", named("other", ""));
    let mut events = home.store.events();
    assert!(home.refresh());
    assert_eq!(home.names(), ["guest", "other"]);
    assert!(Arc::ptr_eq(&before.policies()[0], &home.gates.set().policies()[0]));
    assert!(matches!(events.try_recv(), Ok(PolicyEvent::Loaded { policy, .. }) if policy.as_str() == "other"));
    assert!(matches!(events.try_recv(), Ok(PolicyEvent::Published { .. })));
    fs::remove_file(home.file("other.wasm")).unwrap();
    assert!(home.refresh());
    assert_eq!(home.names(), ["guest"]);
}

#[test]
fn a_broken_module_changes_nothing() {
    let home = Home::new();
    home.drop("other.wasm", b"\0asm no such thing");
    home.expect_refused("other", "no WebAssembly component");
    home.drop("other.wasm", named("other", ""));
    assert!(home.refresh());
    // Broken in the place of one that works: that one stays.
    home.drop("other.wasm", component("endless-configure"));
    home.drop("other.wasm", b"broken");
    home.expect_refused("other", "no WebAssembly component");
    assert_eq!(home.names(), ["guest", "other"]);
}

#[test]
fn a_module_that_stays_broken_is_tried_and_told_once() {
    let home = Home::new();
    let mut events = home.store.events();
    home.drop("other.wasm", named("other", "(func $configure (param i32 i32 i32 i32) (result i32) (unreachable))"));
    for _ in 0..3 {
        home.expect_refused("other", "configured");
    }
    let told: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
    assert!(matches!(told.as_slice(), [PolicyEvent::Refused { .. }]), "{told:?}");
}

#[test]
fn the_folder_may_not_loosen_what_the_bundle_has() {
    let home = Home::new();
    home.drop("guest.wasm", component_of(";; another\n(data (i32.const 4096) \"x\")"));
    home.expect_refused("guest", "not replace");
    fs::remove_file(home.file("guest.wasm")).unwrap();
    home.drop("guest.yaml", "mode: off");
    home.expect_refused("guest", "not replace");
}

#[test]
fn a_module_must_be_called_as_it_calls_itself() {
    let home = Home::new();
    home.drop("other.wasm", component_of(""));
    home.expect_refused("other", "calls itself `guest`");
}

#[test]
fn an_unsigned_module_takes_the_operators_word() {
    let home = Home::with(|config| config.unsigned = Unsigned::Packs, |store| store);
    home.drop("other.wasm", named("other", ""));
    home.expect_refused("other", "allow_unsigned");
}

#[test]
fn a_required_policy_cannot_be_removed() {
    let home = Home::with(|config| config.required = Some(vec![policy("guest"), policy("other")]), |store| store);
    assert_eq!(home.store.missing(), [(policy("other"), GateName::ALL.to_vec())]);
    assert!(home.gates.set().missing(GateName::Config).is_some());
    home.drop("other.wasm", named("other", ""));
    assert!(home.refresh());
    assert!(home.gates.set().missing(GateName::Config).is_none());
    fs::remove_file(home.file("other.wasm")).unwrap();
    home.expect_refused("other", "required");
    assert_eq!(home.names(), ["guest", "other"]);
}

#[test]
fn a_file_that_cannot_be_read_does_not_count_as_removed() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.drop("other.wasm", named("other", ""));
    assert!(home.refresh());
    fs::set_permissions(home.file("other.wasm"), fs::Permissions::from_mode(0o666)).unwrap();
    home.expect_refused("other.wasm", "everybody may write");
    assert_eq!(home.names(), ["guest", "other"]);
}

#[test]
fn a_newer_pack_reconfigures_its_policy_and_an_older_one_is_refused() {
    let home = Home::new();
    let before = home.gates.set().policies()[0].digest;
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 1.1.0\ndata: [a, b]");
    assert!(home.refresh());
    assert_ne!(home.gates.set().policies()[0].digest, before);
    assert_eq!(home.store.status()[0].packs, [("iocs".to_owned(), "1.1.0".to_owned())]);
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 1.0.5\ndata: []");
    home.expect_refused("iocs.pack.yaml", "older than 1.1.0");
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 1.1.0\ndata: []");
    home.expect_refused("iocs.pack.yaml", "raise its version");
    // Gone: what was seen stays.
    fs::remove_file(home.file("iocs.pack.yaml")).unwrap();
    assert!(!home.refresh());
    assert_eq!(home.store.seen_versions(), [(policy("guest"), "iocs".to_owned(), "1.1.0".to_owned())]);
}

#[test]
fn a_pack_of_the_folder_adds_to_the_one_of_the_bundle_and_takes_nothing_away() {
    let home = Home::new();
    let before = home.gates.set().policies()[0].digest;
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 2.0.0\ndata: []");
    home.refresh();
    let emptied = home.gates.set().policies()[0].digest;
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 3.0.0\ndata: [a]");
    home.refresh();
    // The data is the bundle's in both cases; the version is of the file.
    assert_ne!(emptied, before);
    assert_ne!(home.gates.set().policies()[0].digest, emptied);
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 4.0.0\ndata: {a: 1}");
    home.expect_refused("iocs.pack.yaml", "may add to the pack `iocs`");
    assert_eq!(home.store.status()[0].packs, [("iocs".to_owned(), "3.0.0".to_owned())]);
}

#[test]
fn what_the_operator_switches_off_is_shown_but_neither_compiled_nor_missed() {
    let home = Home::with(
        |config| {
            let mut guest = PolicyConfig::new(policy("guest"));
            guest.mode = Some(Mode::Off);
            config.policies.push(guest);
        },
        |store| store.with_self_test(Arc::new(|_, _| Err(SelfTestError("it was started".to_owned())))),
    );
    assert_eq!(home.names(), Vec::<String>::new());
    assert_eq!((home.store.missing(), home.store.refused()), (Vec::new(), Vec::new()));
    let status = home.store.status();
    assert_eq!((status[0].loosened.as_slice(), status[0].mode), (&["mode: off"][..], Mode::Off));
    assert!(!status[0].gates.is_empty() && status[0].required);
}

#[test]
fn a_pack_that_an_earlier_process_has_outgrown_is_refused() {
    let seen = (policy("guest"), "iocs".to_owned(), "3.0.0".to_owned());
    let home = Home::with(|_| {}, |store| store.with_seen_versions([seen]));
    home.drop("iocs.pack.yaml", "policy: guest\nname: iocs\nversion: 2.0.0\ndata: []");
    home.expect_refused("iocs.pack.yaml", "older than 3.0.0");
}

#[test]
fn files_that_do_not_belong_there_are_named() {
    let home = Home::new();
    home.drop("notes.txt", "hello");
    home.expect_refused("notes.txt", ".wasm");
    home.drop("nobody.pack.yaml", "name: iocs\nversion: 1\ndata: []");
    home.expect_refused("nobody.pack.yaml", "names no policy");
    home.drop("stranger.pack.yaml", "policy: stranger\nname: iocs\nversion: 1\ndata: []");
    home.expect_refused("stranger.pack.yaml", "no policy `stranger`");
    home.drop("alone.yaml", "a: 1");
    home.expect_refused("alone", "no module");
}

#[test]
fn what_the_operator_loosens_is_applied_and_shown() {
    let home = Home::with(
        |config| {
            let mut guest = PolicyConfig::new(policy("guest"));
            guest.mode = Some(Mode::Shadow);
            config.policies.push(guest);
        },
        |store| store,
    );
    assert_eq!(home.gates.set().policies()[0].mode, Mode::Shadow);
    assert_eq!(home.store.status()[0].loosened, ["mode: shadow"]);
}

#[test]
fn the_operator_may_place_a_module_elsewhere() {
    let elsewhere = TempDir::new().unwrap();
    let path = elsewhere.path().join("mine.wasm");
    fs::write(&path, component_of("(data (i32.const 4096) \"mine\")")).unwrap();
    let home = Home::with(
        |config| {
            config.policies.push(PolicyConfig { path: Some(path.clone()), ..PolicyConfig::new(policy("guest")) });
        },
        |store| store,
    );
    assert!(matches!(home.store.status()[0].source, PolicySource::Config(_)));
    fs::remove_file(&path).unwrap();
    home.expect_refused("guest", "not read");
    assert_eq!(home.names(), ["guest"]);
}

#[test]
fn a_policy_that_fails_its_self_test_is_not_published() {
    let home = Home::with(
        |_| {},
        |store| {
            store.with_self_test(Arc::new(|loaded, _| {
                if loaded.description.name.as_str() == "other" {
                    return Err(SelfTestError("case `benign` was denied".to_owned()));
                }
                Ok(())
            }))
        },
    );
    home.drop("other.wasm", named("other", ""));
    home.expect_refused("other", "case `benign` was denied");
}

#[test]
fn a_cache_that_was_tampered_with_is_an_alarm_and_the_policies_are_there_all_the_same() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    let bundled = |wasm: &'static [u8]| BundledPolicy {
        name: policy("guest"),
        wasm,
        settings: Value::Null,
        packs: Vec::new(),
        optional: false,
    };
    let wasm: &'static [u8] = component_of("").leak();
    let engine = engine();
    let store = || {
        let loader = Loader::with_cache(engine.clone(), &cache).unwrap();
        PolicyStore::new(loader, vec![bundled(wasm)], StoreConfig::default())
    };
    store().load();
    for entry in fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "policy") {
            fs::write(entry, b"native code of somebody else").unwrap();
        }
    }
    let store = store();
    let mut events = store.events();
    assert_eq!(store.load().policies().len(), 1);
    assert_eq!(store.alarms(), 1);
    let told: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
    assert!(told.iter().any(|event| matches!(event, PolicyEvent::Alarm { what, .. } if what == "cache")), "{told:?}");
}

#[test]
fn a_watched_folder_is_followed_once_it_settled() {
    let home = Home::new();
    let watching = Watching::start(Arc::clone(&home.store), Arc::clone(&home.gates)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let before = Instant::now();
    home.drop("other.wasm", named("other", ""));
    while home.names().len() < 2 {
        assert!(before.elapsed() < Duration::from_secs(20), "{:?}", home.store.refused());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(before.elapsed() >= Duration::from_millis(500));
    drop(watching);
}
