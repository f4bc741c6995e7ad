//! Exact strings and tags.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::anchor::Reach;
use super::lexicon::Entry;
use crate::automaton::{Automaton, AutomatonError};
use crate::layer::{CUES, Encoding};

/// All literals of a pack in one automaton.
#[derive(Debug)]
pub(super) struct Literals {
    automaton: Automaton,
    /// By pattern: the rule, and which ends must be word boundaries.
    sources: Vec<Source>,
}

/// What a literal stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A match of the rule with that index.
    Rule(usize),
    /// A pattern may match around here, as far as that.
    Anchor(Reach),
    /// The text may be turned by a cipher.
    Cipher(Encoding),
}

#[derive(Debug)]
struct Source {
    meaning: Meaning,
    left: bool,
    right: bool,
}

/// The automaton could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the literals do not fit an automaton")]
pub struct LiteralsError(#[source] AutomatonError);

impl Literals {
    pub(super) fn build(literals: &[(usize, &str)], anchors: &BTreeMap<Entry, Reach>) -> Result<Self, LiteralsError> {
        let mut sources = Vec::with_capacity(literals.len() + CUES.len());
        let mut texts = Vec::with_capacity(literals.len() + CUES.len());
        let ciphers = CUES.iter().map(|(cue, encoding)| (Meaning::Cipher(*encoding), *cue));
        for (meaning, literal) in literals.iter().map(|(rule, literal)| (Meaning::Rule(*rule), *literal)).chain(ciphers)
        {
            let folded = crate::normal::Normal::new(literal).text().to_lowercase();
            let open_left = folded.starts_with('*');
            let open_right = folded.ends_with('*');
            let text = folded.trim_start_matches('*').trim_end_matches('*').to_owned();
            let edge = |character: Option<char>| character.is_some_and(|c| c.is_ascii_alphanumeric());
            sources.push(Source {
                meaning,
                left: !open_left && (edge(text.chars().next()) || text.starts_with('.')),
                right: !open_right && edge(text.chars().next_back()),
            });
            texts.push(text);
        }
        for (anchor, reach) in anchors {
            sources.push(Source { meaning: Meaning::Anchor(*reach), left: true, right: !anchor.prefix });
            texts.push(anchor.word.clone());
        }
        let automaton = Automaton::new(&texts).map_err(LiteralsError)?;
        Ok(Self { automaton, sources })
    }

    /// Calls `found` with the meaning and range of each literal.
    pub(super) fn scan(&self, text: &str, mut found: impl FnMut(Meaning, Range<usize>)) {
        let bytes = text.as_bytes();
        let word = |offset: Option<usize>| {
            offset
                .and_then(|offset| bytes.get(offset))
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        self.automaton.find_all(bytes, |index, range| {
            let Some(source) = self.sources.get(index) else { return };
            let cut_left = source.left && word(range.start.checked_sub(1));
            let cut_right = source.right && word(Some(range.end));
            if !cut_left && !cut_right {
                found(source.meaning, range);
            }
        });
    }
}

/// Names of tags, by lowercase name.
#[derive(Debug, Default)]
pub(super) struct Tags {
    rules: HashMap<String, usize>,
}

impl Tags {
    pub(super) fn insert(&mut self, name: &str, rule: usize) {
        self.rules.insert(name.to_lowercase(), rule);
    }

    /// Calls `found` with the rule and range of each tag that opens or closes: `<name>`, `</name x="y">`, `[name]`,
    /// `<|name|>`, blanks allowed inside the brackets.
    pub(super) fn scan(&self, text: &str, mut found: impl FnMut(usize, Range<usize>)) {
        /// Attributes longer than this are no tag that a model would take for one.
        const LONGEST: usize = 200;
        /// Blanks and marks between the bracket and the name: `</`, `<|`, `<!-- `.
        const LEAD: usize = 6;
        /// Names of tags are short.
        const NAME: usize = 32;
        if self.rules.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let mut from = 0;
        while let Some(open) = bytes.get(from..).and_then(|rest| memchr::memchr2(b'<', b'[', rest)) {
            let start = from + open;
            from = start + 1;
            let angle = bytes.get(start) == Some(&b'<');
            let Some(inner) = bytes.get(from..bytes.len().min(from + LONGEST)) else { break };
            let lead = inner
                .iter()
                .take(LEAD)
                .take_while(|byte| matches!(byte, b' ' | b'/' | b'|' | b'<' | b'-') || angle && **byte == b'!')
                .count();
            let name_of = inner.get(lead..).unwrap_or_default();
            let length = name_of
                .iter()
                .take(NAME)
                .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
                .count();
            let Some(name) = name_of.get(..length).and_then(|name| std::str::from_utf8(name).ok()) else { continue };
            if name.is_empty() {
                continue;
            }
            let Some(rule) = self.rules.get(&name.to_lowercase()) else { continue };
            let close = if angle { b'>' } else { b']' };
            let after = name_of.get(length..).unwrap_or_default();
            let Some(end) = after.iter().position(|byte| *byte == close || *byte == b'\n') else { continue };
            // In square brackets a name followed by other words is a link or a list, not a tag.
            let attributes = after.get(..end).unwrap_or_default();
            let plain = attributes.iter().all(|byte| matches!(byte, b' ' | b'/' | b'|' | b'-'));
            let spaced = angle && matches!(attributes.first(), Some(b' ' | b'/'));
            if after.get(end) == Some(&close) && (plain || spaced) {
                found(*rule, start..from + lead + length + end + 1);
            }
        }
    }
}
