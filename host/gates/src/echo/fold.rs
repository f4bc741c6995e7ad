//! The form in which texts are compared: lower case, white space run together.

/// A folded text, with where each byte of it comes from.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) text: String,
    /// For each byte of the text: where its character begins and ends in the original.
    origin: Vec<(u32, u32)>,
}

impl Folded {
    /// Folds a text that stands nowhere as it is.
    pub(super) fn without_origin(text: &str) -> Self {
        Self { text: fold(text), origin: Vec::new() }
    }

    /// Returns where a range of the text stands in the original; everything where the range is empty.
    pub(super) fn origin(&self, range: &std::ops::Range<usize>) -> (u32, u32) {
        let first = self.origin.get(range.start).map_or(0, |(start, _)| *start);
        let last = range.end.checked_sub(1).and_then(|last| self.origin.get(last)).map_or(first, |(_, end)| *end);
        (first, last.max(first))
    }
}

/// Folds a text.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    run(text, |character, _, _| folded.push(character));
    folded
}

/// Folds a text and keeps where everything comes from.
pub(super) fn fold_with_origin(text: &str) -> Folded {
    let mut folded = Folded::default();
    run(text, |character, start, end| {
        folded.text.push(character);
        let place = (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX));
        folded.origin.resize(folded.text.len(), place);
    });
    folded
}

/// Gives out the folded characters, each with where it begins and ends in the original. White space at either end is
/// left out.
fn run(text: &str, mut push: impl FnMut(char, usize, usize)) {
    let mut space: Option<(usize, usize)> = None;
    let mut begun = false;
    for (start, character) in text.char_indices() {
        let end = start + character.len_utf8();
        if character.is_whitespace() {
            space = space.or(begun.then_some((start, end)));
            continue;
        }
        if let Some((start, end)) = space.take() {
            push(' ', start, end);
        }
        begun = true;
        if character.is_ascii() {
            push(character.to_ascii_lowercase(), start, end);
        } else {
            character.to_lowercase().for_each(|lower| push(lower, start, end));
        }
    }
}
