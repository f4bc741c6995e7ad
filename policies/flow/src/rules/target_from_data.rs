//! # target-from-data
//!
//! **What it does.** Notes outward calls whose target is a whole field of data that strangers may have written: a sender, a participant,
//! a row of a list. Nothing is asked by default.
//!
//! **Why.** To answer whoever wrote is honest work, and most of it. An operator of a mailbox that nobody should answer by itself can set
//! `target_from_data: ask`.
//!
//! **Example.** `read_inbox` returns `sender: ada@example.com`, and `send_email` with `to: ada@example.com` follows.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Facts, Finding, Rule, Severity, Verdict};

use super::{Asking, argument, react, source};
use crate::settings::Settings;
use crate::sighting::Sighting;

const ID: &str = "target-from-data";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Info, "The target of an outward call is a field of untrusted data.")
}

pub(super) fn judge(facts: &Facts, call: &Call, sighting: &Sighting<'_>, settings: &Settings) -> Verdict {
    let Some(first) = sighting.from_data.first() else {
        return Verdict::allow();
    };
    let from = source(first);
    let target = argument(call, first);
    let finding = Finding::new(ID, Severity::Info, ["the target is a field of what ", &from, " returned"].concat());
    let text = [
        "`",
        &call.name,
        "` of `",
        &call.server,
        "` goes to `",
        target,
        "`, a field of what ",
        &from,
        " returned. Is this meant?",
    ];
    let asking = Asking { code: ID, severity: Severity::Low, text: text.concat(), about: target };
    react(facts, settings.target_from_data, finding.at(first.span), ID, vec![asking])
}
