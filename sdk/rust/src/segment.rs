//! Spans of segments.

use std::ops::Range;

use crate::{Segment, Span};

impl Segment {
    /// Returns the span of a byte range of this segment, which stands at `index` among the segments of the subject.
    ///
    /// The range is cut to the text and widened to character boundaries, so that the host never takes it for malformed.
    pub fn span(&self, index: usize, range: Range<usize>) -> Span {
        let mut start = range.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start = start.saturating_sub(1);
        }
        let mut end = range.end.clamp(start, self.text.len());
        while !self.text.is_char_boundary(end) {
            end = end.saturating_add(1);
        }
        Span { segment: narrow(index), start: narrow(start), end: narrow(end) }
    }

    /// Returns the span of the whole segment.
    pub fn whole(&self, index: usize) -> Span {
        self.span(index, 0..self.text.len())
    }
}

/// A subject has at most 4 MiB of text, so neither index nor offset leaves `u32`.
pub(crate) fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use crate::{Role, Segment, Span};

    fn segment(text: &str) -> Segment {
        Segment { pointer: String::new(), role: Role::Text, key: false, text: text.to_owned() }
    }

    #[test]
    fn a_span_is_widened_to_character_boundaries() {
        let segment = segment("aé€b");
        assert_eq!(segment.span(3, 2..4), Span { segment: 3, start: 1, end: 6 });
    }

    #[test]
    fn a_span_is_cut_to_the_text() {
        let segment = segment("abc");
        assert_eq!(segment.span(0, 1..99), Span { segment: 0, start: 1, end: 3 });
        assert_eq!(segment.span(0, 7..9), Span { segment: 0, start: 3, end: 3 });
    }
}
