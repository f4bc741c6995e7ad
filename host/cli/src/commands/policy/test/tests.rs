use std::path::PathBuf;

use portcullis_runtime::{Engine, EngineOptions, Loader};

use super::*;
use crate::commands::policy::Module;

/// The folders of the default policies: their fixtures were written for a runner that has nothing of the host.
fn folder(policy: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(policy)
}

fn loader() -> Loader {
    Loader::without_cache(Engine::new(EngineOptions::default()).unwrap()).unwrap()
}

fn bundled(policy: &str) -> Module {
    let mut module = crate::commands::policy::module(policy).unwrap();
    module.packs = project::packs(&folder(policy)).unwrap();
    module
}

#[test]
fn the_fixtures_of_the_default_policies_hold_for_their_components() {
    let loader = loader();
    let mut judged = 0;
    for policy in portcullis_bundle::policies() {
        let module = bundled(policy.name);
        let mut runner = Runner::new(&loader, &module).unwrap();
        let outcomes = outcomes(&folder(policy.name), &mut runner).unwrap();
        let failed: Vec<_> = outcomes.iter().filter(|outcome| !outcome.holds()).collect();
        assert!(failed.is_empty(), "{}: {failed:#?}", policy.name);
        judged += outcomes.len();
    }
    assert!(judged > 200, "{judged} cases are fewer than there are");
}

#[test]
fn what_is_not_as_expected_is_told_and_unseen_rules_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("fixtures")).unwrap();
    let case = "gate: call\nfacts: { trust: untrusted }\ncases:\n  - name: wrong\n    subject: { name: create }\n    expect: { decision: allow, codes: [other], rules: [] }\n  - name: elsewhere\n    subject: { nam: create }\n    expect: {}\n";
    std::fs::write(folder.path().join("fixtures/a.yaml"), case).unwrap();
    let loader = loader();
    let module = bundled("trust");
    let mut runner = Runner::new(&loader, &module).unwrap();
    let outcomes = outcomes(folder.path(), &mut runner).unwrap();
    let problems: Vec<_> = outcomes.iter().map(|outcome| outcome.problems.join("; ")).collect();
    assert!(problems[0].contains("decision: expected \"allow\", found \"ask\""), "{problems:?}");
    assert!(problems[0].contains("rules: expected [], found [\"write-capable\"]"), "{problems:?}");
    assert!(problems[1].contains("subject.name: it is missing"), "{problems:?}");
    let unseen = runner.unseen(&outcomes);
    assert!(unseen.contains(&"unvouched-read".to_owned()) && !unseen.contains(&"write-capable".to_owned()));
}

#[test]
fn verdicts_are_compared_with_those_of_before_case_by_case() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("verdicts.txt");
    let outcome = |case: &str, shown: &str| Outcome {
        file: "calls".to_owned(),
        case: case.to_owned(),
        problems: Vec::new(),
        shown: shown.to_owned(),
        rules: Vec::new(),
        cpu: None,
        memory: 0,
    };
    let before = [outcome("one", "allow\n"), outcome("two", "allow\n")];
    let compare = |outcomes: &[Outcome], update| Snapshot::compare(&file, outcomes, update).unwrap();
    assert_eq!(compare(&before, false), Snapshot::Absent);
    assert_eq!(compare(&before, true), Snapshot::Written);
    assert_eq!(compare(&before, false), Snapshot::Same);
    let after = [outcome("one", "allow\n"), outcome("two", "deny no: no\n"), outcome("three", "allow\n")];
    let changed = compare(&after, false);
    let titles: Vec<_> = changed.changes().iter().map(|change| change.title.as_str()).collect();
    assert_eq!(titles, ["calls: three", "calls: two"]);
    assert_eq!(changed.changes()[1].before, ["allow"]);
    assert_eq!(changed.changes()[1].after, ["deny no: no"]);
    assert!(changed.differs());
}
