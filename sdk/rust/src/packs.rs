//! Data packs: what changes without a new policy.

use serde::de::DeserializeOwned;

use crate::ConfigureError;

/// A versioned data pack, handed over by the host as JSON.
#[derive(Clone, Debug)]
pub struct Pack {
    name: String,
    version: String,
    data: String,
}

impl Pack {
    /// Builds a pack from its name, its version and its data as JSON.
    pub fn new(name: impl Into<String>, version: impl Into<String>, data: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), data: data.into() }
    }

    /// Returns the name by which the policy asks for it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its version, as its author wrote it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns its data as JSON text.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// Reads its data into a type of the policy.
    ///
    /// # Errors
    ///
    /// The data has another shape; the error names the pack.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigureError> {
        serde_json::from_str(&self.data).map_err(|error| self.error("", error.to_string()))
    }

    /// Refuses the pack at a JSON pointer into its data.
    pub fn error(&self, pointer: &str, message: impl Into<String>) -> ConfigureError {
        let mut place = String::from("pack:");
        place.push_str(&self.name);
        place.push_str(pointer);
        ConfigureError::at(place, message)
    }
}

/// The packs that the host found for the policy.
#[derive(Clone, Debug, Default)]
pub struct Packs(Vec<Pack>);

impl Packs {
    /// No pack.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns a pack by name. The host hands over one pack a name.
    pub fn get(&self, name: &str) -> Option<&Pack> {
        self.0.iter().find(|pack| pack.name == name)
    }

    /// Returns a pack by name.
    ///
    /// # Errors
    ///
    /// It is missing.
    pub fn require(&self, name: &str) -> Result<&Pack, ConfigureError> {
        self.get(name).ok_or_else(|| {
            let mut place = String::from("pack:");
            place.push_str(name);
            ConfigureError::at(place, "the policy needs this pack")
        })
    }

    /// Iterates over all packs in the order of the host.
    pub fn iter(&self) -> impl Iterator<Item = &Pack> {
        self.0.iter()
    }
}

impl FromIterator<Pack> for Packs {
    fn from_iter<Source: IntoIterator<Item = Pack>>(source: Source) -> Self {
        Self(source.into_iter().collect())
    }
}
