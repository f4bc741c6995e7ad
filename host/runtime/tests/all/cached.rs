//! Native code of the cache runs only where this installation wrote it for this policy.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use portcullis_gates::Isolation;
use portcullis_model::{Answer, Decision};
use portcullis_runtime::{Budget, Engine, Loaded, Loader, StartKind};
use tempfile::TempDir;

use crate::guest::{call, component, component_of, engine, facts, settings};

/// A cache with the honest guest in it.
struct Kept {
    engine: Engine,
    folder: TempDir,
    wasm: Vec<u8>,
}

impl Kept {
    fn new() -> Self {
        let kept = Self { engine: engine(), folder: TempDir::new().unwrap(), wasm: component_of("") };
        let loaded = kept.loader().load(&kept.wasm, &settings(), &[], &Budget::DEFAULT).unwrap();
        assert!(!loaded.cached);
        kept
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn loader(&self) -> Loader {
        Loader::with_cache(self.engine.clone(), &self.path()).unwrap()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let listed = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        listed.filter(|path| path.extension().is_some_and(|extension| extension == "policy")).collect()
    }

    fn entry(&self) -> PathBuf {
        let [entry] = self.entries().try_into().unwrap();
        entry
    }

    /// Loads again with a new loader, as the next process would.
    fn again(&self) -> (Loaded, u64) {
        let loader = self.loader();
        let loaded = loader.load(&self.wasm, &settings(), &[], &Budget::DEFAULT).unwrap();
        assert!(judges(&loaded));
        (loaded, loader.alarms())
    }

    /// Expects that the entry is not believed, that this is an alarm, and that a new entry takes its place.
    fn expect_distrust(&self, what: &str) {
        let (loaded, alarms) = self.again();
        assert!(!loaded.cached, "{what}");
        assert_eq!(alarms, 1, "{what}");
        let (loaded, alarms) = self.again();
        assert!(loaded.cached, "{what}");
        assert_eq!(alarms, 0, "{what}");
    }
}

fn judges(loaded: &Loaded) -> bool {
    let outcome = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh).evaluate_here(&facts(), &call()).outcome;
    matches!(outcome, Ok(Answer::Verdict(verdict)) if verdict.decision == Decision::Allow)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_compiled_once_is_loaded_from_the_cache() {
    let kept = Kept::new();
    let (loaded, alarms) = kept.again();
    assert!(loaded.cached);
    assert_eq!(loaded.start, StartKind::Snapshot);
    assert_eq!(alarms, 0);
    assert_eq!(mode(&kept.path()), 0o700);
    assert_eq!(mode(&kept.entry()), 0o600);
    assert_eq!(mode(&kept.path().join("key")), 0o600);
}

#[test]
fn the_reason_for_having_no_snapshot_is_kept_too() {
    let kept = Kept::new();
    let wasm = component_of("(global $g (mut funcref) (ref.null func))");
    let load = || kept.loader().load(&wasm, &settings(), &[], &Budget::DEFAULT).unwrap();
    let (first, second) = (load(), load());
    assert!(!first.cached && second.cached);
    let reason = |loaded: &Loaded| match &loaded.start {
        StartKind::Configured { reason, .. } => reason.clone(),
        StartKind::Snapshot => panic!("a snapshot was taken"),
    };
    assert_eq!(reason(&first), reason(&second));
}

#[test]
fn a_changed_entry_is_not_executed() {
    let kept = Kept::new();
    let length = fs::read(kept.entry()).unwrap().len();
    for position in [0, 10, 45, 80, length / 2, length - 1] {
        let entry = kept.entry();
        let mut bytes = fs::read(&entry).unwrap();
        bytes[position] ^= 1;
        fs::write(&entry, bytes).unwrap();
        kept.expect_distrust(&format!("byte {position}"));
    }
}

#[test]
fn a_changed_draft_is_not_executed() {
    let kept = Kept::new();
    fs::remove_file(kept.entry()).unwrap();
    let drafts = fs::read_dir(kept.path()).unwrap().map(|entry| entry.unwrap().path());
    let draft = drafts.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "draft")).unwrap();
    let mut bytes = fs::read(&draft).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&draft, bytes).unwrap();
    kept.expect_distrust("draft");
}

