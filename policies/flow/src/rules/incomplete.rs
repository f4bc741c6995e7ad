//! # flow-unknown
//!
//! **What it does.** Asks before an outward call of a session that read untrusted and private content, where the host could not remember all of it.
//!
//! **Why.** What is not remembered is not recognised, and silence proves nothing. Only the labels of the session are left, and by
//! them any outward call may carry anything anywhere.
//!
//! **Example.** A session read some hundred pages, and `send_email` follows.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Facts, Finding, Rule, Severity, Verdict};

use super::{Asking, react};
use crate::PRIVATE;
use crate::settings::Settings;

const ID: &str = "flow-unknown";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Low, "An outward call of a session that read more than the host remembers.")
}

pub(super) fn judge(facts: &Facts, call: &Call, settings: &Settings) -> Verdict {
    if !facts.has_label(PRIVATE) {
        return Verdict::allow();
    }
    let message = "the session read untrusted and private content, more than is remembered";
    let text = [
        "`",
        &call.name,
        "` of `",
        &call.server,
        "` goes outward in a session that read so much that its flow cannot be told. Let it run?",
    ];
    let asking = Asking { code: ID, severity: Severity::Medium, text: text.concat(), about: &call.name };
    react(facts, settings.incomplete, Finding::new(ID, Severity::Low, message), ID, vec![asking])
}
