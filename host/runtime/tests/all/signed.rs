//! What a store takes from its folder where signatures are asked for, and what each refusal says.

mod bundles;
mod offers;
mod standing;
mod trials;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use portcullis_gates::{Gates, Mode, NoJournal};
use portcullis_model::json::Value;
use portcullis_model::{GateName, PolicyName};
use portcullis_runtime::{
    BundledPolicy, Loader, MoveError, PackFile, PolicyConfig, PolicyEvent, PolicyStore, StepOutcome, StoreConfig,
    Unsigned,
};
use portcullis_signatures::{Bundle, BundleFile, Manifest, Names, SecretKey, Trust, TrustedKey};
use tempfile::TempDir;

use crate::guest::{component_of, engine};

/// A guest of another name and version. In `base.wat` each of both has five letters.
fn named(name: &str, version: &str) -> Vec<u8> {
    assert_eq!((name.len(), version.len()), (5, 5));
    component_of(&format!("(data (i32.const 16) \"{name}\")\n(data (i32.const 24) \"{version}\")"))
}

fn policy(name: &str) -> PolicyName {
    PolicyName::parse(name).unwrap()
}

struct Home {
    folder: TempDir,
    store: Arc<PolicyStore>,
    gates: Arc<Gates>,
    key: SecretKey,
}

fn trusted(key: &SecretKey) -> TrustedKey {
    let names = Names::parse(["acme*", "guest"]).unwrap();
    TrustedKey { name: "acme".to_owned(), key: key.public(), names, gates: None, may_loosen: false }
}

impl Home {
    fn new() -> Self {
        Self::with(|_| {}, |_| {}, |store| store)
    }

    fn with(
        scope: impl FnOnce(&mut TrustedKey),
        config: impl FnOnce(&mut StoreConfig),
        store: impl FnOnce(PolicyStore) -> PolicyStore,
    ) -> Self {
        Self::in_folder(TempDir::new().unwrap(), SecretKey::generate().unwrap(), scope, config, store)
    }

    /// Starts again with what lies in the folder.
    fn restarted(self) -> Self {
        let seen = self.store.seen_versions();
        Self::in_folder(self.folder, self.key, |_| {}, |_| {}, |store| store.with_seen_versions(seen))
    }

