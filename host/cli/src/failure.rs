//! Errors as the user sees them: one line with the chain of causes, and a hint where there is a fix.

use std::error::Error;
use std::fmt::{self, Display};

use crate::Exit;

/// Why a command could not be carried out.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
}

impl Failure {
    /// Builds one without a cause.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), cause: None, hint: None }
    }

    /// Builds one with its cause.
    pub(crate) fn caused(exit: Exit, doing: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit, message: doing.into(), cause: Some(cause.into()), hint: None }
    }

    /// Adds the fix.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns how the program ends because of it.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

/// The text for standard error: `error: what: cause: cause`, then `hint: …` on a line of its own.
impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.message.clone();
        let mut cause = self.cause.as_deref().map(|cause| cause as &dyn Error);
        let mut nested_hint = None;
        while let Some(error) = cause {
            let text = error.to_string();
            // Some messages end with their own hint.
            let (text, hint) =
                text.split_once("; hint: ").map_or((text.as_str(), None), |(a, b)| (a, Some(b.to_owned())));
            nested_hint = nested_hint.or(hint);
            line.push_str(": ");
            line.push_str(text);
            cause = error.source();
        }
        write!(formatter, "error: {}", one_line(&line))?;
        if let Some(hint) = self.hint.clone().or(nested_hint) {
            write!(formatter, "\nhint: {}", one_line(&hint))?;
        }
        Ok(())
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// Gives an error its place among the exits.
pub(crate) trait OrExit<T> {
    /// Says what was being done, and how the program ends because it failed.
    fn or_exit(self, exit: Exit, doing: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit, doing: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|cause| Failure::caused(exit, doing, cause))
    }
}

/// Returns an error and its causes as one text.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Returns a text with nothing in it that a terminal would act on: servers and files choose parts of it.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let hidden = character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
        if hidden {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the outer cause")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("the inner\ncause; hint: do this")]
    struct Inner;

    #[test]
    fn an_error_is_one_line_of_causes_and_a_line_with_the_hint() {
        let failure = Err::<(), _>(Outer(Inner)).or_exit(Exit::State, "opening the store").unwrap_err();
        assert_eq!(
            failure.to_string(),
            "error: opening the store: the outer cause: the inner\\u{a}cause\nhint: do this"
        );
        assert_eq!(failure.hint("do that").to_string().lines().last(), Some("hint: do that"));
    }

    #[test]
    fn a_text_of_a_server_does_not_reach_the_terminal_as_it_is() {
        assert_eq!(one_line("a\u{1b}[2J\u{202e}b\u{e0041}"), "a\\u{1b}[2J\\u{202e}b\\u{e0041}");
    }
}
