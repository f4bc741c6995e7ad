//! Texts of strangers, as they may be shown and logged.

use std::fmt::Write as _;

/// Returns a text of visible ASCII: everything else is escaped, and what is too long is cut after that.
pub(crate) fn plain(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        let before = shown.len();
        if character == ' ' || (character.is_ascii_graphic() && character != '\\') {
            shown.push(character);
        } else {
            let _infallible = write!(shown, "{}", character.escape_unicode());
        }
        if shown.len() > longest {
            shown.truncate(before);
            shown.push('…');
            break;
        }
    }
    shown
}

/// Returns a text for a person: letters of any script, without what hides or turns around what stands beside it.
pub(crate) fn readable(text: &str, longest: usize) -> String {
    let is_shown = |character: &char| {
        !character.is_control()
            && !matches!(character, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}')
    };
    let mut shown: String = text.chars().filter(is_shown).take(longest).collect();
    if shown.trim().is_empty() {
        "(no name)".clone_into(&mut shown);
    }
    shown
}

/// Returns a text as it stands in HTML, in text and in quoted attributes.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logged_text_has_nothing_that_a_terminal_or_a_reader_of_lines_acts_on() {
        let hostile = "a\r\nb\u{1b}[2J\u{85}\u{2028}\u{202e}\u{7f}é\\n";
        let shown = plain(hostile, 1_000);
        assert!(shown.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{shown}");
        assert_eq!(plain(&"\u{1b}".repeat(100), 64).chars().count(), 61, "ten escapes and an ellipsis");
        assert_eq!(plain("state-1", 64), "state-1");
    }

    #[test]
    fn a_name_hides_nothing_and_is_bounded() {
        assert_eq!(readable("Cl\u{200b}au\u{202e}de\u{e0041}\n", 64), "Claude");
        assert_eq!(readable("\u{200b}\u{3164}", 64), "(no name)");
        assert_eq!(readable(&"é".repeat(100), 64).chars().count(), 64);
    }

    #[test]
    fn html_is_text_wherever_it_stands() {
        assert_eq!(html(r#"<b a='1' b="2">&amp;"#), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;amp;");
    }
}