    fn in_folder(
        folder: TempDir,
        key: SecretKey,
        scope: impl FnOnce(&mut TrustedKey),
        config: impl FnOnce(&mut StoreConfig),
        store: impl FnOnce(PolicyStore) -> PolicyStore,
    ) -> Self {
        let mut trusted = trusted(&key);
        scope(&mut trusted);
        let pack = PackFile::parse(b"name: iocs\nversion: 1.0.0\ngrows: ['']\ndata: [a]").unwrap();
        let bundled = BundledPolicy {
            name: policy("guest"),
            wasm: component_of("").leak(),
            settings: Value::Null,
            packs: vec![pack],
            optional: false,
        };
        let mut stated = StoreConfig {
            trust: Trust::new(vec![trusted]),
            folder: Some(folder.path().to_owned()),
            trial: Some(folder.path().join(".trial")),
            ..StoreConfig::default()
        };
        config(&mut stated);
        let loader = Loader::without_cache(engine()).unwrap();
        let store = Arc::new(store(PolicyStore::new(loader, vec![bundled], stated)));
        let gates = Arc::new(Gates::new(store.load(), Arc::new(NoJournal)));
        Self { folder, store, gates, key }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn drop(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let draft = self.file(&format!(".{name}.draft"));
        fs::write(&draft, bytes).unwrap();
        fs::rename(draft, self.file(name)).unwrap();
    }

    fn drop_signed(&self, name: &str, bytes: &[u8]) {
        self.drop(&format!("{name}.minisig"), self.key.sign(bytes, name).unwrap());
        self.drop(name, bytes);
    }

    fn refresh(&self) -> bool {
        self.store.refresh(&self.gates).is_some()
    }

    fn names(&self) -> Vec<String> {
        self.gates.set().policies().iter().map(|policy| policy.description.name.to_string()).collect()
    }

    fn version(&self, name: &str) -> String {
        self.store.status().iter().find(|status| status.name.as_str() == name).unwrap().version.clone()
    }

    /// Expects that a look changes nothing and says why.
    fn expect_refused(&self, what: &str, reason: &str) {
        let before = (self.names(), self.gates.set().generation);
        assert!(!self.refresh(), "{:?}", self.store.refused());
        assert_eq!((self.names(), self.gates.set().generation), before);
        let refused = self.store.refused();
        assert!(
            refused.iter().any(|(name, why)| name == what && why.contains(reason)),
            "nothing refuses {what} because of {reason:?}: {refused:?}"
        );
        let told = |step: &StepOutcome| matches!(step, StepOutcome::Failed(why) if why.contains(reason));
        let pipelines = self.store.pipelines();
        assert!(
            pipelines.iter().any(|pipeline| pipeline.what == what
                && pipeline.steps.iter().any(|step| told(&step.outcome))
                && pipeline.generation.is_none()),
            "{pipelines:?}"
        );
    }

    fn manifest(version: &str) -> Manifest {
        Manifest {
            name: policy("acme-site"),
            version: version.to_owned(),
            minimum_host: None,
            expires: None,
            capabilities: Vec::new(),
            files: Vec::new(),
        }
    }

    fn bundle(&self, manifest: Manifest, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let file = |(name, bytes): &(&str, Vec<u8>)| BundleFile { name: (*name).to_owned(), bytes: bytes.clone() };
        let files: Vec<_> = files.iter().map(file).collect();
        Bundle::archive(manifest, &files, |bytes| self.key.sign(bytes, "manifest.json")).unwrap()
    }
}

const PACK: &str = "policy: guest\nname: iocs\n";

#[test]
fn what_a_trusted_key_signed_is_taken_and_says_who_signed_it() {
    let home = Home::new();
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    home.drop_signed("iocs.pack.yaml", format!("{PACK}version: 1.1.0\ndata: [a, b]").as_bytes());
    assert!(home.refresh(), "{:?}", home.store.refused());
    assert_eq!(home.names(), ["acme1", "guest"]);
    let status = home.store.status();
    assert_eq!(status[0].signed_by.as_deref(), Some("acme"));
    assert_eq!(status[1].packs, [("iocs".to_owned(), "1.1.0".to_owned())]);
    let pipelines = home.store.pipelines();
    let steps: Vec<_> = pipelines.last().unwrap().steps.iter().map(|step| step.name).collect();
    assert_eq!((steps.first(), steps.last()), (Some(&"verify"), Some(&"publish")), "{pipelines:?}");
    assert!(steps.contains(&"compile") && steps.contains(&"enforce"), "{steps:?}");
    assert!(home.store.seen_versions().contains(&(policy("acme1"), String::new(), "1.0.0".to_owned())));
}

#[test]
fn an_unsigned_module_settings_or_pack_is_refused() {
    let home = Home::new();
    home.drop("acme1.wasm", named("acme1", "1.0.0"));
    home.expect_refused("acme1", "no signature of a trusted key");
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    home.drop("acme1.yaml", "a: 1");
    home.expect_refused("acme1", "its settings `acme1.yaml` have no signature");
    home.drop("iocs.pack.yaml", format!("{PACK}version: 1.1.0\ndata: [a, b]"));
    home.expect_refused("iocs.pack.yaml", "the pack has no signature");
    home.drop_signed("acme1.yaml", b"a: 1");
    assert!(home.refresh());
}

#[test]
fn a_wrong_key_a_changed_byte_and_a_truncated_file_are_told_apart() {
    let home = Home::new();
    let module = named("acme1", "1.0.0");
    let other = SecretKey::generate().unwrap();
    home.drop("acme1.wasm", &module);
    home.drop("acme1.wasm.minisig", other.sign(&module, "acme1.wasm").unwrap());
    home.expect_refused("acme1", "none of `policies.keys`");
    home.drop_signed("acme1.wasm", &module);
    let mut changed = module.clone();
    changed[module.len() / 2] ^= 1;
    home.drop("acme1.wasm", &changed);
    home.expect_refused("acme1", "it was changed after");
    for length in [6, module.len() / 2, module.len() - 1] {
        home.drop("acme1.wasm", &module[..length]);
        home.expect_refused("acme1", "the module is cut off: it ends within a section");
    }
    let signature = home.key.sign(&module, "acme1.wasm").unwrap();
    home.drop("acme1.wasm", &module);
    home.drop("acme1.wasm.minisig", &signature[..signature.len() / 2]);
    home.expect_refused("acme1", "cut off or no signature");
    fs::remove_file(home.file("acme1.wasm")).unwrap();
    home.expect_refused("acme1.wasm.minisig", "it signs `acme1.wasm`, which is not there");
}

#[test]
fn the_signed_settings_of_one_policy_are_not_taken_for_those_of_another() {
    let home = Home::new();
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    home.drop("acme1.yaml", "a: 1");
    home.drop("acme1.yaml.minisig", home.key.sign(b"a: 1", "acme2.yaml").unwrap());
    home.expect_refused("acme1", "it was signed as `acme2.yaml`");
    home.drop("acme1.yaml.minisig", home.key.sign(b"a: 1", "acme1.yaml").unwrap());
    assert!(home.refresh(), "{:?}", home.store.refused());
}

#[test]
fn a_key_out_of_scope_is_refused_by_name_and_by_gate() {
    let home = Home::with(|key| key.gates = Some(vec![GateName::Config]), |_| {}, |store| store);
    home.drop_signed("other.wasm", &named("other", "1.0.0"));
    home.expect_refused("other", "not trusted for the policy `other`");
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    home.expect_refused("acme1", "not trusted for the");
    home.expect_refused("acme1", "gate, at which `acme1` judges");
    home.drop_signed("strangers.pack.yaml", b"policy: other\nname: a\nversion: 1\ndata: []");
    home.expect_refused("strangers.pack.yaml", "not trusted for the policy `other`");
}

#[test]
fn an_older_signed_module_is_refused_across_restarts_and_the_newer_one_stays() {
    let home = Home::new();
    home.drop_signed("acme1.wasm", &named("acme1", "1.1.0"));
    assert!(home.refresh(), "{:?}", home.store.refused());
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.9"));
    home.expect_refused("acme1", "version 1.0.9 of it is older than 1.1.0");
    assert_eq!(home.version("acme1"), "1.1.0");
    let seen = home.store.seen_versions();
    let later = Home::with(|_| {}, |_| {}, |store| store.with_seen_versions(seen));
    later.drop_signed("acme1.wasm", &named("acme1", "1.0.9"));
    later.expect_refused("acme1", "older than 1.1.0");
    later.drop_signed("acme1.wasm", &named("acme1", "1.2.0"));
    assert!(later.refresh());
}

#[test]
fn a_refused_file_does_not_remove_what_it_would_have_replaced() {
    let home = Home::new();
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    assert!(home.refresh());
    home.drop("acme1.wasm", named("acme1", "2.0.0"));
    home.expect_refused("acme1", "it was changed after");
    fs::remove_file(home.file("acme1.wasm.minisig")).unwrap();
    home.expect_refused("acme1", "no signature of a trusted key");
    assert_eq!(home.version("acme1"), "1.0.0");
    fs::remove_file(home.file("acme1.wasm")).unwrap();
    assert!(home.refresh());
    assert_eq!(home.names(), ["guest"]);
}

#[test]
fn only_a_key_that_may_loosen_replaces_a_policy_of_the_bundle() {
    let home = Home::new();
    home.drop_signed("guest.wasm", &named("guest", "9.0.0"));
    home.expect_refused("guest", "not replace");
    let home = Home::with(|key| key.may_loosen = true, |_| {}, |store| store);
    home.drop("guest.wasm", named("guest", "9.0.0"));
    home.expect_refused("guest", "no signature of a trusted key");
    home.drop_signed("guest.wasm", &named("guest", "9.0.0"));
    assert!(home.refresh(), "{:?}", home.store.refused());
    assert_eq!(home.version("guest"), "9.0.0");
    // The packs of the bundle are for whatever has the name.
    assert_eq!(home.store.status()[0].packs, [("iocs".to_owned(), "1.0.0".to_owned())]);
}

#[test]
fn where_unsigned_modules_are_taken_a_changed_one_is_refused_all_the_same() {
    let home = Home::with(|_| {}, |config| config.unsigned = Unsigned::All, |store| store);
    let module = named("acme1", "1.0.0");
    let other = SecretKey::generate().unwrap();
    home.drop("acme1.wasm", &module);
    home.drop("acme1.wasm.minisig", other.sign(&module, "acme1.wasm").unwrap());
    assert!(home.refresh(), "a key that nobody knows is nobody's");
    assert_eq!(home.store.status()[0].signed_by, None);
    home.drop_signed("acme1.wasm", &named("acme1", "2.0.0"));
    home.drop("acme1.wasm", named("acme1", "3.0.0"));
    home.expect_refused("acme1", "it was changed after");
}

#[test]
fn a_pack_that_has_expired_when_it_comes_is_refused_and_one_that_was_live_alarms_and_stays() {
    let home = Home::new();
    let expired = format!("{PACK}version: 2.0.0\nexpires: 2001-01-01\ndata: [a, b]");
    home.drop_signed("iocs.pack.yaml", expired.as_bytes());
    home.expect_refused("iocs.pack.yaml", "version 2.0.0 of the pack has expired");
    let seen = (policy("guest"), "iocs".to_owned(), "2.0.0".to_owned());
    let later = Home::with(|_| {}, |_| {}, |store| store.with_seen_versions([seen]));
    let mut events = later.store.events();
    later.drop_signed("iocs.pack.yaml", expired.as_bytes());
    assert!(later.refresh());
    assert_eq!(later.store.status()[0].packs, [("iocs".to_owned(), "2.0.0".to_owned())]);
    let concerns = later.store.concerns();
    assert!(concerns.iter().any(|(what, why)| what == "iocs.pack.yaml" && why.contains("expired")), "{concerns:?}");
    let told: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
    assert!(told.iter().any(|event| matches!(event, PolicyEvent::Alarm { .. })), "{told:?}");
}

#[test]
fn two_files_do_not_bring_the_same_policy() {
    let home = Home::new();
    let files = [("acme1.wasm", named("acme1", "1.0.0"))];
    home.drop("a-first.bundle", home.bundle(Home::manifest("1.0.0"), &files));
    assert!(home.refresh());
    let second = Manifest { name: policy("acme-other"), ..Home::manifest("1.0.0") };
    home.drop("b-second.bundle", home.bundle(second, &files));
    home.expect_refused("b-second.bundle", "`acme1` is in the folder already");
}
