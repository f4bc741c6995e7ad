//! The fixture runner, on a small policy.

use portcullis_sdk::{
    ConfigureError, Description, Edit, Facts, Finding, Packs, Policy, Replacement, ResultGate, Rights, Rule, Severity,
    Verdict, result_gate::Subject, testing,
};

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    word: Option<String>,
}

/// Blanks a word.
struct Blanker {
    word: String,
}

impl Policy for Blanker {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new("blanker", "1.0.0", "Blanks a word.")
            .rule(Rule::new("word", Severity::Low, "The word."))
            .wants(Rights::EDIT_SPAN)
    }

    fn new(settings: Settings, packs: &Packs) -> Result<Self, ConfigureError> {
        let word = match settings.word {
            Some(word) => word,
            None => packs.require("words")?.parse::<Vec<String>>()?.swap_remove(0),
        };
        Ok(Self { word })
    }
}

impl ResultGate for Blanker {
    fn sanitize(&self, _facts: &Facts, subject: &Subject) -> Verdict {
        let mut verdict = Verdict::allow();
        for (index, segment) in subject.segments.iter().enumerate().filter(|(_, segment)| !segment.key) {
            for (start, word) in segment.text.match_indices(&self.word) {
                let span = segment.span(index, start..start + word.len());
                verdict = verdict
                    .with_finding(Finding::new("word", Severity::Low, "the word").at(span))
                    .with_edit(Edit::blank("word", span, Replacement::Marker));
            }
        }
        verdict
    }
}

portcullis_sdk::export!(Blanker: ResultGate);

/// Runs fixtures of a text and returns what the runner panics with.
fn failure(name: &str, fixtures: &str) -> Option<String> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("runner").join(name).join("fixtures");
    std::fs::create_dir_all(&folder).expect("a folder of cargo");
    std::fs::write(folder.join("cases.yaml"), fixtures).expect("a file of ours");
    let panic = std::panic::catch_unwind(|| testing::fixtures::<Blanker>(&folder)).err()?;
    Some(panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn fixtures_that_hold_pass() {
    let fixtures = r#"
gate: result
packs: { words: [poison] }
cases:
  - name: the word is blanked
    subject: { document: { content: [{ type: text, text: "some poison here" }] } }
    expect: { decision: allow, rules: [word], text: { /content/0/text: "some [word] here" } }
  - name: the settings are stronger
    settings: { word: some }
    subject: { document: { content: [{ type: text, text: "some poison here" }] } }
    expect: { text: { /content/0/text: "[word] poison here" } }
"#;
    assert_eq!(failure("holds", fixtures), None);
}

#[test]
fn every_mismatch_is_reported_with_what_was_found() {
    let fixtures = r#"
gate: result
settings: { word: poison }
cases:
  - name: wrong
    subject: { document: { text: "poison" } }
    expect: { decision: deny, rules: [], text: { /text: "poison", /nowhere: "" } }
"#;
    let failure = failure("mismatch", fixtures).unwrap();
    for line in [
        "1 of 1 cases failed",
        "decision: expected \"deny\", found \"allow\"",
        "rules: expected [], found [\"word\"]",
        "text at \"/text\": expected \"poison\", found \"[word]\"",
        "the subject has no segment \"/nowhere\"",
        "blank word (Replacement::Marker) at \"/text\" 0..6 \"poison\"",
    ] {
        assert!(failure.contains(line), "{line} is missing in\n{failure}");
    }
}

#[test]
fn a_policy_that_refuses_its_settings_or_lacks_a_pack_fails_the_case() {
    let misspelt = "gate: result\nsettings: { wrod: x }\ncases: [{ name: a, subject: { document: {} }, expect: {} }]";
    assert!(failure("settings", misspelt).unwrap().contains("configure refused ``: unknown field `wrod`"));
    let lacking = "gate: result\npacks: {}\ncases: [{ name: a, subject: { document: {} }, expect: {} }]";
    assert!(failure("pack", lacking).unwrap().contains("configure refused `pack:words`: the policy needs this pack"));
}

#[test]
fn a_gate_that_is_not_exported_and_a_broken_file_fail() {
    let other = "gate: call\nsettings: { word: x }\ncases: [{ name: a, subject: { name: t }, expect: {} }]";
    assert!(failure("gate", other).unwrap().contains("blanker does not judge at this gate"));
    assert!(failure("broken", "gate: nowhere\ncases: []").unwrap().contains("unknown variant `nowhere`"));
    assert!(failure("empty", "gate: result\ncases: []").unwrap().contains("no fixture in"));
}
