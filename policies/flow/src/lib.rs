#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod kinds;
mod pack;
mod rules;
mod settings;
mod sighting;
mod words;

use portcullis_sdk::call_gate::{Call, Kind as CallKind};
use portcullis_sdk::result_gate::{Kind as ResultKind, Subject};
use portcullis_sdk::{CallGate, ConfigureError, Description, Facts, Packs, Policy, ResultGate, Rights, Verdict};

use kinds::{Kinds, SaidBy};
use pack::Tables;
pub use settings::{Reaction, Settings, Tools};
use sighting::Sighting;

/// The label of a session that read what strangers may have written.
const UNTRUSTED: &str = "read:untrusted";

/// The label of a session that read what is not open to everybody.
const PRIVATE: &str = "read:private";

/// The label of a text in which instructions for its reader were found, as `result-sanitizer` sets it.
const INSTRUCTION: &str = "read:instruction";

/// Watches where content of results goes.
#[derive(Debug)]
pub struct Flow {
    settings: Settings,
    tables: Tables,
}

impl Policy for Flow {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "flow",
            env!("CARGO_PKG_VERSION"),
            "Stops calls that carry private content to a target that untrusted content named, and asks about such targets.",
        )
        .rules(rules::declared())
        .label(UNTRUSTED)
        .label(PRIVATE)
        .wants(Rights::ASK | Rights::DENY | Rights::LABEL)
    }

    fn new(settings: Settings, packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        Ok(Self { settings, tables: Tables::read(packs.require("kinds")?)? })
    }
}

impl ResultGate for Flow {
    fn sanitize(&self, _facts: &Facts, subject: &Subject) -> Verdict {
        match subject.kind {
            ResultKind::Result | ResultKind::Error => {}
            // Progress, log lines and standard error are for people.
            ResultKind::Progress | ResultKind::Log | ResultKind::Stderr => return Verdict::allow(),
        }
        let kinds = Kinds::of(&subject.server, &subject.name, &self.settings.tools, &self.tables);
        let mut verdict = Verdict::allow();
        if kinds.untrusted {
            verdict = verdict.with_label_of_all(UNTRUSTED);
        }
        if kinds.private {
            verdict = verdict.with_label_of_all(PRIVATE);
        }
        verdict
    }
}

impl CallGate for Flow {
    fn authorize(&self, facts: &Facts, call: &Call) -> Verdict {
        if call.kind != CallKind::Tool || call.utility || !facts.has_label(UNTRUSTED) {
            return Verdict::allow();
        }
        let kinds = Kinds::of(&call.server, &call.name, &self.settings.tools, &self.tables);
        let outward = kinds.outward || (kinds.said_by != SaidBy::Operator && kinds::says_outward(&call.annotations));
        let sighting = Sighting::of(facts, call, outward, &self.settings, &self.tables);
        if !outward && !sighting.fetches {
            return Verdict::allow();
        }
        rules::judge(facts, call, &sighting, outward, &self.settings)
    }
}

portcullis_sdk::export!(Flow: CallGate, ResultGate);
