//! Reading command lines as a shell would, as far as it can be told without running anything.
//!
//! Quotes are taken off, variables with known values are put in, and what `echo`, `printf` and decoders would print is
//! worked out. What depends on the world stays unresolved, and is marked as such.

mod cursor;
mod expand;
mod parse;
mod print;

use std::collections::BTreeMap;

pub(crate) use parse::parse;
pub(crate) use print::static_output;

/// How a language of command lines quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// POSIX shells and those near them.
    Posix,
    /// `cmd.exe`: `^` escapes, single quotes mean nothing.
    Cmd,
}

/// Known variables.
pub(crate) type Variables = BTreeMap<String, String>;

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word, quotes taken off and known values put in.
    pub(crate) text: String,
    /// True where a part of it depends on the world.
    pub(crate) unresolved: bool,
    /// True where it is written in pieces that only a shell puts together: quotes inside a word, escapes of letters, variables.
    pub(crate) pieced: bool,
}

impl Word {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) words: Vec<Word>,
    /// Files that it writes to.
    pub(crate) writes: Vec<String>,
    /// Files that it reads from.
    pub(crate) reads: Vec<String>,
    /// What a here-document or here-string feeds it.
    pub(crate) input: Option<String>,
    /// True where its output goes to the next command.
    pub(crate) piped: bool,
    /// Variables set for it alone, `NAME=value`.
    pub(crate) assignments: Vec<(String, String)>,
}

impl Command {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.writes.is_empty() && self.reads.is_empty() && self.assignments.is_empty()
    }
}

/// What a script is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// Its commands in order, control words taken off.
    pub(crate) commands: Vec<Command>,
    /// Scripts inside it: of substitutions.
    pub(crate) inner: Vec<String>,
    /// True where a quote or bracket is not closed, or a bound was reached.
    pub(crate) broken: bool,
}

#[cfg(test)]
mod tests;
