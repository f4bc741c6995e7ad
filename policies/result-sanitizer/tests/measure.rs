//! Measures what the policy finds and changes on a folder of corpora that is not part of the project.
//!
//! `PORTCULLIS_CORPORA=/path cargo test -p portcullis-policy-result-sanitizer --test measure -- --nocapture`
//! A case is one JSON line with `text` (or `text_base64`), `label` and `group`. With `PORTCULLIS_MISSES=FILE` the cases
//! that went wrong are written there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share are tests too")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use portcullis_policy_result_sanitizer::ResultSanitizer;
use portcullis_sdk::serde_json::{self, Value, json};
use portcullis_sdk::{Pack, Packs, ResultGate as _, Verdict, result_gate, testing};

fn policy() -> ResultSanitizer {
    let pack = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs").join(name).with_extension("yaml");
        let data: Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        Pack::new(name, "1", data["data"].to_string())
    };
    testing::configure(&Value::Null, &[pack("credentials"), pack("injection")].into_iter().collect::<Packs>()).unwrap()
}

#[derive(Default)]
struct Tally {
    cases: u32,
    flagged: u32,
    injected: u32,
    changed: u32,
    redacted: u32,
    redacted_in_errors: u32,
}

const INJECTION: [&str; 4] = ["injected-instruction", "fake-turn", "encoded-instruction", "exfiltration-markup"];
const CHARACTERS: [&str; 6] = [
    "hidden-tag-text",
    "terminal-escape",
    "control-character",
    "direction-mark",
    "invisible-character",
    "stray-selector",
];

fn redacted(verdict: &Verdict) -> bool {
    verdict.findings.iter().any(|f| !INJECTION.contains(&f.rule.as_str()) && !CHARACTERS.contains(&f.rule.as_str()))
}

fn injected(verdict: &Verdict) -> bool {
    verdict.findings.iter().any(|finding| INJECTION.contains(&finding.rule.as_str()))
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
    for file in ["malicious_results", "benign_results", "secrets_vectors"] {
        let lines = std::fs::read_to_string(Path::new(&folder).join(file).with_extension("jsonl")).unwrap();
        let mut groups: BTreeMap<String, Tally> = BTreeMap::new();
        for line in lines.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let text = match case["text_base64"].as_str() {
                Some(encoded) => portcullis_text::layer::base64_text(encoded).unwrap_or_default(),
                None => case["text"].as_str().unwrap_or_default().to_owned(),
            };
            let subject = testing::result_subject(&[&text]);
            let verdict = policy.sanitize(&testing::facts(), &subject);
            let failure = testing::result_document(
                result_gate::Kind::Result,
                &json!({ "isError": true, "content": [{ "type": "text", "text": text }] }),
            );
            let group = if file == "secrets_vectors" {
                let source = case["source"].as_str().unwrap_or_default().split('@').next().unwrap_or_default();
                format!("{source} {}", case["label"].as_str().unwrap_or_default())
            } else {
                let group = case["group"].as_str().unwrap_or("all");
                let kind = case["kind"].as_str().unwrap_or_default();
                if group == "injecagent" {
                    kind.rsplit_once('_').map_or(kind, |(kind, _)| kind).to_owned()
                } else {
                    group.to_owned()
                }
            };
            let tally = groups.entry(group.clone()).or_default();
            tally.cases += 1;
            tally.flagged += u32::from(!verdict.findings.is_empty());
            tally.injected += u32::from(injected(&verdict));
            tally.changed += u32::from(!verdict.edits.is_empty());
            tally.redacted += u32::from(redacted(&verdict));
            tally.redacted_in_errors += u32::from(redacted(&policy.sanitize(&testing::facts(), &failure)));
            let wrong = match file {
                "malicious_results" => !injected(&verdict),
                "benign_results" => injected(&verdict) || !verdict.edits.is_empty(),
                _ => redacted(&verdict) != (case["label"] == "secret"),
            };
            if wrong {
                let findings: Vec<String> = verdict
                    .findings
                    .iter()
                    .map(|finding| {
                        let span = finding.evidence[0];
                        let text = &subject.segments[span.segment as usize].text;
                        format!(
                            "{} {} {:?}",
                            finding.rule,
                            finding.message,
                            &text[span.start as usize..span.end as usize]
                        )
                    })
                    .collect();
                let tail = text.get(text.floor_char_boundary(text.len().saturating_sub(600))..).unwrap_or_default();
                let _ = writeln!(
                    misses,
                    "{file} {group} {} | {} | {tail:?}",
                    case["kind"].as_str().unwrap_or(""),
                    findings.join("; ")
                );
            }
        }
        for (group, tally) in groups {
            let percent = |count: u32| 100.0 * f64::from(count) / f64::from(tally.cases);
            println!(
                "{file:<18} {group:<36} {:>5}  injected {:>6.2}%  changed {:>6.2}%  redacted {:>6.2}% (in errors {:>6.2}%)  any finding {:>6.2}%",
                tally.cases,
                percent(tally.injected),
                percent(tally.changed),
                percent(tally.redacted),
                percent(tally.redacted_in_errors),
                percent(tally.flagged),
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
    let facts = testing::facts();
    let line =
        "The release adds a parser for key files, fixes two crashes, and documents every token of the grammar.\n";
    for bytes in [100, 10_000, 100_000] {
        let subject = testing::result_subject(&[&line.repeat(bytes / line.len() + 1)]);
        let rounds = u32::try_from(20_000_000 / bytes).unwrap().min(5_000);
        let started = cpu();
        for _ in 0..rounds {
            assert!(policy.sanitize(&facts, &subject).edits.is_empty());
        }
        println!("a clean result of {bytes} bytes: {:?}", cpu().saturating_sub(started) / rounds);
    }
}
