//! Foreign text made fit to be shown to people.

use std::fmt::Write as _;

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;

/// Texts of policies are cut to this; `wit/v0.1` promises it for questions and findings.
pub(crate) const LONGEST_TEXT: usize = 1024;

/// Names are cut to this in prompts and log lines.
pub(crate) const LONGEST_NAME: usize = 256;

/// Returns true for characters that a reader does not see: control characters (Cc) and those with the Unicode property
/// `Default_Ignorable_Code_Point`, which covers zero-width, bidirectional, tag and variation characters.
pub(crate) fn is_invisible(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control() || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

/// Returns a text on one line, with everything that could hide, reorder or forge what is shown written as an escape,
/// and cut to about `limit` bytes.
pub(crate) fn escaped(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(limit));
    for character in text.chars() {
        if shown.len() >= limit {
            shown.push('…');
            break;
        }
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // Separators break lines; private-use characters have whatever glyph a font gives them.
            '\u{2028}' | '\u{2029}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => {
                let _ = write!(shown, "{}", character.escape_unicode());
            }
            hidden if is_invisible(hidden) => {
                let _ = write!(shown, "{}", hidden.escape_unicode());
            }
            plain => shown.push(plain),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_reordering_and_control_characters_are_shown_as_escapes() {
        assert_eq!(
            escaped("a\u{202e}b\u{e0041}c\u{1b}[2J\nd\u{200b}", 100),
            "a\\u{202e}b\\u{e0041}c\\u{1b}[2J\\nd\\u{200b}"
        );
    }

    #[test]
    fn long_text_is_cut_with_a_mark() {
        assert_eq!(escaped(&"é".repeat(100), 10), "ééééé…");
    }

    #[test]
    fn letters_of_any_script_and_emoji_are_visible() {
        assert!("Aé文я🙂 ".chars().all(|character| !is_invisible(character)));
        for hidden in ['\u{ad}', '\u{61c}', '\u{115f}', '\u{3164}', '\u{fe0f}', '\u{feff}', '\u{e0001}', '\u{0}'] {
            assert!(is_invisible(hidden), "{hidden:?}");
        }
    }
}
