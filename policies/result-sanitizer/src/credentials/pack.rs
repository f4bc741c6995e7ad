//! The shape of the pack `credentials`.

use serde::Deserialize;

use super::alphabet::Alphabet;

/// Shapes and names of credentials.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Pack {
    /// Shapes by provider.
    pub(crate) tokens: Vec<Token>,
    /// Names whose value is a credential.
    pub(crate) secret_names: Vec<String>,
    /// Names whose value is a credential where it is long and random: names that say little.
    #[serde(default)]
    pub(crate) random_names: Vec<String>,
    /// Services. A long random value behind a name that ends with one of these is a credential.
    #[serde(default)]
    pub(crate) services: Vec<String>,
    /// Words before `key` that make it a credential.
    pub(crate) key_owners: Vec<String>,
}

/// The shape of one kind of credential.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Token {
    /// For the operator.
    pub(crate) name: String,
    /// Texts that begin the credential.
    #[serde(default)]
    pub(crate) prefixes: Vec<String>,
    /// A text inside the credential.
    pub(crate) infix: Option<String>,
    /// With an infix: how many characters may stand before it.
    #[serde(default)]
    pub(crate) before: Option<(usize, usize)>,
    /// What the rest is made of.
    pub(crate) alphabet: Alphabet,
    /// Fewest and most characters of the rest.
    pub(crate) length: (usize, usize),
    /// Fewest bits a character of the rest.
    #[serde(default)]
    pub(crate) entropy: f64,
    /// True where the rest must have a digit.
    #[serde(default)]
    pub(crate) digits: bool,
    /// True where the rest must have a lowercase letter: capitals alone are a word or a constant.
    #[serde(default)]
    pub(crate) lower: bool,
}
