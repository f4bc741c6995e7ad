//! # sampling-mode
//!
//! **What it does.** Refuses sampling where it is off, asks where it is not allowed outright.
//!
//! **Why.** Sampling spends the user's tokens on a text of the server, and brings the answer of the user's model to it. A server that
//! needs it is rare enough to be asked about.
//!
//! **Example.** A server sends `sampling/createMessage`: the client shows what it says and who wants it, and waits.

use portcullis_sdk::request_gate::{Request, Sampling};
use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict};

use super::{deny, sampling_tokens};
use crate::limits::Limits;
use crate::settings::Mode;

const ID: &str = "sampling-mode";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A server wants an answer of the model.")
}

pub(super) fn refuse(limits: &Limits<'_>) -> Option<Verdict> {
    (limits.sampling == Mode::Off).then(|| deny(ID, Severity::Low, "sampling-off", "the settings refuse sampling"))
}

pub(super) fn pass(request: &Request, sampling: &Sampling, limits: &Limits<'_>) -> Verdict {
    if limits.sampling == Mode::Allow {
        return Verdict::allow();
    }
    let tokens = sampling_tokens::granted(sampling, limits).to_string();
    let tools = if sampling.tools { ", with tools of its own" } else { "" };
    let text = ["`", &request.server, "` wants an answer of the model, up to ", &tokens, " tokens", tools, ". Let it?"];
    Verdict::ask(vec![Question::new("sampling", text.concat(), Severity::Medium, ApproverClass::Client)])
        .with_finding(Finding::new(ID, Severity::Medium, "a server wants an answer of the model"))
}
