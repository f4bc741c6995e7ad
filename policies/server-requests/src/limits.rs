//! What holds for one server, after its own settings were laid over the general ones.

use std::time::Duration;

use crate::settings::{Elicitation, Mode, Roots, Sampling, Settings};

/// The limits of one server.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    pub(crate) sampling: Mode,
    pub(crate) requests_per_minute: u64,
    pub(crate) timeout_milliseconds: u64,
    pub(crate) tokens: u64,
    pub(crate) tokens_per_hour: u64,
    pub(crate) tool_rounds: u64,
    pub(crate) model: Option<&'a str>,
    pub(crate) models: &'a [String],
    pub(crate) form: Mode,
    pub(crate) url_hosts: &'a [String],
    pub(crate) form_timeout_milliseconds: u64,
    pub(crate) roots: Roots,
}

/// The setting of the server where it has one, else the general one.
macro_rules! laid_over {
    ($own:expr, $general:expr, $key:ident) => {
        $own.and_then(|own| own.$key.as_ref()).or($general.$key.as_ref())
    };
}

impl<'a> Limits<'a> {
    /// Figures that nobody set are those of the reference client: 10 requests a minute, 4,096 tokens, 30 seconds, 5 rounds with
    /// tools, 300 seconds for a form. The budget of an hour is ours: 122 answers of full length.
    pub(crate) fn of(settings: &'a Settings, server: &str) -> Self {
        let server = settings.servers.get(server);
        let own: Option<&Sampling> = server.map(|server| &server.sampling);
        let general = &settings.sampling;
        let own_elicitation: Option<&Elicitation> = server.map(|server| &server.elicitation);
        let elicitation = &settings.elicitation;
        let asked = laid_over!(own_elicitation, elicitation, enabled) != Some(&false);
        Self {
            sampling: match laid_over!(own, general, enabled) {
                Some(false) => Mode::Off,
                Some(true) | None => laid_over!(own, general, mode).copied().unwrap_or(Mode::Ask),
            },
            requests_per_minute: laid_over!(own, general, max_rpm).copied().unwrap_or(10),
            timeout_milliseconds: milliseconds(laid_over!(own, general, timeout).copied().unwrap_or(30.0)),
            tokens: laid_over!(own, general, max_tokens_cap).copied().unwrap_or(4_096),
            tokens_per_hour: laid_over!(own, general, max_tokens_per_hour).copied().unwrap_or(500_000),
            tool_rounds: laid_over!(own, general, max_tool_rounds).copied().unwrap_or(5),
            model: laid_over!(own, general, model).map(String::as_str).filter(|model| !model.is_empty()),
            models: laid_over!(own, general, allowed_models).map_or(&[], Vec::as_slice),
            form: match laid_over!(own_elicitation, elicitation, form).copied() {
                Some(mode) if asked => mode,
                None if asked => Mode::Ask,
                Some(_) | None => Mode::Off,
            },
            url_hosts: laid_over!(own_elicitation, elicitation, url_hosts).filter(|_| asked).map_or(&[], Vec::as_slice),
            form_timeout_milliseconds: milliseconds(
                laid_over!(own_elicitation, elicitation, timeout).copied().unwrap_or(300.0),
            ),
            roots: server.and_then(|server| server.roots).or(settings.roots).unwrap_or(Roots::Trusted),
        }
    }
}

/// The longest time limit, in seconds. A longer wait for a person or a model is a hang.
const LONGEST_TIMEOUT: f64 = 3_600.0;

/// The settings hold more than no seconds, so neither step fails.
fn milliseconds(seconds: f64) -> u64 {
    let duration = Duration::try_from_secs_f64(seconds.min(LONGEST_TIMEOUT)).unwrap_or_default();
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}
