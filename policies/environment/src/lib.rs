#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod pattern;
mod rules;
mod settings;

use portcullis_sdk::environment_gate::{Offered, Subject};
use portcullis_sdk::{ConfigureError, Description, EnvironmentGate, Facts, Packs, Policy, Selection};

pub use settings::{ServerSettings, Settings};

/// Selects the variables that a stdio server starts with.
#[derive(Debug)]
pub struct Environment {
    settings: Settings,
}

impl Policy for Environment {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "environment",
            env!("CARGO_PKG_VERSION"),
            "Passes a short list of variables to a stdio server and withholds the rest of the gateway's environment.",
        )
        .rules(rules::declared())
        .without_payload()
    }

    fn new(settings: Settings, _packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        Ok(Self { settings })
    }
}

impl EnvironmentGate for Environment {
    fn select(&self, _facts: &Facts, subject: &Subject) -> Selection {
        let server = self.settings.servers.get(&subject.entry.name);
        let passes = |offered: &Offered| {
            let windows = rules::is_windows(subject.platform);
            let named = rules::base::matches(&offered.name, windows)
                || (windows && rules::windows::matches(&offered.name))
                || rules::passed::matches(&offered.name, &self.settings, server, windows);
            (offered.tagged || named) && !rules::withheld::matches(&offered.name, &self.settings, server, windows)
        };
        let removed = subject.offered.iter().filter(|offered| !passes(offered)).map(|offered| offered.name.clone());
        let mut selection = Selection::withhold(removed.collect());
        selection.findings = rules::findings(subject, &selection.removed);
        selection
    }
}

portcullis_sdk::export!(Environment: EnvironmentGate);
