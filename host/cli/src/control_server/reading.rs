//! Arguments of calls, and reading off the thread that carries messages.

use std::sync::Arc;

use portcullis_model::json::{Object, Value};

use super::Control;

/// What is told of a call that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem(pub(super) String);

impl Problem {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Says what failed, without the causes: they are for the log.
    pub(super) fn of(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::warn!(error, what, "the control server could not do something");
        Self(format!("{what} failed"))
    }
}

/// The arguments of a call.
#[derive(Clone, Debug)]
pub(super) struct Arguments(Object);

impl Arguments {
    /// Takes arguments with these names and no others.
    pub(super) fn new(arguments: &Object, names: &[&str]) -> Result<Self, Problem> {
        match arguments.iter().find(|(name, _)| !names.contains(name)) {
            Some((name, _)) => {
                let name: String = name.chars().take(64).collect();
                Err(Problem::new(format!("there is no argument `{name}`; there are: {}", names.join(", "))))
            }
            None => Ok(Self(arguments.clone())),
        }
    }

    /// Returns them with another value of one.
    pub(super) fn with(&self, name: &str, value: Value) -> Self {
        let mut arguments = self.0.clone();
        arguments.insert(name, value);
        Self(arguments)
    }

    /// Returns a text; nothing where there is none or it is empty.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(Problem::new(format!("`{name}` has to be a text"))),
        }
    }

    /// Returns a text that must be there.
    pub(super) fn needed(&self, name: &str) -> Result<&str, Problem> {
        self.text(name)?.ok_or_else(|| Problem::new(format!("`{name}` is missing")))
    }

    /// Returns a whole number, written as one or as a text, within bounds.
    pub(super) fn number(&self, name: &str, usual: i64, least: i64, most: i64) -> Result<i64, Problem> {
        let number = match self.0.get(name) {
            None | Some(Value::Null) => Some(usual),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_i64(),
        };
        let number = number.ok_or_else(|| Problem::new(format!("`{name}` has to be a whole number")))?;
        Ok(number.clamp(least, most))
    }

    /// Returns how many are wanted: 1 to 200, as many as are read in one go by a model.
    pub(super) fn limit(&self, usual: i64) -> Result<usize, Problem> {
        Ok(usize::try_from(self.number("limit", usual, 1, 200)?).unwrap_or(1))
    }
}

/// Reads the database on a thread that may wait.
pub(super) async fn off_thread(
    control: &Arc<Control>,
    arguments: &Arguments,
    read: fn(&Control, &Arguments) -> Result<Value, Problem>,
) -> Result<Value, Problem> {
    let (control, arguments) = (Arc::clone(control), arguments.clone());
    let reading = tokio::task::spawn_blocking(move || read(&control, &arguments));
    reading.await.unwrap_or_else(|_| Err(Problem::new("reading failed")))
}
