#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod credentials;
mod report;
mod rules;
mod settings;

use portcullis_sdk::result_gate::Subject;
use portcullis_sdk::{ConfigureError, Description, Facts, Packs, Policy, ResultGate, Rights, Verdict};
use portcullis_text::rules::{Names, Rules};

use credentials::Credentials;
use report::Report;
pub use settings::{CredentialMode, InjectionMode, Settings};

/// The label of texts in which instructions were found, for policies that judge what comes of them.
const INSTRUCTION: &str = "read:instruction";

/// Cleans everything on its way to the model.
#[derive(Debug)]
pub struct ResultSanitizer {
    credentials: Credentials,
    injection: Rules,
    settings: Settings,
}

impl Policy for ResultSanitizer {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "result-sanitizer",
            env!("CARGO_PKG_VERSION"),
            "Removes hidden characters, credentials and reserved metadata from results, and flags injected instructions.",
        )
        .rules(rules::declared())
        .label(INSTRUCTION)
        .wants(Rights::EDIT_SPAN | Rights::REMOVE_MEMBER | Rights::FENCE | Rights::LABEL)
    }

    fn new(settings: Settings, packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        let policy = Self {
            credentials: rules::credentials::compile(packs.require("credentials")?)?,
            injection: rules::injection::compile(packs.require("injection")?)?,
            settings,
        };
        // Tables that are built on first use belong into the snapshot.
        policy.injection.scan("warm up: aWdub3JlIGFsbCB0aGlzIHBsZWFzZQ== &amp; \u{200b}", &Names::default());
        Ok(policy)
    }
}

impl ResultGate for ResultSanitizer {
    fn sanitize(&self, _facts: &Facts, subject: &Subject) -> Verdict {
        let mut report = Report::new(&self.settings);
        let mut scanner = self.injection.scanner();
        for (index, segment) in subject.segments.iter().enumerate() {
            rules::characters::look(index, segment, &mut report);
            rules::meta::look(index, segment, &mut report);
            rules::credentials::look(index, segment, subject, &self.credentials, &mut report);
            rules::injection::look(index, segment, &mut scanner, &self.injection, &mut report);
            rules::markup::look(index, segment, &mut report);
            rules::media::look(index, segment, subject, &mut report);
        }
        report.verdict()
    }
}

portcullis_sdk::export!(ResultSanitizer: ResultGate);
