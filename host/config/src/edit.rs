//! Changing a config file without touching what is not meant: comments, order and spelling stay.
//!
//! A change is made to the text, at the places that the parser of the reader gives, and counts only where the reader then
//! sees exactly that change and no other: what is written is what is read. Libraries that edit YAML bring a parser of their
//! own, and with it a second opinion of what a file means.

mod change;
mod render;
mod servers;
mod spans;

use portcullis_model::json::{Object, Value};

use crate::tree::{self, Tree};

/// The text of a config or of any other YAML or JSON file, to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigText {
    text: String,
}

/// A change could not be made. The text is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text can't be read: where it could not, and why.
    #[error("line {line}, column {column}: {message}")]
    Unreadable {
        /// Line, from 1; 0 for the whole file.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The value is written in a way that can't be changed without changing more: by an alias, a merge, or over others' lines.
    #[error("`{0}` is written in a way that can't be changed safely; hint: change it by hand")]
    Entangled(String),
    /// There is nothing of that name.
    #[error("there is no `{0}`")]
    Missing(String),
    /// Something of that name is there already.
    #[error("there is a `{0}` already")]
    Present(String),
}

impl ConfigText {
    /// Takes a text.
    ///
    /// # Errors
    /// It is no YAML or JSON, or a key is written twice: what a change would change is then not clear.
    pub fn parse(text: impl Into<String>) -> Result<Self, EditError> {
        let text = text.into();
        read(&text)?;
        Ok(Self { text })
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the whole as a value; an empty map where the text is empty.
    pub fn to_value(&self) -> Value {
        read(&self.text).unwrap_or_else(|_| Object::new().into())
    }

    /// Sets the value that a way of keys leads to. Maps on the way that are missing are made.
    ///
    /// # Errors
    /// Something on the way is no map, or the change can't be made without another one.
    pub fn set(&mut self, path: &[&str], value: &Value) -> Result<(), EditError> {
        let entangled = || EditError::Entangled(path.join("."));
        let mut wanted = read(&self.text)?;
        if !change::set_in_value(&mut wanted, path, value) {
            return Err(entangled());
        }
        let root = spans::parse(&self.text).ok_or_else(entangled)?;
        let text = change::set(&self.text, root.as_ref(), path, value).ok_or_else(entangled)?;
        self.accept(text, &wanted).ok_or_else(entangled)
    }

    /// Removes the value that a way of keys leads to, with its key.
    ///
    /// # Errors
    /// There is none, or it can't be removed without another change.
    pub fn remove(&mut self, path: &[&str]) -> Result<(), EditError> {
        let entangled = || EditError::Entangled(path.join("."));
        let mut wanted = read(&self.text)?;
        if !change::remove_from_value(&mut wanted, path) {
            return Err(EditError::Missing(path.join(".")));
        }
        let root = spans::parse(&self.text).flatten().ok_or_else(entangled)?;
        let text = change::remove(&self.text, &root, path).ok_or_else(entangled)?;
        self.accept(text, &wanted).ok_or_else(entangled)
    }

    /// Takes a changed text where it means what is wanted, and nothing else.
    fn accept(&mut self, text: String, wanted: &Value) -> Option<()> {
        let is_wanted = read(&text).is_ok_and(|value| value == *wanted);
        is_wanted.then(|| self.text = text)
    }
}

/// Reads a text as the reader of configs does.
fn read(text: &str) -> Result<Value, EditError> {
    let Tree { root, problems } = tree::parse(text);
    if let Some(problem) = problems.into_iter().next() {
        let (line, column) = (problem.place.line, problem.place.column);
        return Err(EditError::Unreadable { line, column, message: problem.mistake.into_message() });
    }
    Ok(match root.map(|root| root.to_value()) {
        None | Some(Value::Null) => Object::new().into(),
        Some(value) => value,
    })
}

#[cfg(test)]
mod tests;
