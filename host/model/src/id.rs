//! Names that must not be mixed up, each its own type.

use std::borrow::Borrow;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is no valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("is empty")]
    Empty,
    /// The text is longer than the limit in bytes.
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    /// The text has a character that this kind of name does not allow.
    #[error("has the character {0:?}, which is not allowed")]
    Character(char),
}

/// Names longer than this serve nobody and would bloat every record that carries them.
const LONGEST: usize = 256;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Parses a name, refusing what its kind does not allow.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                if text.is_empty() {
                    return Err(IdError::Empty);
                }
                if text.len() > LONGEST {
                    return Err(IdError::TooLong(LONGEST));
                }
                let allowed: fn(char) -> bool = $allowed;
                match text.chars().find(|character| !allowed(*character)) {
                    Some(character) => Err(IdError::Character(character)),
                    None => Ok(Self(text.into())),
                }
            }

            /// Returns the text of the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(D::Error::custom)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

fn is_kebab(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
}

identifier!(
    /// The name of a policy: lowercase words joined by hyphens.
    PolicyName,
    is_kebab
);
identifier!(
    /// The id of a rule inside a policy: lowercase words joined by hyphens.
    RuleId,
    is_kebab
);
identifier!(
    /// The name that the config gives to a server. Any text without control characters: it is shown to people.
    ServerName,
    |character| !character.is_control()
);
identifier!(
    /// The opaque name of a session.
    SessionId,
    |character| character.is_ascii_graphic()
);
identifier!(
    /// The opaque name of whom a session belongs to.
    Principal,
    |character| !character.is_control()
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_name_is_lowercase_words_joined_by_hyphens() {
        assert_eq!(PolicyName::parse("config-screen").unwrap().as_str(), "config-screen");
        assert_eq!(PolicyName::parse("Config"), Err(IdError::Character('C')));
        assert_eq!(PolicyName::parse(""), Err(IdError::Empty));
    }

    #[test]
    fn a_server_name_may_be_any_text_that_can_be_shown() {
        assert!(ServerName::parse("Файлы 文件").is_ok());
        assert_eq!(ServerName::parse("a\u{1b}[2J"), Err(IdError::Character('\u{1b}')));
        assert_eq!(ServerName::parse(&"a".repeat(257)), Err(IdError::TooLong(256)));
    }
}
