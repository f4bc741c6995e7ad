//! Refuses what names a forbidden word.

use portcullis_sdk::{ConfigureError, Description, Facts, Finding, Packs, Policy, Rights, Rule, Segment, Severity};

const RULE: &str = "forbidden-word";
const MESSAGE: &str = "a forbidden word";

/// What the operator writes under `settings`.
#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Words that nobody may say.
    words: Vec<String>,
}

/// The configured policy. Memory is frozen after `new`: build every table there.
pub struct ForbiddenWords {
    words: Vec<String>,
}

impl Policy for ForbiddenWords {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new("{{name}}", env!("CARGO_PKG_VERSION"), "Refuses what names a forbidden word.")
            .rule(Rule::new(RULE, Severity::High, "A forbidden word."))
            .wants({{rights}})
    }

    fn new(settings: Settings, _packs: &Packs) -> Result<Self, ConfigureError> {
        match settings.words.iter().position(String::is_empty) {
            Some(index) => Err(ConfigureError::at(format!("/words/{index}"), "an empty word is everywhere")),
            None => Ok(Self { words: settings.words }),
        }
    }
}

impl ForbiddenWords {
    /// Returns a finding for every forbidden word of a subject, with the place where it stands.
    pub fn findings(&self, segments: &[Segment]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (index, segment) in segments.iter().enumerate() {
            for word in &self.words {
                for (start, found) in segment.text.match_indices(word.as_str()) {
                    let span = segment.span(index, start..start + found.len());
                    findings.push(Finding::new(RULE, Severity::High, MESSAGE).at(span));
                }
            }
        }
        findings
    }
}
