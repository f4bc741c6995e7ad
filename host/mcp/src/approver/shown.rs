//! Foreign text made safe to show to a person.

use std::fmt::Write as _;

/// Returns the text with everything that does not show as itself escaped, cut to `limit` characters.
///
/// Control, bidirectional and invisible characters become `\u{…}`: what the approver reads is what is there.
pub(crate) fn shown(text: &str, limit: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(limit * 4));
    for (position, character) in text.chars().enumerate() {
        if position == limit {
            let rest = text.chars().count() - limit;
            // Writing to a string cannot fail.
            let _ = write!(safe, "… ({rest} more characters)");
            break;
        }
        match character {
            '"' | '\'' | '\\' => safe.push(character),
            other => safe.extend(other.escape_debug()),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_do_not_show_as_themselves_are_escaped() {
        assert_eq!(
            shown("a\u{202e}b\u{200b}c\u{e0041}\n\u{1b}[2J", 100),
            "a\\u{202e}b\\u{200b}c\\u{e0041}\\n\\u{1b}[2J"
        );
        assert_eq!(shown(r#"{"text":"日本 it's"}"#, 100), r#"{"text":"日本 it's"}"#);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        assert_eq!(shown("abcdef", 4), "abcd… (2 more characters)");
        assert_eq!(shown("abcd", 4), "abcd");
    }
}
