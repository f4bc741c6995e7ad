//! # sampling-model
//!
//! **What it does.** Where the settings list models, refuses a request that hints at another one, and one that hints at none: what the
//! client would then use is not on the list. Where the settings name one model, the host puts it in the place of the hints.
//!
//! **Why.** A hint is a wish for a model that may cost ten times as much. A list that is passed by saying nothing is no list.
//!
//! **Example.** With `allowed_models: ["small-*"]`, hints `[small-1]` pass; `[large-1]`, `[small-1, large-1]` and `[]` are refused.

use portcullis_sdk::request_gate::Sampling;
use portcullis_sdk::{Rule, Severity, Verdict, glob};

use super::deny;
use crate::limits::Limits;

const ID: &str = "sampling-model";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A server hints at a model that is not on the list.")
}

pub(super) fn refuse(sampling: &Sampling, limits: &Limits<'_>) -> Option<Verdict> {
    if limits.models.is_empty() {
        return None;
    }
    let listed = |model: &str| limits.models.iter().any(|pattern| glob::matches(pattern, model));
    let message = match (limits.model, sampling.models.iter().find(|model| !listed(model))) {
        (Some(model), _) if listed(model) => return None,
        (Some(_), _) => "the model of the settings is not on their list".to_owned(),
        (None, Some(model)) => ["`", model, "` is not on the list: ", &limits.models.join(", ")].concat(),
        (None, None) if sampling.models.is_empty() => {
            ["the request names no model, and only these are allowed: ", &limits.models.join(", ")].concat()
        }
        (None, None) => return None,
    };
    Some(deny(ID, Severity::Medium, "sampling-model", &message))
}
