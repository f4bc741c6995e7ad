#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod rules;
mod settings;

use portcullis_sdk::call_gate::{Call, Kind};
use portcullis_sdk::{CallGate, ConfigureError, Description, Facts, Packs, Policy, Rights, Trust, Verdict};

pub use settings::{Overrides, Settings, Tier};

/// Asks before a server that nobody vouches for changes anything.
#[derive(Debug)]
pub struct TrustTiers {
    settings: Settings,
}

impl Policy for TrustTiers {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "trust",
            env!("CARGO_PKG_VERSION"),
            "Asks before an untrusted server changes anything, and before a definition is used that changed since it was approved.",
        )
        .rules(rules::declared())
        .wants(Rights::ASK)
        .without_payload()
    }

    fn new(settings: Settings, _packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        Ok(Self { settings })
    }
}

impl TrustTiers {
    fn tier(&self, facts: &Facts) -> Tier {
        match facts.server_trust {
            Some(Trust::Full) => Tier::Full,
            Some(Trust::Untrusted) => Tier::Untrusted,
            None => self.settings.default_trust,
        }
    }

    /// Asks at most one question for the tier: the first rule that applies.
    fn judge_tier(&self, call: &Call) -> Verdict {
        if self.settings.tools.write(&call.server, &call.name) {
            return rules::write_capable::ask(call, rules::write_capable::Reason::Operator);
        }
        if self.settings.tools.read_only(&call.server, &call.name) {
            return Verdict::allow();
        }
        match call.kind {
            // A list of the gateway: it names what passed the listing gate, and no server hears of it.
            Kind::Tool if call.utility => Verdict::allow(),
            Kind::Tool => rules::contradictory_hints::judge(call)
                .or_else(|| rules::implausible_hint::judge(call))
                .or_else(|| rules::write_capable::judge(call))
                .unwrap_or_else(Verdict::allow),
            Kind::Prompt | Kind::Resource => rules::unvouched_read::ask(call),
            // A completion helps a person to type; what it offers passes the result gate.
            Kind::Completion => Verdict::allow(),
        }
    }
}

impl CallGate for TrustTiers {
    fn authorize(&self, facts: &Facts, call: &Call) -> Verdict {
        let tier = self.tier(facts);
        let drift = rules::drifted_definition::judge(call, tier, self.settings.ask_on_drift);
        match tier {
            Tier::Full => drift,
            Tier::Untrusted => self.judge_tier(call).join(drift),
        }
    }
}

portcullis_sdk::export!(TrustTiers: CallGate);
