//! Hidden characters.
//!
//! **What it does.** Removes TAG text, zero-width and other characters that nothing draws, stray selectors, direction
//! marks, control characters and terminal escapes, and reports how many. Emoji, the three RGI subdivision flags, joiners of
//! joining scripts, tab and line ends stay.
//!
//! **Why.** The model reads them and the person who looks over its shoulder does not. Nothing visible is lost: what goes
//! is replaced by nothing. A string sequence of a terminal (title, link target) holds visible text and leaves a marker.
//!
//! **Example.** `All good.` followed by a sentence in TAG characters; `\u{1b}[8mhidden\u{1b}[28m`.

use portcullis_sdk::{Replacement, Segment, Severity};
use portcullis_text::hidden::{self, Kind};

use super::Declared;
use crate::report::{Found, Report};

pub(super) const RULES: &[Declared] = &[
    ("hidden-tag-text", Severity::Critical, "Text in the TAG block, which nothing draws."),
    ("terminal-escape", Severity::Low, "Escape sequences of terminals."),
    ("control-character", Severity::Low, "Control characters other than tab and line ends."),
    ("direction-mark", Severity::Medium, "Marks that turn the direction of writing."),
    ("invisible-character", Severity::Medium, "Zero-width, filler and other characters that nothing draws."),
    ("stray-selector", Severity::Medium, "Variation selectors where no emoji asks for one."),
];

const KINDS: [Kind; 6] = [Kind::Tag, Kind::Escape, Kind::Control, Kind::Bidi, Kind::Invisible, Kind::Variation];

/// Looks at one segment.
pub(crate) fn look(index: usize, segment: &Segment, report: &mut Report<'_>) {
    let hidden = hidden::scan(&segment.text);
    if hidden.is_empty() {
        return;
    }
    for (kind, (rule, severity, _)) in KINDS.iter().zip(RULES) {
        let ranges: Vec<_> = hidden
            .iter()
            .filter(|run| run.kind == *kind)
            .map(|run| (run.start..run.end, if run.inert { Replacement::Nothing } else { Replacement::Marker }))
            .collect();
        if ranges.is_empty() {
            continue;
        }
        let count: usize = ranges
            .iter()
            .map(|(range, _)| segment.text.get(range.clone()).map_or(0, |text| text.chars().count()))
            .sum();
        let message = format!("{count} hidden characters");
        report.blank(&Found { rule, severity: *severity, message, index, segment, ranges });
    }
}
