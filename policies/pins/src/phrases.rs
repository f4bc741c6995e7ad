//! Phrases that make a changed text more than a better explanation.

use portcullis_sdk::{ConfigureError, Pack};
use serde::Deserialize;

/// The pack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrases {
    instructions: Vec<String>,
    parameters: Vec<String>,
}

impl Phrases {
    pub(crate) fn read(pack: &Pack) -> Result<Self, ConfigureError> {
        let phrases: Self = pack.parse()?;
        for (list, words) in [("/instructions/", &phrases.instructions), ("/parameters/", &phrases.parameters)] {
            if let Some(index) = words.iter().position(|word| word.is_empty() || folded(word) != *word) {
                let place = [list, &index.to_string()].concat();
                return Err(
                    pack.error(&place, "a phrase is written in lower case, with single spaces, and is not empty")
                );
            }
        }
        Ok(phrases)
    }

    /// Returns the first phrase that a text has more often than it had.
    pub(crate) fn gained(&self, before: &str, after: &str) -> Option<&str> {
        let (before, after) = (folded(before), folded(after));
        let gained = |phrase: &&String| {
            let count = after.matches(phrase.as_str()).count();
            count > 0 && count > before.matches(phrase.as_str()).count()
        };
        self.instructions.iter().find(gained).map(String::as_str)
    }

    /// Returns what is suspicious about the name of a parameter.
    pub(crate) fn of_parameter(&self, name: &str) -> Option<&str> {
        let name = folded(name).replace(['-', ' '], "_");
        self.parameters.iter().find(|word| name.contains(word.as_str())).map(String::as_str)
    }
}

/// Returns a text in lower case, with white space run together. Characters that hide something are the matter of another
/// policy, which sees every listing.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    folded
}
