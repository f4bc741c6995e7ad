//! Reading a map strictly: every member is taken once, and what is left over is a mistake.

use portcullis_model::json::{Object, Value};

/// A fixture that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub(super) struct FixtureError {
    place: String,
    problem: String,
}

impl FixtureError {
    pub(super) fn new(place: &str, problem: impl Into<String>) -> Self {
        Self { place: place.to_owned(), problem: problem.into() }
    }
}

/// The members of a map that were not taken yet.
#[derive(Debug)]
pub(super) struct Fields {
    place: String,
    members: Object,
}

impl Fields {
    /// Reads a map; `null` is an empty one.
    pub(super) fn of(place: &str, value: &Value) -> Result<Self, FixtureError> {
        match value {
            Value::Object(members) => Ok(Self { place: place.to_owned(), members: members.clone() }),
            Value::Null => Ok(Self { place: place.to_owned(), members: Object::new() }),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(FixtureError::new(place, "expected a map"))
            }
        }
    }

    fn mistake<T>(&self, key: &str, problem: &str) -> Result<T, FixtureError> {
        Err(FixtureError::new(&format!("{}.{key}", self.place), problem))
    }

    /// Takes whatever it is.
    pub(super) fn value(&mut self, key: &str) -> Option<Value> {
        self.members.remove(key)
    }

    /// Takes a text.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, FixtureError> {
        match self.members.remove(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => self.mistake(key, "expected a text"),
        }
    }

    /// Takes a text that has to be there.
    pub(super) fn required(&mut self, key: &str) -> Result<String, FixtureError> {
        match self.text(key)? {
            Some(text) => Ok(text),
            None => self.mistake(key, "it is missing"),
        }
    }

    /// Takes a boolean; false where there is none.
    pub(super) fn flag(&mut self, key: &str) -> Result<bool, FixtureError> {
        match self.members.remove(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => self.mistake(key, "expected true or false"),
        }
    }

    /// Takes a number.
    pub(super) fn number<N: TryFrom<u64>>(&mut self, key: &str) -> Result<Option<N>, FixtureError> {
        match self.members.remove(key) {
            None => Ok(None),
            Some(value) => match value.as_u64().and_then(|number| N::try_from(number).ok()) {
                Some(number) => Ok(Some(number)),
                None => self.mistake(key, "expected a whole number that is not too large"),
            },
        }
    }

    /// Takes a list.
    pub(super) fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>, FixtureError> {
        match self.members.remove(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => self.mistake(key, "expected a list"),
        }
    }

    /// Takes a list of texts.
    pub(super) fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, FixtureError> {
        let Some(items) = self.list(key)? else { return Ok(None) };
        let texts =
            items.into_iter().map(|item| if let Value::String(text) = item { Some(text) } else { None }).collect();
        match texts {
            Some(texts) => Ok(Some(texts)),
            None => self.mistake(key, "expected a list of texts"),
        }
    }

    /// Takes a map.
    pub(super) fn map(&mut self, key: &str) -> Result<Option<Object>, FixtureError> {
        match self.members.remove(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => self.mistake(key, "expected a map"),
        }
    }

    /// Takes one of a few words.
    pub(super) fn one_of<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, FixtureError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*meaning));
        }
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.mistake(key, &format!("`{text}` is unknown; known are {}", known.join(", ")))
    }

    /// Ends: whatever was not taken is a mistake.
    pub(super) fn end(self) -> Result<(), FixtureError> {
        match self.members.iter().next() {
            None => Ok(()),
            Some((key, _)) => self.mistake(key, "unknown key"),
        }
    }
}
