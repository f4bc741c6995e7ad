//! What an operator may set. The keys of `sampling` and `elicitation` are those of a server's entry, so that its blocks can be
//! copied under `servers` as they are.

use std::collections::BTreeMap;

use portcullis_sdk::ConfigureError;
use serde::Deserialize;

/// The settings. What is left out has the default that the README states.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Requests to the model.
    pub sampling: Sampling,
    /// Requests to the user.
    pub elicitation: Elicitation,
    /// Requests for the roots of the client.
    pub roots: Option<Roots>,
    /// Further words that name a secret, each lowercase letters.
    pub secret_words: Vec<String>,
    /// The same for one server, by name; stronger than what holds for all.
    pub servers: BTreeMap<String, ServerSettings>,
}

/// What holds for one server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Requests to the model.
    pub sampling: Sampling,
    /// Requests to the user.
    pub elicitation: Elicitation,
    /// Requests for the roots of the client.
    pub roots: Option<Roots>,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Refused.
    Off,
    /// An approver decides.
    Ask,
    /// Passes within its limits.
    Allow,
}

/// Who is told the roots.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Roots {
    /// Nobody.
    Off,
    /// Servers that are not untrusted.
    Trusted,
    /// Every server.
    Allow,
}

/// Settings of sampling.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// False is the same as `mode: off`.
    pub enabled: Option<bool>,
    /// What happens to a request within its limits.
    pub mode: Option<Mode>,
    /// Requests in a minute, at least 1.
    pub max_rpm: Option<u64>,
    /// Seconds that the model may take; more than an hour counts as an hour.
    pub timeout: Option<f64>,
    /// Tokens of one answer, at least 1.
    pub max_tokens_cap: Option<u64>,
    /// Tokens of all answers in an hour, counted as they are asked for.
    pub max_tokens_per_hour: Option<u64>,
    /// Requests with tools in a row; 0 refuses tools.
    pub max_tool_rounds: Option<u64>,
    /// The one model that may be used.
    pub model: Option<String>,
    /// Globs over names of models; empty allows any.
    pub allowed_models: Option<Vec<String>>,
    /// Part of a server's entry; means nothing here.
    pub log_level: Option<String>,
    /// Part of a server's entry; means nothing here.
    pub expose_client_tools: Option<bool>,
}

/// Settings of elicitation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Elicitation {
    /// False refuses forms and URLs.
    pub enabled: Option<bool>,
    /// What happens to a form that asks for no secret.
    pub form: Option<Mode>,
    /// Globs over the hosts that a URL may name; without one, URLs are refused.
    pub url_hosts: Option<Vec<String>>,
    /// Seconds that the user may take; more than an hour counts as an hour.
    pub timeout: Option<f64>,
}

impl Settings {
    /// Refuses values that make no sense, each with its place.
    pub(crate) fn check(&self) -> Result<(), ConfigureError> {
        check("", &self.sampling, &self.elicitation)?;
        for (name, server) in &self.servers {
            check(&["/servers/", name].concat(), &server.sampling, &server.elicitation)?;
        }
        for (index, word) in self.secret_words.iter().enumerate() {
            if word.is_empty() || !word.chars().all(|letter| letter.is_alphabetic() && !letter.is_uppercase()) {
                let place = ["/secret_words/", &index.to_string()].concat();
                return Err(ConfigureError::at(place, "a word is lowercase letters and nothing else"));
            }
        }
        Ok(())
    }
}

fn check(place: &str, sampling: &Sampling, elicitation: &Elicitation) -> Result<(), ConfigureError> {
    let refuse = |key: &str, message: &str| Err(ConfigureError::at([place, key].concat(), message));
    if sampling.max_rpm == Some(0) {
        return refuse("/sampling/max_rpm", "must be at least 1; `mode: off` refuses every request");
    }
    if sampling.max_tokens_cap == Some(0) {
        return refuse("/sampling/max_tokens_cap", "must be at least 1; `mode: off` refuses every request");
    }
    for (key, timeout) in [("/sampling/timeout", sampling.timeout), ("/elicitation/timeout", elicitation.timeout)] {
        if timeout.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
            return refuse(key, "must be more than 0 seconds");
        }
    }
    Ok(())
}
