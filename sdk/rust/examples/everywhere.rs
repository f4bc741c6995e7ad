//! A policy at every gate: it says yes, and writes a line about it.
//!
//! `cargo build -p portcullis-sdk --example everywhere --target wasm32-unknown-unknown` builds its module.

use portcullis_sdk::log::{self, Level};
use portcullis_sdk::{
    CallGate, ConfigGate, ConfigureError, Description, EnvironmentGate, Facts, ListingGate, Packs, Policy, RequestGate,
    ResultGate, Selection, Verdict, call_gate, config_gate, environment_gate, export, listing_gate, request_gate,
    result_gate,
};

struct Everywhere;

impl Policy for Everywhere {
    type Settings = ();

    fn describe() -> Description {
        Description::new("everywhere", env!("CARGO_PKG_VERSION"), "Says yes at every gate.").without_payload()
    }

    fn new(_settings: (), _packs: &Packs) -> Result<Self, ConfigureError> {
        log::panics();
        Ok(Self)
    }
}

impl ConfigGate for Everywhere {
    fn screen(&self, _facts: &Facts, entry: &config_gate::Entry) -> Verdict {
        log::write(Level::Info, &entry.name);
        Verdict::allow()
    }
}

impl EnvironmentGate for Everywhere {
    fn select(&self, _facts: &Facts, subject: &environment_gate::Subject) -> Selection {
        log::write(Level::Info, &subject.entry.name);
        Selection::nothing()
    }
}

impl ListingGate for Everywhere {
    fn scan(&self, _facts: &Facts, batch: &listing_gate::Batch) -> Vec<Verdict> {
        batch
            .items
            .iter()
            .map(|item| {
                log::write(Level::Info, &item.name);
                Verdict::allow()
            })
            .collect()
    }
}

impl CallGate for Everywhere {
    fn authorize(&self, _facts: &Facts, call: &call_gate::Call) -> Verdict {
        log::write(Level::Info, &call.name);
        Verdict::allow()
    }
}

impl ResultGate for Everywhere {
    fn sanitize(&self, _facts: &Facts, subject: &result_gate::Subject) -> Verdict {
        log::write(Level::Info, &subject.name);
        Verdict::allow()
    }
}

impl RequestGate for Everywhere {
    fn authorize(&self, _facts: &Facts, request: &request_gate::Request) -> Verdict {
        log::write(Level::Info, &request.server);
        Verdict::allow()
    }
}

export!(Everywhere: ConfigGate, EnvironmentGate, ListingGate, CallGate, ResultGate, RequestGate);
