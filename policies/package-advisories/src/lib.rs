#![doc = include_str!("../README.md")]
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

mod advisory;
mod network;
mod packages;
mod rules;
mod settings;

use portcullis_sdk::config_gate::Entry;
use portcullis_sdk::{ConfigGate, ConfigureError, Description, Facts, Packs, Policy, Rights, Verdict};

pub use settings::{Reaction, Settings};

/// Looks up the packages that an entry would run.
#[derive(Debug)]
pub struct PackageAdvisories {
    settings: Settings,
}

impl Policy for PackageAdvisories {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "package-advisories",
            env!("CARGO_PKG_VERSION"),
            "Asks an OSV endpoint about the packages that an entry runs, and refuses those that are known to be malicious.",
        )
        .rules(rules::declared())
        .wants(Rights::DENY | Rights::ASK)
        .without_payload()
    }

    fn new(settings: Settings, _packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        Ok(Self { settings })
    }
}

impl ConfigGate for PackageAdvisories {
    fn screen(&self, _facts: &Facts, entry: &Entry) -> Verdict {
        let packages = packages::of(entry);
        rules::judge(&packages, &self.settings, &mut |body| network::post(&self.settings.endpoint, body))
    }
}

portcullis_sdk::export!(PackageAdvisories: ConfigGate);
