//! What the bundle finds and leaves alone, where somebody has the corpora to measure it on.

use std::path::Path;

use portcullis_tests::Home;

use crate::PROGRAM;

const GOALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/goals.yaml");

#[test]
fn the_goals_of_the_bundle_hold_on_the_corpora_with_an_approver_and_without() {
    let Some(folder) = std::env::var_os("PORTCULLIS_CORPORA") else {
        println!("skipped: set PORTCULLIS_CORPORA to a folder of labelled cases as JSON lines");
        return;
    };
    let entries = std::fs::read_dir(&folder).expect("the folder of corpora can be read");
    let files = entries.filter_map(|entry| entry.ok()?.path().into_os_string().into_string().ok());
    let mut files: Vec<_> =
        files.filter(|file| Path::new(file).extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    assert!(!files.is_empty(), "no *.jsonl in {}", folder.display());
    let home = Home::new(PROGRAM, "");
    for approver in ["operator", "nobody"] {
        let mut arguments = vec!["policy", "eval", "--goals", GOALS, "--approver", approver];
        arguments.extend(files.iter().map(String::as_str));
        let output = home.command(&arguments).output().expect("the program runs");
        let table = String::from_utf8_lossy(&output.stdout);
        println!("{table}");
        assert!(output.status.success(), "with {approver} to ask:\n{table}\n{}", home.stderr());
    }
}
