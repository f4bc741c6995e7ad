//! Hidden characters: TAG text, terminal escapes, control characters, direction marks, zero-width characters, selectors.
//!
//! **What it does.** Reports characters that reach the model but not the eye of the person who approves the tool.
//!
//! **Why.** Nothing in a description needs them: none of many thousand published tools carries one outside emoji. They
//! carry whole instructions (TAG, selectors, invisible operators), reorder what is shown (direction marks), or rewrite a
//! terminal (escapes). So these rules hide the item instead of asking: a person who is asked sees nothing wrong. A few
//! stray zero-width characters, as copied from a web page, only ask.
//!
//! **Example.** `Adds two numbers.` followed by U+E0069 U+E0067 … (a hidden sentence in TAG characters).

use portcullis_sdk::{Segment, Severity};
use portcullis_text::hidden::{self, Kind};

use super::Declared;
use crate::settings::Level;
use crate::sighting::Sighting;

pub(super) const RULES: &[Declared] = &[
    ("hidden-tag-text", Severity::Critical, "Text in the TAG block, which nothing draws."),
    ("terminal-escape", Severity::High, "Escape sequences of terminals."),
    ("control-character", Severity::High, "Control characters other than tab and line ends."),
    ("direction-mark", Severity::High, "Marks that turn the direction of writing."),
    ("invisible-character", Severity::High, "Zero-width, filler and other characters that nothing draws."),
    ("stray-selector", Severity::High, "Variation selectors where no emoji asks for one."),
];

/// Up to this many invisible characters may be an accident of copying; a hidden word needs more.
const ACCIDENT: usize = 3;

/// Looks at one segment. Reports each kind once, at its first place.
pub(crate) fn look(index: usize, segment: &Segment, sightings: &mut Vec<Sighting>) {
    let found = hidden::scan(&segment.text);
    for (position, first) in found.iter().enumerate() {
        if found.iter().take(position).any(|earlier| earlier.kind == first.kind) {
            continue;
        }
        let runs = found.iter().filter(|run| run.kind == first.kind);
        let count: usize =
            runs.map(|run| segment.text.get(run.start..run.end).map_or(0, |text| text.chars().count())).sum();
        let (rule, severity, level) = weigh(first.kind, count);
        sightings.push(Sighting {
            rule,
            severity,
            level,
            message: format!("{count} hidden characters of kind {:?}", first.kind),
            span: segment.span(index, first.start..first.end),
        });
    }
}

fn weigh(kind: Kind, count: usize) -> (&'static str, Severity, Level) {
    let (rare, much) = ((Severity::Medium, Level::Ask), (Severity::High, Level::Hide));
    let by_count = if count > ACCIDENT { much } else { rare };
    let (rule, (severity, level)) = match kind {
        Kind::Tag => ("hidden-tag-text", (Severity::Critical, Level::Hide)),
        Kind::Escape => ("terminal-escape", much),
        Kind::Control => ("control-character", much),
        Kind::Bidi => ("direction-mark", much),
        Kind::Invisible => ("invisible-character", by_count),
        Kind::Variation => ("stray-selector", by_count),
    };
    (rule, severity, level)
}
