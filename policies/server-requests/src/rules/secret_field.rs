//! # secret-field
//!
//! **What it does.** Refuses a form with a field that is for a secret, by its name, title, description or format, and a form whose message
//! asks for one. Look-alike letters, digits in the place of letters, camel case and separators do not hide a word.
//!
//! **Why.** Servers must not ask for secrets by forms (MCP 2025-06-18, elicitation, security considerations): what is typed goes through
//! the client, its log and the gateway in plain text, and to a server that may be anyone. A yes of the user would not change that.
//!
//! **Example.** `{ github_token: string }`, `{ code: string, description: "Enter your one-time passcode" }` and a form that says "type your
//! password below" are refused. `max_tokens`, a boolean `reset_password` and "never enter your password here" are not.

use portcullis_sdk::request_gate::{FormField, Request};
use portcullis_sdk::{Finding, Rule, Severity, Verdict};

use crate::words::SecretWords;

const ID: &str = "secret-field";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::High, "A form that asks for a secret.")
}

pub(super) fn refuse(request: &Request, fields: &[FormField], words: &SecretWords) -> Option<Verdict> {
    let field = fields.iter().find(|field| is_secret(field, words));
    let message = match field {
        Some(field) => ["the field `", &field.name, "` is for a secret"].concat(),
        None if says(request, words) => "the message asks for a secret".to_owned(),
        None => return None,
    };
    let mut finding = Finding::new(ID, Severity::High, message.as_str());
    let evidence = request.segments.iter().enumerate().filter(|(_, segment)| !segment.key);
    for (index, segment) in evidence.filter(|(_, segment)| words.name(&segment.text) || words.request(&segment.text)) {
        finding = finding.at(segment.whole(index));
    }
    Some(Verdict::deny("elicitation-secret", message).with_finding(finding))
}

/// A yes or no is no secret, whatever it is about.
fn is_secret(field: &FormField, words: &SecretWords) -> bool {
    if field.type_ == "boolean" {
        return false;
    }
    field.format == "password"
        || words.name(&field.name)
        || words.name(&field.title)
        || words.request(&field.description)
}

/// Every text outside of the fields: the message, and what else the server wrote.
fn says(request: &Request, words: &SecretWords) -> bool {
    let outside = |pointer: &str| !pointer.starts_with("/requestedSchema/properties/");
    request.segments.iter().any(|segment| !segment.key && outside(&segment.pointer) && words.request(&segment.text))
}
