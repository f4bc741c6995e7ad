//! From the texts of the host to a configured policy.

use crate::bindings::base::exports::portcullis::policy::lifecycle;
use crate::{ConfigureError, Pack, Policy};

impl ConfigureError {
    /// Refuses settings or packs at a place: a JSON pointer into the settings, or `pack:NAME` and a pointer.
    pub fn at(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// Refuses settings or packs as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self::at("", message)
    }
}

/// Reads settings and packs, and builds the policy.
pub(crate) fn build<P: Policy>(settings: &str, packs: Vec<lifecycle::Pack>) -> Result<P, ConfigureError> {
    let settings = match settings.trim() {
        "" | "{}" | "null" => P::Settings::default(),
        text => serde_json::from_str(text).map_err(|error| ConfigureError::whole(error.to_string()))?,
    };
    let packs = packs.into_iter().map(|pack| Pack::new(pack.name, pack.version, pack.data)).collect();
    P::new(settings, &packs)
}
