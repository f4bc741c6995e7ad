//! Names that texts may mention.

use std::collections::HashSet;
use std::rc::Rc;

/// The judged item's own name and the names of what else is published.
#[derive(Clone, Debug, Default)]
pub struct Names<'a> {
    own: &'a str,
    others: Rc<HashSet<&'a str>>,
}

impl<'a> Names<'a> {
    /// Collects names. Words of fewer than four letters and plain dictionary words without a mark of code are left
    /// out by [`Names::is_name`]: "search" in a sentence is no mention of a tool called `search`.
    pub fn new(own: &'a str, others: impl IntoIterator<Item = &'a str>) -> Self {
        Self { own, others: Rc::new(others.into_iter().filter(|name| Self::is_name(name) && *name != own).collect()) }
    }

    /// True for names that can be told from ordinary words: long enough, with an underscore, hyphen, dot, digit or
    /// inner capital.
    pub fn is_name(name: &str) -> bool {
        name.len() >= 4
            && (name.bytes().any(|byte| matches!(byte, b'_' | b'-' | b'.' | b'0'..=b'9'))
                || name.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()))
    }

    /// The same names seen from another item of the same catalogue.
    #[must_use]
    pub fn with_own(&self, own: &'a str) -> Self {
        Self { own, others: Rc::clone(&self.others) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.others.is_empty()
    }

    pub(super) fn is_own(&self, word: &str) -> bool {
        !self.own.is_empty() && word == self.own
    }

    pub(super) fn is_other(&self, word: &str) -> bool {
        self.others.contains(word)
    }
}
