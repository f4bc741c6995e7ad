//! Where words are worth reading: around words without which no pattern can match.
//!
//! Each pattern has an *anchor*, the element whose words are the rarest. The automaton that finds literals finds the
//! words of all anchors too, and only the words around them that a pattern can reach are cut into tokens. A long clean text costs little more than
//! the pass of the automaton.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lexicon::Entry;
use super::token;

/// How far around an anchor a pattern can reach, in bytes: words that are longer than any text has are not waited for.
const REACH: usize = 1024;

/// Words beyond the reach of a pattern that are read all the same: whether a sentence begins at a word, and what follows one,
/// shows at its neighbours.
const MARGIN: usize = 2;

/// How far patterns with an anchor reach, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) before: u32,
    pub(super) after: u32,
}

impl Reach {
    /// Reaches as far as another one, too.
    pub(super) fn widen(&mut self, other: Self) {
        self.before = self.before.max(other.before);
        self.after = self.after.max(other.after);
    }
}

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

/// Returns the parts of `text` around anchors: as many words on both sides as their patterns reach. Parts that touch are one.
/// Parts begin and end between words.
pub(super) fn windows(text: &str, anchors: &[(usize, Reach)]) -> Vec<Range<usize>> {
    if anchors.is_empty() {
        return Vec::new();
    }
    let words = words(text);
    let place = |index: usize| words.get(index).map(|start| *start as usize);
    let around = |(anchor, reach): &(usize, Reach)| {
        let own = words.partition_point(|start| *start as usize <= *anchor).saturating_sub(1);
        let first = own.saturating_sub(reach.before as usize + MARGIN);
        let start = match place(first) {
            // What stands before the first word tells that it is the first.
            Some(start) if anchor - start <= REACH && first == 0 => 0,
            Some(start) if anchor - start <= REACH => start,
            Some(_) | None => blank_before(text, anchor.saturating_sub(REACH)),
        };
        let end = place(own + reach.after as usize + MARGIN + 1).unwrap_or(text.len());
        let end = if end - anchor <= REACH { end } else { blank_after(text, anchor + REACH) };
        start..end
    };
    let mut around: Vec<_> = anchors.iter().map(around).collect();
    around.sort_unstable_by_key(|window| window.start);
    let mut windows: Vec<Range<usize>> = Vec::new();
    for window in around {
        match windows.last_mut() {
            Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
            _ => windows.push(window),
        }
    }
    windows
}

/// Returns where runs without blanks begin that have a letter or digit: each has a token at least.
fn words(text: &str) -> Vec<u32> {
    let mut words = Vec::with_capacity(text.len() / 6);
    let (mut begin, mut counted) = (0, false);
    for (index, byte) in text.bytes().enumerate() {
        if byte.is_ascii_whitespace() {
            (begin, counted) = (index + 1, false);
        } else if !counted && token::word_byte(byte) {
            counted = true;
            words.extend(u32::try_from(begin));
        }
    }
    words
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

    fn reaching(before: u32, after: u32) -> Reach {
        Reach { before, after }
    }

    fn bounds(text: &str, anchors: &[(usize, Reach)]) -> Vec<(usize, usize)> {
        windows(text, anchors).into_iter().map(|window| (window.start, window.end)).collect()
    }

    #[test]
    fn windows_have_as_many_words_as_patterns_reach_and_join_where_they_touch() {
        let text = "word ".repeat(100);
        let found = |anchors: &[(usize, Reach)]| bounds(&text, anchors);
        assert_eq!(found(&[(250, reaching(3, 1))]), [(225, 270)]);
        assert_eq!(found(&[(250, reaching(3, 1)), (400, reaching(0, 0))]), [(225, 270), (390, 415)]);
        assert_eq!(found(&[(300, reaching(9, 0)), (250, reaching(3, 1))]), [(225, 315)]);
        assert_eq!(found(&[(0, reaching(9, 0)), (495, reaching(0, 9))]), [(0, 15), (485, 500)]);
        assert_eq!(bounds("short text", &[(6, reaching(1, 1))]), [(0, 10)]);
        assert!(bounds("", &[]).is_empty());
    }

    #[test]
    fn marks_between_words_are_no_words() {
        let text = format!("one two {} ignore - - ; three four five six seven", "- ".repeat(40));
        let anchor = text.find("ignore").unwrap();
        let found = windows(&text, &[(anchor, reaching(0, 1))]);
        assert_eq!(found.len(), 1);
        assert!(text[found[0].clone()].starts_with("one two") && text[found[0].clone()].ends_with("five "));
    }

    #[test]
    fn words_without_end_are_cut() {
        let text = format!("{} ignore {}", "é".repeat(5_000), "é".repeat(5_000));
        let anchor = text.find("ignore").unwrap();
        let found = windows(&text, &[(anchor, reaching(9, 9))]);
        assert!(found[0].len() < 3 * REACH && text.get(found[0].clone()).unwrap().contains("ignore"));
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
