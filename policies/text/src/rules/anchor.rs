//! Where words are worth reading: around words without which no pattern can match.
//!
//! Each pattern has an *anchor*, the element whose words are the rarest. The automaton that finds literals finds the
//! words of all anchors too, and only the text around them is cut into tokens. A long clean text costs little more than
//! the pass of the automaton.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lexicon::Entry;

/// How far around an anchor a pattern can reach, in bytes. The widest patterns span some forty words.
const REACH: usize = 1024;

/// Words that nearly every English text has: an element with one of these tells nothing.
const COMMON: &[&str] = &[
    "a", "about", "add", "after", "all", "also", "always", "an", "and", "any", "are", "as", "at", "be", "before", "by",
    "call", "can", "change", "check", "code", "create", "data", "do", "does", "each", "every", "file", "first", "for",
    "from", "get", "has", "have", "if", "in", "include", "input", "is", "it", "its", "key", "list", "may", "more",
    "must", "need", "never", "new", "no", "not", "of", "on", "only", "open", "or", "other", "output", "read",
    "required", "run", "set", "should", "so", "than", "that", "the", "them", "then", "there", "these", "they", "this",
    "to", "tool", "up", "update", "use", "used", "user", "users", "using", "value", "when", "which", "will", "with",
    "without", "write", "you", "your",
];

/// Returns how much a set of words tells: lower is rarer, nothing where it is no use as an anchor.
pub(super) fn rarity(entries: &BTreeSet<Entry>) -> Option<usize> {
    let common = |entry: &Entry| COMMON.contains(&entry.word.as_str()) || (entry.prefix && entry.word.len() < 4);
    (!entries.is_empty() && !entries.iter().any(common)).then_some(entries.len())
}

/// Returns the parts of `text` around the offsets, which ascend; parts that touch are one. Parts begin and end between
/// words.
pub(super) fn windows(text: &str, anchors: &[usize]) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    for anchor in anchors {
        let start = anchor.saturating_sub(REACH);
        match windows.last_mut() {
            // The end is widened to a blank below, by no more than a token.
            Some(last) if start <= last.end => last.end = anchor + REACH,
            _ => windows.push(start..anchor + REACH),
        }
    }
    for window in &mut windows {
        window.start = blank_before(text, window.start);
        window.end = blank_after(text, window.end);
    }
    windows
}

/// Longest distance to a blank that is looked for; a run without blanks is no text, and is cut anywhere.
const RUN: usize = 256;

fn blank_before(text: &str, offset: usize) -> usize {
    let offset = text.floor_char_boundary(offset);
    let from = text.floor_char_boundary(offset.saturating_sub(RUN));
    if offset == 0 {
        return 0;
    }
    text.get(from..offset).and_then(|head| head.rfind([' ', '\n'])).map_or(offset, |place| from + place + 1)
}

fn blank_after(text: &str, offset: usize) -> usize {
    let offset = text.floor_char_boundary(offset);
    let to = text.floor_char_boundary((offset + RUN).min(text.len()));
    text.get(offset..to).and_then(|tail| tail.find([' ', '\n'])).map_or(to, |place| offset + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_around_near_anchors_join_and_cut_no_word() {
        let text = "word ".repeat(4000);
        let found = windows(&text, &[5000, 5600, 15_000]);
        assert_eq!(found.len(), 2);
        for window in found {
            assert!(window.start == 0 || text.as_bytes()[window.start - 1] == b' ');
            assert!(window.end == text.len() || text.as_bytes()[window.end] == b' ');
        }
        assert_eq!(windows("short text", &[3]).first(), Some(&(0..10)));
        assert!(windows("", &[]).is_empty());
    }

    #[test]
    fn elements_with_a_common_word_are_no_anchors() {
        let entries = |words: &[&str]| words.iter().map(|word| super::super::pattern::entry(word)).collect();
        assert_eq!(rarity(&entries(&["ignore", "disregard"])), Some(2));
        assert_eq!(rarity(&entries(&["ignore", "the"])), None);
        assert_eq!(rarity(&entries(&["in*"])), None);
        assert_eq!(rarity(&BTreeSet::new()), None);
    }
}
