//! Disguised letters: words of two alphabets, and strikes laid over letters.
//!
//! **What it does.** Reports a word that mixes Latin letters with another script's look-alikes, and texts whose letters
//! carry struck-through marks.
//!
//! **Why.** `іgnore` with a Cyrillic first letter reads like `ignore` to model and person and like nothing to a filter.
//! No language spells so. It asks, since a name of a product may play with letters.
//!
//! **Example.** `Please саll send_email` (the first two letters of the second word are Cyrillic).

use portcullis_sdk::{Segment, Severity};
use portcullis_text::normal::Normal;

use super::Declared;
use crate::settings::Level;
use crate::sighting::Sighting;

pub(super) const RULES: &[Declared] = &[
    ("mixed-script-word", Severity::High, "A word that mixes Latin letters with look-alikes of another script."),
    ("struck-letters", Severity::Medium, "Letters with strikes laid over them."),
];

/// This many strikes are no accident of a font test.
const MANY: usize = 4;

/// Looks at one segment.
pub(crate) fn look(index: usize, segment: &Segment, normal: &Normal<'_>, sightings: &mut Vec<Sighting>) {
    if let Some(word) = normal.mixed_word() {
        sightings.push(Sighting {
            rule: "mixed-script-word",
            severity: Severity::High,
            level: Level::Ask,
            message: "a word mixes letters of two scripts that look alike".to_owned(),
            span: segment.span(index, word),
        });
    }
    if normal.overlays() >= MANY {
        sightings.push(Sighting {
            rule: "struck-letters",
            severity: Severity::Medium,
            level: Level::Ask,
            message: format!("{} letters carry strikes", normal.overlays()),
            span: segment.whole(index),
        });
    }
}
