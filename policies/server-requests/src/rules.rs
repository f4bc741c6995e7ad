//! The rules, and the order in which they are asked.

pub(crate) mod form;
pub(crate) mod hidden_text;
pub(crate) mod roots;
mod sampling_mode;
mod sampling_model;
pub(crate) mod sampling_rate;
pub(crate) mod sampling_tokens;
mod sampling_tools;
mod secret_field;
pub(crate) mod url_mode;

use portcullis_sdk::request_gate::{FormField, Request, Sampling};
use portcullis_sdk::serde_json::{Map, Value};
use portcullis_sdk::{Facts, Finding, Rule, Severity, Verdict};

use crate::limits::Limits;
use crate::words::SecretWords;

pub(crate) fn declared() -> Vec<Rule> {
    vec![
        sampling_mode::rule(),
        sampling_rate::rule(),
        sampling_tokens::rule(),
        sampling_model::rule(),
        sampling_tools::rule(),
        form::rule(),
        secret_field::rule(),
        url_mode::rule(),
        roots::rule(),
        hidden_text::rule(),
    ]
}

/// Judges sampling. A request that breaks a limit is refused before anybody is asked about it, and is not counted.
pub(crate) fn sampling(facts: &Facts, request: &Request, sampling: &Sampling, limits: &Limits<'_>) -> Verdict {
    sampling_mode::refuse(limits)
        .or_else(|| sampling_rate::refuse(facts, request, limits))
        .or_else(|| sampling_tokens::refuse(facts, request, sampling, limits))
        .or_else(|| sampling_model::refuse(sampling, limits))
        .or_else(|| sampling_tools::refuse(facts, sampling, limits))
        .unwrap_or_else(|| {
            let mut told = Map::new();
            told.insert("max_tokens".to_owned(), sampling_tokens::granted(sampling, limits).into());
            told.insert("timeout_ms".to_owned(), limits.timeout_milliseconds.into());
            if let Some(model) = limits.model {
                told.insert("models".to_owned(), vec![model].into());
            }
            sampling_mode::pass(request, sampling, limits)
                .with_charge(sampling_rate::charge(request, limits))
                .with_charge(sampling_tokens::charge(request, sampling, limits))
                .with_extensions(&under("sampling", told))
        })
}

/// Judges a form.
pub(crate) fn form(request: &Request, fields: &[FormField], limits: &Limits<'_>, words: &SecretWords) -> Verdict {
    form::refuse(limits)
        .or_else(|| secret_field::refuse(request, fields, words))
        .unwrap_or_else(|| form::pass(request, fields, limits))
}

/// Extensions of one kind of request.
fn under(kind: &str, told: Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([(kind.to_owned(), Value::Object(told))])
}

/// Refuses by a rule.
fn deny(rule: &str, severity: Severity, code: &str, message: &str) -> Verdict {
    Verdict::deny(code, message).with_finding(Finding::new(rule, severity, message))
}
