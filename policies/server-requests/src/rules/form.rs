//! # elicitation-form
//!
//! **What it does.** Refuses forms where they are off, asks where they are not allowed outright. The question lists every field: name,
//! type, and whether it is required.
//!
//! **Why.** A form comes out of the blue and looks like the client's own. Whoever fills it in should know first which server asks.
//!
//! **Example.** A server wants `branch` (string, required): the client says so and shows the form after a yes.

use portcullis_sdk::request_gate::{FormField, Request};
use portcullis_sdk::serde_json::Map;
use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict};

use super::{deny, under};
use crate::limits::Limits;
use crate::settings::Mode;

const ID: &str = "elicitation-form";

/// How many fields a question lists. The host keeps 1,024 bytes of it; the whole form is shown beside it.
const LISTED_FIELDS: usize = 8;

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Low, "A server wants the user to fill in a form.")
}

pub(super) fn refuse(limits: &Limits<'_>) -> Option<Verdict> {
    (limits.form == Mode::Off).then(|| deny(ID, Severity::Low, "elicitation-off", "the settings refuse forms"))
}

pub(super) fn pass(request: &Request, fields: &[FormField], limits: &Limits<'_>) -> Verdict {
    let told = Map::from_iter([("timeout_ms".to_owned(), limits.form_timeout_milliseconds.into())]);
    let verdict = if limits.form == Mode::Allow { Verdict::allow() } else { ask(request, fields) };
    verdict.with_extensions(&under("elicitation", told))
}

fn ask(request: &Request, fields: &[FormField]) -> Verdict {
    let mut text = ["`", &request.server, "` wants you to fill in a form"].concat();
    for (index, field) in fields.iter().take(LISTED_FIELDS).enumerate() {
        let required = if field.required { ", required" } else { "" };
        let separator = if index == 0 { ": `" } else { ", `" };
        text.push_str(&[separator, &field.name, "` (", &field.type_, required, ")"].concat());
    }
    if fields.len() > LISTED_FIELDS {
        text.push_str(", and more");
    }
    text.push_str(". Show it?");
    Verdict::ask(vec![Question::new("elicitation-form", text, Severity::Low, ApproverClass::Client)])
        .with_finding(Finding::new(ID, Severity::Low, "a server wants the user to fill in a form"))
}
