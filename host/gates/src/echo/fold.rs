//! The form in which texts are compared: lower case, white space run together.

use std::ops::Range;

/// A folded text, with where it comes from.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) text: String,
    /// Where the folded text is not as far along as before: a byte of it, and where that comes from. From there on both go
    /// on alike.
    shifts: Vec<(usize, usize)>,
}

impl Folded {
    /// Keeps a folded text that stands nowhere as it is.
    pub(super) fn without_origin(text: String) -> Self {
        Self { text, shifts: Vec::new() }
    }

    /// Returns where a range of the folded text stands in the original, in whole characters.
    pub(super) fn origin(&self, range: &Range<usize>, original: &str) -> (u32, u32) {
        let first = original.floor_char_boundary(self.origin_of(range.start));
        let last = range.end.checked_sub(1).map_or(first, |last| original.ceil_char_boundary(self.origin_of(last) + 1));
        (narrow(first), narrow(last.max(first)))
    }

    fn origin_of(&self, index: usize) -> usize {
        let after = self.shifts.partition_point(|(folded, _)| *folded <= index);
        let shift = after.checked_sub(1).and_then(|before| self.shifts.get(before));
        shift.map_or(index, |(folded, original)| original + (index - folded))
    }

    /// Notes where the next byte of the folded text comes from.
    fn note(&mut self, start: usize) {
        if self.origin_of_next() != start {
            self.shifts.push((self.text.len(), start));
        }
    }

    fn origin_of_next(&self) -> usize {
        let index = self.text.len();
        self.shifts.last().map_or(index, |(folded, original)| original + (index - folded))
    }
}

/// Folds a text, as far as is needed for so many bytes.
pub(super) fn fold(text: &str, most: usize) -> String {
    let mut folded = String::with_capacity(text.len().min(most));
    if text.is_ascii() {
        words(text, |piece, _| {
            folded.push_str(piece);
            folded.len() < most
        });
        folded.truncate(most);
        folded.make_ascii_lowercase();
    } else {
        characters(text, |character, _| {
            folded.push(character);
            folded.len() < most
        });
    }
    folded
}

/// Folds a text and keeps where everything comes from.
pub(super) fn fold_with_origin(text: &str) -> Folded {
    let mut folded = Folded { text: String::with_capacity(text.len()), shifts: Vec::new() };
    if text.is_ascii() {
        words(text, |piece, start| {
            folded.note(start);
            folded.text.push_str(piece);
            true
        });
        folded.text.make_ascii_lowercase();
    } else {
        characters(text, |character, start| {
            folded.note(start);
            folded.text.push(character);
            true
        });
    }
    folded
}

/// Gives out the words of an ASCII text and single spaces between them, each with where it begins, until told to stop.
fn words(text: &str, mut push: impl FnMut(&str, usize) -> bool) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(begins) = bytes.get(end..).and_then(|rest| rest.iter().position(|byte| !is_space(byte))) {
        let (space, start) = (end, end + begins);
        let length = bytes.get(start..).and_then(|rest| rest.iter().position(is_space));
        end = length.map_or(bytes.len(), |length| start + length);
        let goes_on = space == 0 || push(" ", space);
        if !goes_on || !push(text.get(start..end).unwrap_or_default(), start) {
            return;
        }
    }
}

/// Returns the folded form of a text that is read backwards, given its folded form.
pub(super) fn fold_backwards(text: &str, folded: &str) -> String {
    if text.is_ascii() {
        // Here it is the same thing; a letter whose lower case is two characters would come out in another order.
        let mut bytes = folded.as_bytes().to_vec();
        bytes.reverse();
        String::from_utf8(bytes).unwrap_or_default()
    } else {
        fold(&text.chars().rev().collect::<String>(), usize::MAX)
    }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Gives out the folded characters, each with where it begins in the original, until it is told to stop. White space at
/// either end is left out.
fn characters(text: &str, mut push: impl FnMut(char, usize) -> bool) {
    let mut space: Option<usize> = None;
    let mut begun = false;
    for (start, character) in text.char_indices() {
        if character.is_whitespace() {
            space = space.or(begun.then_some(start));
            continue;
        }
        if let Some(start) = space.take()
            && !push(' ', start)
        {
            return;
        }
        begun = true;
        let goes_on = if character.is_ascii() {
            push(character.to_ascii_lowercase(), start)
        } else {
            character.to_lowercase().all(|lower| push(lower, start))
        };
        if !goes_on {
            return;
        }
    }
}
