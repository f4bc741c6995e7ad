//! Finding many fixed texts at once, with several places of a text read side by side.
//!
//! The table of an automaton for some hundred words is larger than the caches that are fast, and each step has to wait for the
//! row that the one before names. Four walks over four parts of a text wait together.

use std::ops::Range;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, BuildError, MatchError, MatchKind};

/// Bytes that are read before what was found in them is told: as many as the matches of four walks are kept for.
const BLOCK: usize = 16 * 1024;

/// Fewest bytes of a walk for every byte that it reads twice. Where words are longer, one walk reads all.
const WORTHWHILE: usize = 8;

/// Fixed texts, upper and lower case of ASCII letters being the same.
#[derive(Debug)]
pub struct Automaton {
    dfa: DFA,
    start: StateID,
}

/// An automaton could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AutomatonError {
    /// The texts are too many or too long.
    #[error("the texts do not fit an automaton")]
    Build(#[from] BuildError),
    /// It has no state to begin with.
    #[error("the automaton has no beginning")]
    Start(#[from] MatchError),
}

/// One place where one of the texts ends.
#[derive(Clone, Copy)]
struct Hit {
    text: u32,
    end: usize,
}

impl Automaton {
    /// Builds an automaton. A text is named by its place among `texts`.
    pub fn new<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Result<Self, AutomatonError> {
        let mut builder = DFA::builder();
        builder.match_kind(MatchKind::Standard).ascii_case_insensitive(true).prefilter(false);
        let dfa = builder.build(texts)?;
        let start = dfa.start_state(Anchored::No)?;
        Ok(Self { dfa, start })
    }

    /// Calls `found` for every occurrence of every text, overlapping ones too, in the order of their ends.
    pub fn find_all(&self, haystack: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let mut hits: [Vec<Hit>; 4] = Default::default();
        let mut begin = 0;
        while begin < haystack.len() {
            let end = haystack.len().min(begin + BLOCK);
            self.block(haystack, begin..end, &mut hits);
            for hit in hits.iter_mut().flat_map(|hits| hits.drain(..)) {
                let text = hit.text as usize;
                let length = self.length(text);
                found(text, hit.end.saturating_sub(length)..hit.end);
            }
            begin = end;
        }
    }

    fn length(&self, text: usize) -> usize {
        aho_corasick::PatternID::new(text).map_or(0, |text| self.dfa.pattern_len(text))
    }

    /// Reads one block: in four parts, or in one where words are long for it.
    fn block(&self, haystack: &[u8], block: Range<usize>, hits: &mut [Vec<Hit>; 4]) {
        let overlap = self.dfa.max_pattern_len().saturating_sub(1);
        let part = block.len() / 4;
        let [first, second, third, fourth] = hits;
        if part < overlap.saturating_mul(WORTHWHILE) {
            let mut state = self.state_at(haystack, block.start, overlap);
            self.walk(&mut state, haystack, block, first);
            return;
        }
        let starts = [0, 1, 2, 3].map(|walk| block.start + walk * part);
        let [mut one, mut two, mut three, mut four] = starts.map(|start| self.state_at(haystack, start, overlap));
        let [bytes_one, bytes_two, bytes_three, bytes_four] =
            starts.map(|start| haystack.get(start..start + part).unwrap_or_default());
        let side_by_side = bytes_one.iter().zip(bytes_two).zip(bytes_three.iter().zip(bytes_four));
        let [start_one, start_two, start_three, start_four] = starts;
        for (index, ((a, b), (c, d))) in side_by_side.enumerate() {
            self.step(&mut one, *a, start_one + index, first);
            self.step(&mut two, *b, start_two + index, second);
            self.step(&mut three, *c, start_three + index, third);
            self.step(&mut four, *d, start_four + index, fourth);
        }
        self.walk(&mut four, haystack, start_four + part..block.end, fourth);
    }

    /// Returns the state at a place: what stands further before it than the longest text does not matter.
    fn state_at(&self, haystack: &[u8], place: usize, overlap: usize) -> StateID {
        let before = haystack.get(place.saturating_sub(overlap)..place).unwrap_or_default();
        before.iter().fold(self.start, |state, byte| self.dfa.next_state(Anchored::No, state, *byte))
    }

    fn walk(&self, state: &mut StateID, haystack: &[u8], range: Range<usize>, hits: &mut Vec<Hit>) {
        for (index, byte) in haystack.get(range.clone()).unwrap_or_default().iter().enumerate() {
            self.step(state, *byte, range.start + index, hits);
        }
    }

    #[inline]
    fn step(&self, state: &mut StateID, byte: u8, place: usize, hits: &mut Vec<Hit>) {
        *state = self.dfa.next_state(Anchored::No, *state, byte);
        if self.dfa.is_special(*state) {
            self.note(*state, place + 1, hits);
        }
    }

    #[cold]
    fn note(&self, state: StateID, end: usize, hits: &mut Vec<Hit>) {
        if !self.dfa.is_match(state) {
            return;
        }
        hits.extend(
            (0..self.dfa.match_len(state))
                .map(|index| Hit { text: self.dfa.match_pattern(state, index).as_u32(), end }),
        );
    }
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    use super::*;

    fn all(texts: &[String], haystack: &str) -> Vec<(usize, Range<usize>)> {
        let mut found = Vec::new();
        Automaton::new(texts).unwrap().find_all(haystack.as_bytes(), |text, range| found.push((text, range)));
        found
    }

    fn expected(texts: &[String], haystack: &str) -> Vec<(usize, Range<usize>)> {
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(texts).unwrap();
        automaton.find_overlapping_iter(haystack).map(|hit| (hit.pattern().as_usize(), hit.range())).collect()
    }

    #[test]
    fn a_text_is_found_wherever_it_stands_between_walks_and_blocks() {
        let texts = ["needle".to_owned(), "dle".to_owned(), "e".to_owned()];
        for length in [10, 100, 1_000, BLOCK - 3, BLOCK, BLOCK + 3, 3 * BLOCK + 7] {
            for place in (0..length - 6).step_by(length / 97 + 1).chain(length.saturating_sub(12)..length - 6) {
                let mut haystack = "x".repeat(length);
                haystack.replace_range(place..place + 6, "nEEdle");
                assert_eq!(all(&texts, &haystack), expected(&texts, &haystack), "{length} {place}");
            }
        }
    }

    #[test]
    fn nothing_to_find_and_nothing_to_read_are_fine() {
        assert!(all(&[], "text").is_empty());
        assert!(all(&["a".to_owned()], "").is_empty());
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_one_walk_finds(
            texts in proptest::collection::vec("[ab]{1,7}", 1..12),
            haystack in "[abC]{0,2000}",
        ) {
            prop_assert_eq!(all(&texts, &haystack), expected(&texts, &haystack));
        }
    }
}
