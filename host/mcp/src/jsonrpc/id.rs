//! The id that ties a response to its request.

use std::fmt;

use portcullis_model::json::{Number, Value, write_string};

/// The id of a request, as it was written.
///
/// Equality is exact, since a client may use `1` and `"1"` for two requests; [`Id::matches`] compares liberally.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A number, as its text.
    Number(Number),
    /// A string.
    String(String),
}

impl Id {
    /// Returns the id that a value holds; nothing for `null` and for what is neither a number nor a string.
    pub fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self::Number(number)),
            Value::String(text) => Some(Self::String(text)),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Returns the id as one of our own counters, whichever way the peer wrote it: `7`, `7.0` or `"7"`.
    pub fn as_counter(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            // Only plain digits: `parse` alone would take a sign as well.
            Self::String(text) => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?,
        }
    }

    /// Returns true where both mean the same id although one was written as a string or with another number text.
    pub fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => left == right || left.canonical() == right.canonical(),
            (Self::String(left), Self::String(right)) => left == right,
            (Self::Number(_), Self::String(_)) | (Self::String(_), Self::Number(_)) => {
                self.as_counter().is_some_and(|counter| other.as_counter() == Some(counter))
            }
        }
    }

    /// Returns the id as a value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.clone()),
        }
    }

    pub(super) fn append(&self, buffer: &mut Vec<u8>) {
        match self {
            Self::Number(number) => buffer.extend_from_slice(number.as_str().as_bytes()),
            Self::String(text) => write_string(text, buffer),
        }
    }
}

impl From<u64> for Id {
    fn from(counter: u64) -> Self {
        Self::Number(counter.into())
    }
}

impl fmt::Display for Id {
    /// Writes at most 64 characters, escaped: an id is the peer's text and ends up in logs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Number(number) => number.as_str(),
            Self::String(text) => text,
        };
        text.chars().take(64).flat_map(char::escape_debug).try_for_each(|character| write!(formatter, "{character}"))
    }
}
