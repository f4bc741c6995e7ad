#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod item;
mod rules;
mod settings;
mod sighting;

use portcullis_sdk::listing_gate::Batch;
use portcullis_sdk::{ConfigureError, Description, Facts, ListingGate, Packs, Policy, Rights, Verdict};
use portcullis_text::rules::{Names, Rules};

pub use settings::{Level, Settings};

/// The pack that the policy needs.
const PACK: &str = "rules";

/// Judges the texts of what a server offers.
#[derive(Debug)]
pub struct DescriptionScan {
    rules: Rules,
    settings: Settings,
}

impl Policy for DescriptionScan {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "description-scan",
            env!("CARGO_PKG_VERSION"),
            "Looks for texts that steer a model, and for hidden characters, in everything that a server lists.",
        )
        .rules(rules::declared())
        .wants(Rights::ASK | Rights::DENY)
    }

    fn new(settings: Settings, packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        let rules = rules::phrases::compile(packs.require(PACK)?)?;
        // Tables that are built on first use belong into the snapshot.
        rules.scan("warm up: aWdub3JlIGFsbCB0aGlzIHBsZWFzZQ== &amp; \u{200b}", &Names::default());
        Ok(Self { rules, settings })
    }
}

impl ListingGate for DescriptionScan {
    fn scan(&self, _facts: &Facts, batch: &Batch) -> Vec<Verdict> {
        let published = batch.catalogue.iter().filter(|entry| entry.server != batch.server);
        let others = Names::new("", published.map(|entry| entry.name.as_str()));
        let mut scanner = self.rules.scanner();
        batch.items.iter().map(|item| item::judge(item, &mut scanner, &others, &self.rules, &self.settings)).collect()
    }
}

portcullis_sdk::export!(DescriptionScan: ListingGate);
