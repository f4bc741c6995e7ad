#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod address;
mod encoding;
mod launch;
mod program;
mod rules;
mod settings;
mod shell;
mod tables;
mod words;

use portcullis_sdk::config_gate::Entry;
use portcullis_sdk::{ConfigGate, ConfigureError, Description, Facts, Packs, Policy, Rights, Verdict};

pub use settings::{Action, Settings};

/// Screens the entry of a server before it is saved, started or connected.
#[derive(Debug)]
pub struct ConfigScreen {
    settings: Settings,
    tables: tables::Tables,
}

impl Policy for ConfigScreen {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "config-screen",
            env!("CARGO_PKG_VERSION"),
            "Screens server entries for known campaigns, for programs that reach out or settle in, and for what hides them.",
        )
        .rules(rules::declared())
        .wants(Rights::DENY | Rights::ASK)
    }

    fn new(settings: Settings, packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        Ok(Self { settings, tables: tables::Tables::new(packs)? })
    }
}

impl ConfigGate for ConfigScreen {
    fn screen(&self, _facts: &Facts, entry: &Entry) -> Verdict {
        rules::judge(entry, &self.settings, &self.tables)
    }
}

portcullis_sdk::export!(ConfigScreen: ConfigGate);
