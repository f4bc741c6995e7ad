use portcullis_sdk::Decision;
use portcullis_sdk::serde_json::{Value, json};

use super::*;
use crate::packages::Ecosystem;

fn package(version: Option<&str>) -> Package {
    Package { ecosystem: Ecosystem::Npm, name: "server".to_owned(), version: version.map(str::to_owned) }
}

/// Judges one package with the answer that the endpoint gives.
fn judged(version: Option<&str>, answer: &Value, settings: &Settings) -> Verdict {
    let answer = answer.to_string();
    judge(&[package(version)], settings, &mut |_| Ok(answer.clone().into_bytes()))
}

fn rules_of(verdict: &Verdict) -> Vec<&str> {
    verdict.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

fn malicious(affected: &Value) -> Value {
    json!({ "vulns": [{ "id": "MAL-2025-1", "affected": [affected] }] })
}

#[test]
fn a_pinned_release_that_is_called_malicious_is_denied() {
    let answer = malicious(&json!({ "versions": ["1.0.1"] }));
    let verdict = judged(Some("1.0.1"), &answer, &Settings::default());
    assert!(matches!(&verdict.decision, Decision::Deny(denial) if denial.code == "malicious-package"));
    assert!(verdict.findings[0].message.contains("MAL-2025-1"));
}

#[test]
fn without_a_pin_it_is_denied_where_every_release_is_malicious_and_asked_about_where_some_are() {
    let every = json!({
        "package": { "ecosystem": "npm", "name": "server" },
        "ranges": [{ "type": "SEMVER", "events": [{ "introduced": "0" }] }],
    });
    let verdict = judged(None, &malicious(&every), &Settings::default());
    assert!(matches!(verdict.decision, Decision::Deny(_)));
    let some = [
        json!({ "versions": ["1.0.1"] }),
        json!({ "ranges": [{ "events": [{ "introduced": "0" }, { "fixed": "1.0.2" }] }] }),
        json!({ "ranges": [{ "events": [{ "introduced": "1.0.1" }] }] }),
        json!({ "package": { "ecosystem": "npm", "name": "other" }, "ranges": [{ "events": [{ "introduced": "0" }] }] }),
    ];
    for affected in some {
        let verdict = judged(None, &malicious(&affected), &Settings::default());
        assert!(matches!(verdict.decision, Decision::Ask(_)), "{affected}");
        assert_eq!(rules_of(&verdict), ["malicious-release"]);
    }
}

#[test]
fn an_alias_that_is_about_malice_counts_and_one_that_is_ignored_or_withdrawn_does_not() {
    let answer =
        json!({ "vulns": [{ "id": "GHSA-x", "aliases": ["MAL-2025-1"], "affected": [{ "versions": ["1.0.1"] }] }] });
    assert!(matches!(judged(Some("1.0.1"), &answer, &Settings::default()).decision, Decision::Deny(_)));
    let settings = Settings { ignore: vec!["MAL-2025-1".to_owned()], ..Settings::default() };
    assert_eq!(judged(Some("1.0.1"), &answer, &settings), Verdict::allow());
    let withdrawn = json!({ "vulns": [{ "id": "MAL-2025-1", "withdrawn": "2025-01-02T00:00:00Z" }] });
    assert_eq!(judged(Some("1.0.1"), &withdrawn, &Settings::default()), Verdict::allow());
}

#[test]
fn other_advisories_are_told_about_a_pinned_release_and_asked_about_where_an_operator_wants_that() {
    let answer = json!({ "vulns": [{ "id": "GHSA-x" }] });
    let verdict = judged(Some("1.0.0"), &answer, &Settings::default());
    assert_eq!((&verdict.decision, rules_of(&verdict)), (&Decision::Allow, vec!["known-advisory"]));
    let settings = Settings { advisories: Reaction::Ask, ..Settings::default() };
    assert!(matches!(judged(Some("1.0.0"), &answer, &settings).decision, Decision::Ask(_)));
    assert_eq!(judged(None, &answer, &settings), Verdict::allow());
}

#[test]
fn silence_leads_to_what_the_settings_say_and_is_always_noted() {
    let silent = |silent| {
        let settings = Settings { silent, ..Settings::default() };
        judge(&[package(None)], &settings, &mut |_| Err(Silence::Status(503)))
    };
    assert!(matches!(silent(Reaction::Ask).decision, Decision::Ask(_)));
    assert!(matches!(silent(Reaction::Deny).decision, Decision::Deny(_)));
    assert_eq!(silent(Reaction::Allow).decision, Decision::Allow);
    for reaction in [Reaction::Allow, Reaction::Flag, Reaction::Ask, Reaction::Deny] {
        assert_eq!(rules_of(&silent(reaction)), ["no-answer"], "{reaction:?}");
    }
    for answer in [json!([]), json!({ "vulns": 1 }), json!("no")] {
        assert_eq!(rules_of(&judged(None, &answer, &Settings::default())), ["no-answer"], "{answer}");
    }
}

#[test]
fn an_empty_answer_says_that_nothing_is_known() {
    assert_eq!(judged(Some("1.0.0"), &json!({}), &Settings::default()), Verdict::allow());
}

#[test]
fn further_pages_of_an_answer_are_read() {
    let mut asked = Vec::new();
    let verdict = judge(&[package(Some("1.0.1"))], &Settings::default(), &mut |body| {
        asked.push(body.to_owned());
        let page = if asked.len() == 1 {
            json!({ "vulns": [{ "id": "GHSA-x" }], "next_page_token": "two" })
        } else {
            json!({ "vulns": [{ "id": "MAL-2025-1" }] })
        };
        Ok(page.to_string().into_bytes())
    });
    assert!(matches!(verdict.decision, Decision::Deny(_)));
    assert!(asked[1].contains(r#""page_token":"two""#) && asked[0].contains(r#""version":"1.0.1""#), "{asked:?}");
}

#[test]
fn packages_beyond_those_that_are_looked_up_count_as_not_answered_about() {
    let packages: Vec<_> = (0..=MOST).map(|number| Package { name: number.to_string(), ..package(None) }).collect();
    let mut asked = 0;
    let verdict = judge(&packages, &Settings::default(), &mut |_| {
        asked += 1;
        Ok(b"{}".to_vec())
    });
    assert_eq!((asked, rules_of(&verdict)), (MOST, vec!["no-answer"]));
}
