//! Blanked spans of one text: their union, and what stands in their place.

use portcullis_model::RuleId;

use crate::display::is_invisible;

/// A span to blank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blank<'a> {
    start: usize,
    end: usize,
    rule: &'a RuleId,
    /// True where nothing is to stand in its place.
    silent: bool,
}

impl<'a> Blank<'a> {
    pub(super) fn new(start: u32, end: u32, rule: &'a RuleId, silent: bool) -> Self {
        Self { start: start as usize, end: end as usize, rule, silent }
    }

    /// Returns true where a marker stands in its place.
    pub(super) fn leaves_marker(&self) -> bool {
        !self.silent
    }
}

/// Merges spans over a text: those that overlap join, and those that touch where the same stands in their place.
/// A silent span stays silent only where the host sees that everything in it is invisible, and where no overlapping
/// span wants a marker. Empty spans blank nothing.
pub(super) fn merge<'a>(text: &str, mut spans: Vec<Blank<'a>>) -> Vec<Blank<'a>> {
    spans.retain(|blank| blank.start < blank.end);
    for blank in &mut spans {
        let covered = text.get(blank.start..blank.end);
        blank.silent &= covered.is_some_and(|covered| covered.chars().all(is_invisible));
    }
    spans.sort_by(|left, right| (left.start, right.end, left.rule).cmp(&(right.start, left.end, right.rule)));
    let overlapping = fold(spans, |last, next| next.start < last.end);
    // Only now: a silent span that touches another must not become a marker by what overlaps that one.
    fold(overlapping, |last, next| next.start == last.end && next.silent == last.silent)
}

/// Joins neighbours of a sorted list.
fn fold<'a>(spans: Vec<Blank<'a>>, belong: impl Fn(&Blank<'a>, &Blank<'a>) -> bool) -> Vec<Blank<'a>> {
    let mut folded: Vec<Blank<'a>> = Vec::with_capacity(spans.len());
    for next in spans {
        match folded.last_mut() {
            Some(last) if belong(last, &next) => {
                if last.silent && !next.silent {
                    last.rule = next.rule;
                }
                last.silent &= next.silent;
                last.end = last.end.max(next.end);
            }
            _ => folded.push(next),
        }
    }
    folded
}

/// Returns the text with the host's marker, or nothing, in place of each span.
pub(super) fn render(text: &str, merged: &[Blank<'_>]) -> String {
    let mut rendered = String::with_capacity(text.len());
    let mut from = 0;
    for blank in merged {
        rendered.push_str(text.get(from..blank.start).unwrap_or_default());
        if blank.leaves_marker() {
            rendered.push_str("[removed by portcullis: ");
            rendered.push_str(blank.rule.as_str());
            rendered.push(']');
        }
        from = blank.end;
    }
    rendered.push_str(text.get(from..).unwrap_or_default());
    rendered
}
