//! Measures recall and false alarms on a folder of corpora that is not part of the project.
//!
//! `PORTCULLIS_CORPORA=/path cargo test -p portcullis-policy-description-scan --test measure -- --nocapture`
//! A case is one JSON line with `tool`, `text`, `input_schema`, `output_schema`, `annotations` and `group`. With
//! `PORTCULLIS_MISSES=FILE` the cases that went wrong are written there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share are tests too")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use portcullis_policy_description_scan::DescriptionScan;
use portcullis_sdk::serde_json::{Value, json};
use portcullis_sdk::{Decision, ListingGate as _, Pack, Packs, Verdict, testing};

fn policy() -> DescriptionScan {
    let yaml = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/packs/rules.yaml")).unwrap();
    let data: Value = serde_yaml::from_str(&yaml).unwrap();
    let packs: Packs = [Pack::new("rules", "1", data["data"].to_string())].into_iter().collect();
    testing::configure(&Value::Null, &packs).unwrap()
}

#[derive(Default)]
struct Tally {
    cases: u32,
    flagged: u32,
    asked: u32,
    hidden: u32,
}

fn judge(policy: &DescriptionScan, case: &Value) -> Verdict {
    let item = if case["tool"].is_null() && case["input_schema"].is_null() && case["group"].is_null() {
        testing::instructions(case["text"].as_str().unwrap_or_default())
    } else {
        let mut tool = json!({ "name": case["tool"], "description": case["text"] });
        for (from, to) in
            [("input_schema", "inputSchema"), ("output_schema", "outputSchema"), ("annotations", "annotations")]
        {
            if !case[from].is_null() {
                tool[to] = case[from].clone();
            }
        }
        testing::tool(&tool)
    };
    policy.scan(&testing::facts(), &testing::batch("server", vec![item])).remove(0)
}

#[test]
fn corpora_are_measured() {
    let Some(folder) = std::env::var_os("PORTCULLIS_CORPORA") else {
        println!("skipped: set PORTCULLIS_CORPORA");
        return;
    };
    let policy = policy();
    let mut misses = String::new();
    let started = Instant::now();
    for file in [
        "malicious_descriptions",
        "benign_descriptions",
        "benign_hard_negatives",
        "benign_real_hard_negatives",
        "benign_instructions",
    ] {
        let text = std::fs::read_to_string(Path::new(&folder).join(file).with_extension("jsonl")).unwrap();
        let malicious = file.starts_with("malicious");
        let mut groups: BTreeMap<String, Tally> = BTreeMap::new();
        for line in text.lines() {
            let case: Value = portcullis_sdk::serde_json::from_str(line).unwrap();
            let verdict = judge(&policy, &case);
            let tally = groups.entry(case["group"].as_str().unwrap_or("all").to_owned()).or_default();
            tally.cases += 1;
            let allowed = verdict.decision == Decision::Allow;
            tally.flagged += u32::from(!verdict.findings.is_empty());
            tally.asked += u32::from(!allowed);
            tally.hidden += u32::from(matches!(verdict.decision, Decision::Deny(_)));
            if allowed == malicious {
                let _ = writeln!(
                    misses,
                    "{file} {} {} | {} | {}",
                    case["group"].as_str().unwrap_or(""),
                    case["kind"].as_str().unwrap_or(""),
                    verdict
                        .findings
                        .iter()
                        .map(|f| {
                            let span = f.evidence[0];
                            format!("{} {}@{}..{}", f.rule, f.message, span.start, span.end)
                        })
                        .collect::<Vec<_>>()
                        .join("; "),
                    json!([case["tool"], case["text"], case["input_schema"]])
                );
            }
        }
        for (group, tally) in groups {
            let percent = |count: u32| 100.0 * f64::from(count) / f64::from(tally.cases);
            println!(
                "{file:<28} {group:<22} {:>5}  flagged {:>6.2}%  asked {:>6.2}%  hidden {:>6.2}%",
                tally.cases,
                percent(tally.flagged),
                percent(tally.asked),
                percent(tally.hidden)
            );
        }
    }
    println!("{:?}", started.elapsed());
    if let Some(file) = std::env::var_os("PORTCULLIS_MISSES") {
        std::fs::write(file, misses).unwrap();
    }
}

/// Time that this thread was on a processor, where the system says so (Linux): a busy machine does not blur it.
fn cpu() -> std::time::Duration {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    std::time::Duration::from_nanos(spent.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default())
}

/// `PORTCULLIS_SPEED=1 CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo test … speed -- --nocapture`: natively, warm, per evaluation.
#[test]
fn speed_is_measured() {
    if std::env::var_os("PORTCULLIS_SPEED").is_none() {
        println!("skipped: set PORTCULLIS_SPEED");
        return;
    }
    let policy = policy();
    let sentence = "Searches the catalogue and returns matching entries, newest first; use the cursor for more. ";
    let properties: Value = (0..8)
        .map(|index| (format!("parameter_{index}"), json!({ "type": "string", "description": sentence })))
        .collect::<portcullis_sdk::serde_json::Map<_, _>>()
        .into();
    let tool = json!({ "name": "search_catalogue", "description": sentence.repeat(6), "inputSchema": { "type": "object", "properties": properties } });
    let batch = testing::batch("server", vec![testing::tool(&tool)]);
    let facts = testing::facts();
    let rounds = 2_000_u32;
    let started = cpu();
    for _ in 0..rounds {
        assert_eq!(policy.scan(&facts, &batch).len(), 1);
    }
    println!("a tool of {} bytes: {:?}", tool.to_string().len(), cpu().saturating_sub(started) / rounds);
}