#[test]
fn a_cut_or_extended_entry_is_not_executed() {
    let kept = Kept::new();
    let changes: [fn(&mut Vec<u8>); 3] =
        [|bytes| bytes.truncate(20), |bytes| bytes.truncate(200), |bytes| bytes.push(0)];
    for change in changes {
        let entry = kept.entry();
        let mut bytes = fs::read(&entry).unwrap();
        change(&mut bytes);
        fs::write(&entry, bytes).unwrap();
        kept.expect_distrust("length");
    }
}

#[test]
fn a_true_entry_of_another_policy_is_not_executed() {
    let kept = Kept::new();
    let own = kept.entry();
    kept.loader().load(&component("denial-text"), &settings(), &[], &Budget::DEFAULT).unwrap();
    let other = kept.entries().into_iter().find(|entry| *entry != own).unwrap();
    fs::rename(other, &own).unwrap();
    kept.expect_distrust("swapped");
}

#[test]
fn an_entry_of_another_installation_is_not_executed() {
    let (kept, other) = (Kept::new(), Kept::new());
    assert_eq!(kept.entry().file_name(), other.entry().file_name());
    fs::copy(other.entry(), kept.entry()).unwrap();
    kept.expect_distrust("another installation");
}

#[test]
fn a_linked_entry_is_not_followed() {
    let kept = Kept::new();
    let aside = kept.folder.path().join("aside");
    fs::rename(kept.entry(), &aside).unwrap();
    let (loaded, _) = kept.again();
    assert!(!loaded.cached);
    let entry = kept.entry();
    fs::remove_file(&entry).unwrap();
    symlink(&aside, &entry).unwrap();
    kept.expect_distrust("symbolic link");
    let entry = kept.entry();
    fs::hard_link(&entry, kept.folder.path().join("second-name")).unwrap();
    kept.expect_distrust("hard link");
}

#[test]
fn an_entry_that_others_may_read_or_write_is_not_executed() {
    let kept = Kept::new();
    for mode in [0o644, 0o660, 0o602] {
        fs::set_permissions(kept.entry(), fs::Permissions::from_mode(mode)).unwrap();
        kept.expect_distrust("mode");
    }
}

#[test]
fn an_entry_of_another_user_is_not_executed() {
    let kept = Kept::new();
    if chown(kept.entry(), Some(12_345), None).is_err() {
        println!("skipped: giving a file away takes root");
        return;
    }
    kept.expect_distrust("owner");
}

#[test]
fn a_pipe_or_a_folder_in_place_of_an_entry_does_not_hang_the_start() {
    let kept = Kept::new();
    let entry = kept.entry();
    fs::remove_file(&entry).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&entry).status().unwrap();
    assert!(made.success());
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o600)).unwrap();
    kept.expect_distrust("pipe");
}

#[test]
fn a_key_that_others_may_read_is_replaced_and_nothing_written_under_it_is_believed() {
    let kept = Kept::new();
    fs::set_permissions(kept.path().join("key"), fs::Permissions::from_mode(0o644)).unwrap();
    let (loaded, alarms) = kept.again();
    assert!(!loaded.cached);
    // Once for the key, once for the entry, once for its draft.
    assert_eq!(alarms, 3);
    assert!(kept.again().0.cached);
}

#[test]
fn a_cache_folder_that_others_may_write_to_is_not_used() {
    let kept = Kept::new();
    fs::set_permissions(kept.path(), fs::Permissions::from_mode(0o770)).unwrap();
    Loader::with_cache(kept.engine.clone(), &kept.path()).unwrap_err();
}
