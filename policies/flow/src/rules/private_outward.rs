//! # private-outward
//!
//! **What it does.** Finds private content that goes outward, or into a URL, after untrusted content was read. By itself it is
//! noted; together with `target-from-prose` the call is denied.
//!
//! **Why.** An agent that read something hostile and then sends what is private may have been told to. Most letters quote something, so this
//! alone stops nothing unless the operator says so. Content of the very text that named the target does not count: its
//! author knows it.
//!
//! **Example.** `get_page` returned a page; then `send_email` carries the account number that `get_user_info` returned.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Facts, Finding, Rule, Severity, Verdict};

use super::{Asking, argument, react, source};
use crate::settings::Settings;
use crate::sighting::Sighting;

const ID: &str = "private-outward";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Low, "Private content goes outward after untrusted content was read.")
}

pub(super) fn judge(facts: &Facts, call: &Call, sighting: &Sighting<'_>, settings: &Settings) -> Verdict {
    let Some(first) = sighting.private.first() else {
        return Verdict::allow();
    };
    let from = source(first);
    let mut finding = Finding::new(ID, Severity::Low, ["the call carries content that ", &from, " returned"].concat());
    for echo in &sighting.private {
        if !finding.evidence.contains(&echo.span) {
            finding = finding.at(echo.span);
        }
    }
    let text = ["`", &call.name, "` of `", &call.server, "` sends content that ", &from, " returned. Is this meant?"];
    let about = argument(call, first);
    let asking = Asking { code: ID, severity: Severity::Medium, text: text.concat(), about };
    react(facts, settings.private_outward, finding, ID, vec![asking])
}
