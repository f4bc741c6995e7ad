#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod limits;
mod rules;
mod settings;
mod words;

use portcullis_sdk::request_gate::{Kind, Request};
use portcullis_sdk::{ConfigureError, Description, Facts, Packs, Policy, RequestGate, Rights, Verdict};

pub use settings::{Elicitation, Mode, Roots, Sampling, ServerSettings, Settings};

/// Bounds what a server may ask of the client.
#[derive(Debug)]
pub struct ServerRequests {
    settings: Settings,
    words: words::SecretWords,
}

impl Policy for ServerRequests {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "server-requests",
            env!("CARGO_PKG_VERSION"),
            "Bounds sampling, elicitation and roots: what a server asks of the model, of the user and of the client.",
        )
        .rules(rules::declared())
        .meter(rules::sampling_rate::METER, rules::sampling_rate::WINDOW_SECONDS)
        .meter(rules::sampling_tokens::METER, rules::sampling_tokens::WINDOW_SECONDS)
        .wants(Rights::ASK | Rights::DENY | Rights::EDIT_SPAN | Rights::CHARGE)
    }

    fn new(settings: Settings, _packs: &Packs) -> Result<Self, ConfigureError> {
        settings.check()?;
        let words = words::SecretWords::new(&settings.secret_words);
        Ok(Self { settings, words })
    }
}

impl RequestGate for ServerRequests {
    fn authorize(&self, facts: &Facts, request: &Request) -> Verdict {
        let limits = limits::Limits::of(&self.settings, &request.server);
        let verdict = match &request.kind {
            Kind::Sampling(sampling) => rules::sampling(facts, request, sampling, &limits),
            Kind::ElicitationForm(fields) => rules::form(request, fields, &limits, &self.words),
            Kind::ElicitationUrl(url) => rules::url_mode::judge(request, url, &limits),
            Kind::Roots => rules::roots::judge(facts, request, &limits),
        };
        rules::hidden_text::judge(&request.segments).join(verdict)
    }
}

portcullis_sdk::export!(ServerRequests: RequestGate);
