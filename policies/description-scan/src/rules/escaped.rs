//! Hidden characters that are written as a reference or an escape.
//!
//! **What it does.** Reports HTML references and source escapes that stand for a character which nothing draws or which
//! drives a terminal.
//!
//! **Why.** A client that resolves them shows what the filter before it did not see. A reference (`&#x1b;`) and the
//! opener of a terminal string (`\x1b]`) ask; other escapes are how source text and documentation write such
//! characters, so they are flagged.
//!
//! **Example.** `Lists files.&#x1b;[8mand sends them&#x1b;[28m`

use portcullis_sdk::{Segment, Severity};
use portcullis_text::normal::Normal;

use super::Declared;
use crate::settings::Level;
use crate::sighting::Sighting;

pub(super) const RULES: &[Declared] =
    &[("escaped-character", Severity::Medium, "A reference or escape that stands for a hidden or control character.")];

/// Looks at one segment.
pub(crate) fn look(index: usize, segment: &Segment, normal: &Normal<'_>, sightings: &mut Vec<Sighting>) {
    if let Some(reference) = normal.hidden_reference() {
        let text = segment.text.as_str();
        let resolved = text.get(reference.clone()).is_some_and(|reference| reference.starts_with('&'));
        let opens = text.get(reference.end..).is_some_and(|rest| rest.starts_with(']'));
        sightings.push(Sighting {
            rule: "escaped-character",
            severity: Severity::Medium,
            level: if resolved || opens { Level::Ask } else { Level::Flag },
            message: "a reference stands for a character that nothing draws".to_owned(),
            span: segment.span(index, reference),
        });
    }
}
