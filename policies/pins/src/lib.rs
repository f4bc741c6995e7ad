#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod drift;
mod phrases;
mod rules;
mod settings;

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::listing_gate::{Batch, Item};
use portcullis_sdk::{
    CallGate, ConfigureError, Description, Facts, ListingGate, Packs, PinState, Policy, Rights, Verdict,
};

use phrases::Phrases;
pub use settings::{Reaction, Settings};

/// Compares what servers list with what was approved.
#[derive(Debug)]
pub struct Pins {
    settings: Settings,
    phrases: Phrases,
}

impl Policy for Pins {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "pins",
            env!("CARGO_PKG_VERSION"),
            "Holds back definitions that changed in what they ask of the model or claim to do since they were approved.",
        )
        .rules(rules::declared())
        .wants(Rights::ASK)
    }

    fn new(settings: Settings, packs: &Packs) -> Result<Self, ConfigureError> {
        Ok(Self { settings, phrases: Phrases::read(packs.require("phrases")?)? })
    }
}

impl ListingGate for Pins {
    fn scan(&self, _facts: &Facts, batch: &Batch) -> Vec<Verdict> {
        let judge = |item: &Item| {
            let verdict = match item.pin {
                PinState::Drifted => rules::drifted(item, &self.settings, &self.phrases),
                PinState::Unpinned | PinState::Approved => Verdict::allow(),
            };
            verdict.join(rules::cross_server_clone::judge(batch, item))
        };
        batch.items.iter().map(judge).collect()
    }
}

impl CallGate for Pins {
    fn authorize(&self, _facts: &Facts, call: &Call) -> Verdict {
        rules::drifted_call::judge(call)
    }
}

portcullis_sdk::export!(Pins: ListingGate, CallGate);
