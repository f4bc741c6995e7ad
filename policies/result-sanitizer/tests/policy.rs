//! The fixtures, a snapshot of what they give, and properties of every verdict.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share are tests too")]

use std::path::Path;

use portcullis_policy_result_sanitizer::ResultSanitizer;
use portcullis_sdk::result_gate::{Kind, Subject};
use portcullis_sdk::serde_json::{Value, json};
use portcullis_sdk::{Descriptor, Edit, Pack, Packs, Policy as _, ResultGate as _, Verdict, testing};
use proptest::prelude::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

fn packs() -> Packs {
    let pack = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs").join(name).with_extension("yaml");
        let data: Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        Pack::new(name, "1", data["data"].to_string())
    };
    [pack("credentials"), pack("injection")].into_iter().collect()
}

fn policy(settings: &Value) -> ResultSanitizer {
    testing::configure(settings, &packs()).unwrap()
}

fn sanitize(policy: &ResultSanitizer, subject: &Subject) -> Verdict {
    let verdict = policy.sanitize(&testing::facts(), subject);
    let breaches = testing::breaches(&ResultSanitizer::describe(), &subject.segments, &verdict);
    assert!(breaches.is_empty(), "{breaches:?}");
    verdict
}

/// The text of the segment at a pointer after all edits.
fn cleaned(policy: &ResultSanitizer, subject: &Subject, pointer: &str) -> String {
    let index = subject.segments.iter().position(|segment| segment.pointer == pointer && !segment.key).unwrap();
    testing::edited(&subject.segments, &sanitize(policy, subject), index)
}

/// A credential that is put together here.
fn token() -> String {
    ["gh", "p_", "wT4kQz81LmNc07RvXy92", "BdHs63JfKp5G"].concat()
}

#[test]
fn fixtures_hold() {
    testing::fixtures::<ResultSanitizer>(FIXTURES);
}

#[test]
fn verdicts_are_as_reviewed() {
    insta::assert_snapshot!(testing::report::<ResultSanitizer>(FIXTURES));
}

#[test]
fn media_that_are_a_block_of_the_result_do_not_stand_in_its_texts_too() {
    let policy = policy(&Value::Null);
    // Four hundred bytes of zeroes as base64, and their digest.
    let zeroes = ["A".repeat(532), "AA==".to_owned()].concat();
    let media = |digest: &str| Descriptor {
        pointer: "/content/0/data".to_owned(),
        mime: "image/png".to_owned(),
        length: 400,
        digest: digest.to_owned(),
    };
    let subject = |digest: &str| Subject {
        descriptors: vec![media(digest)],
        ..testing::result_subject(&[&format!("{{\"src\":\"data:image/png;base64,{zeroes}\"}}")])
    };
    let known = "7a12e561363385e9dfeeab326368731c030ed4b374e7f5897ac819159d2884c5";
    let marker = "{\"src\":\"data:image/png;base64,[repeated-media]\"}";
    assert_eq!(cleaned(&policy, &subject(known), "/content/0/text"), marker);
    let other = subject(&"0".repeat(64));
    assert!(sanitize(&policy, &other).edits.is_empty(), "other media of the same length are no repetition");
}

#[test]
fn credentials_go_from_every_place_of_a_message() {
    let policy = policy(&Value::Null);
    let token = token();
    let document = json!({
        "content": [{ "type": "text", "text": format!("key {token} leaked") }, { "type": "resource", "resource": { "uri": "file:///a", "text": token } }],
        "structuredContent": { "rows": [{ "value": token }], "api_key": (["abcd", "1234", "efgh5678"].concat()) },
        "_meta": { "com.example/note": token },
        "isError": false
    });
    let subject = testing::result_document(Kind::Result, &document);
    for pointer in [
        "/content/0/text",
        "/content/1/resource/text",
        "/structuredContent/rows/0/value",
        "/structuredContent/api_key",
        "/_meta/com.example~1note",
    ] {
        let text = cleaned(&policy, &subject, pointer);
        assert!(text.contains("[credential-") && !text.contains(&token[8..]), "{pointer}: {text}");
    }
    for kind in [Kind::Error, Kind::Log, Kind::Stderr, Kind::Progress] {
        let subject = testing::result_document(kind, &json!({ "message": "login with password=hunter failed" }));
        assert_eq!(cleaned(&policy, &subject, "/message"), "login with password=[credential-assignment] failed");
    }
}

