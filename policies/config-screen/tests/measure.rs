//! Measures detection and false alarms on corpora of server entries.
//!
//! `PORTCULLIS_CORPORA` names a folder with `malicious_configs.jsonl` and `benign_configs.jsonl`: one JSON object a line with `server`,
//! `config`, `label` (`malicious`, `risky` or `benign`), `kind` and `group`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use portcullis_policy_config_screen::ConfigScreen;
use portcullis_sdk::serde_json::{self, Value, json};
use portcullis_sdk::{ConfigGate, Decision, Pack, Packs, testing};

fn packs() -> Packs {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .map(|path| {
            let pack: Value = serde_yaml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            Pack::new(pack["name"].as_str().unwrap(), "1.0.0", pack["data"].to_string())
        })
        .collect()
}

#[test]
fn real_entries_are_not_blocked_and_malicious_ones_are() {
    let Ok(folder) = std::env::var("PORTCULLIS_CORPORA") else {
        println!("skipped: set PORTCULLIS_CORPORA");
        return;
    };
    let policy: ConfigScreen = testing::configure(&json!({}), &packs()).unwrap();
    let mut table: BTreeMap<(String, String), [usize; 4]> = BTreeMap::new();
    let mut blocked = 0;
    for file in ["malicious_configs.jsonl", "benign_configs.jsonl"] {
        let text = std::fs::read_to_string(Path::new(&folder).join(file)).unwrap();
        for row in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let entry = testing::entry(&word("server"), &row["config"]);
            let verdict = policy.screen(&testing::facts(), &entry);
            let column = match verdict.decision {
                Decision::Deny(_) => 0,
                Decision::Ask(_) => 1,
                Decision::Allow if !verdict.findings.is_empty() => 2,
                Decision::Allow => 3,
            };
            let (label, group) = (word("label"), word("group"));
            table.entry((label.clone(), group.clone())).or_default()[column] += 1;
            blocked += usize::from(label == "benign" && column < 2);
            let unexpected = match label.as_str() {
                "malicious" => column > 1,
                "risky" => column == 3,
                _ => column < 3,
            };
            if unexpected && std::env::var_os("PORTCULLIS_SHOW_ROWS").is_some() {
                println!("{label} {} {} {:?}", word("kind"), row["config"], testing::show(&entry.segments, &verdict));
            }
        }
    }
    println!("{:<12}{:<14}{:>6}{:>6}{:>6}{:>6}", "label", "group", "deny", "ask", "flag", "pass");
    for ((label, group), [deny, ask, flag, pass]) in &table {
        println!("{label:<12}{group:<14}{deny:>6}{ask:>6}{flag:>6}{pass:>6}");
    }
    assert_eq!(blocked, 0, "benign entries that are denied or asked about");
}