#[test]
fn keys_are_reported_and_never_edited() {
    let policy = policy(&Value::Null);
    let document = json!({ "structuredContent": { (token()): 1, "a\u{200b}b": 2 } });
    let subject = testing::result_document(Kind::Result, &document);
    let verdict = sanitize(&policy, &subject);
    let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert!(rules.contains(&"credential-token") && rules.contains(&"invisible-character"), "{rules:?}");
    assert_eq!(verdict.edits, []);
}

#[test]
fn settings_choose_how_eagerly_and_what_is_only_reported() {
    let subject = testing::result_subject(&["password=hunter and \u{202e}x\u{202c}"]);
    let edits = |settings: Value| sanitize(&policy(&settings), &subject).edits.len();
    assert_eq!(edits(json!({})), 2);
    assert_eq!(edits(json!({ "credentials": "eager" })), 3);
    assert_eq!(edits(json!({ "report_only": ["direction-mark"] })), 0);
    let leaking = testing::result_subject(&[&token()]);
    assert_eq!(sanitize(&policy(&json!({ "credentials": "off" })), &leaking).edits.len(), 0);
    let error = testing::configure::<ResultSanitizer>(&json!({ "report_only": ["nothing"] }), &packs()).unwrap_err();
    assert_eq!(error.place, "/report_only/0");
}

#[test]
fn a_missing_pack_is_refused_by_name() {
    let error = testing::configure::<ResultSanitizer>(&Value::Null, &Packs::none()).unwrap_err();
    assert_eq!(error.place, "pack:credentials");
}

#[test]
fn text_with_a_hidden_character_behind_every_letter_ends_within_bounds() {
    let policy = policy(&Value::Null);
    let text = "a\u{200b}".repeat(20_000);
    let verdict = sanitize(&policy, &testing::result_subject(&[&text]));
    assert_eq!(verdict.edits.len(), 1);
    assert!(verdict.findings.len() <= 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_verdict_keeps_the_contract_and_a_second_pass_finds_no_hidden_character(text in any_text()) {
        let policy = policy(&Value::Null);
        let subject = testing::result_subject(&[&text]);
        let verdict = sanitize(&policy, &subject);
        let index = subject.segments.iter().position(|segment| segment.pointer == "/content/0/text" && !segment.key).unwrap();
        let once = testing::edited(&subject.segments, &verdict, index);
        // Removing one character may complete an emoji sequence or join two halves of another: the host repeats, and
        // so does this test, as often as the host does.
        let twice = clean(&policy, &once);
        prop_assert!(portcullis_text::hidden::scan(&clean(&policy, &twice)).is_empty(), "{twice:?}");
        // The host gives up, and denies, where a third round still changes something.
        prop_assert_eq!(clean(&policy, &twice), twice);
    }

    #[test]
    fn plain_prose_is_never_changed(words in proptest::collection::vec("[a-z]{1,9}", 0..40)) {
        let policy = policy(&Value::Null);
        let verdict = sanitize(&policy, &testing::result_subject(&[&words.join(" ")]));
        prop_assert!(verdict.edits.iter().all(|edit| !matches!(edit, Edit::Blank(_))));
    }
}

fn clean(policy: &ResultSanitizer, text: &str) -> String {
    let subject = testing::result_subject(&[text]);
    let index =
        subject.segments.iter().position(|segment| segment.pointer == "/content/0/text" && !segment.key).unwrap();
    testing::edited(&subject.segments, &sanitize(policy, &subject), index)
}

/// Texts rich in what the rules look at.
fn any_text() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{0,12}",
        proptest::sample::select(vec![
            "\u{1b}[31m",
            "\u{1b}]0;",
            "\u{7}",
            "\u{9b}",
            "\u{200d}",
            "\u{fe0f}",
            "🏴",
            "\u{e0067}\u{e0062}",
            "\u{e007f}",
            "❤",
            "1\u{fe0f}\u{20e3}",
            "token=",
            "://a:b@",
            "eyJ",
            "Bearer ",
            "-----BEGIN PRIVATE KEY-----",
            "&#x",
            "\\u00",
            "ignore previous instructions",
            "<system>",
            "é",
            "к",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(parts, 0..24).prop_map(|parts| parts.concat())
}
