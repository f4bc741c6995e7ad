//! Escape sequences of terminals, as ECMA-48 and xterm define them.

use super::{Hidden, Kind};

/// Longest string sequence that is taken as one. Titles and links are shorter; without a bound an opener at the start
/// of a text could swallow all of it.
const LONGEST: usize = 4096;

/// Returns the sequence that begins at `start`, or nothing where no escape character stands there.
///
/// A control sequence (colours, cursor moves) loses its introducer only: what is left is inert and was no secret. A
/// string sequence (title, link, device control) is invisible as a whole on a terminal, so all of it goes.
pub(super) fn sequence(text: &str, start: usize) -> Option<Hidden> {
    let rest = text.get(start..)?;
    let mut characters = rest.chars();
    let introducer = characters.next()?;
    let opens_string = match introducer {
        '\u{1B}' => matches!(characters.next(), Some(']' | 'P' | 'X' | '^' | '_')),
        '\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}' => true,
        '\u{9B}' => false,
        _ => return None,
    };
    if opens_string && let Some(length) = terminated(rest, introducer.len_utf8()) {
        return Some(Hidden { start, end: start + length, kind: Kind::Escape, inert: false });
    }
    Some(Hidden { start, end: start + introducer.len_utf8(), kind: Kind::Escape, inert: true })
}

/// Returns the length of a string sequence up to and with its terminator: BEL, ST, or ESC and a backslash.
fn terminated(rest: &str, from: usize) -> Option<usize> {
    let mut escaped = false;
    for (offset, character) in rest.char_indices().skip_while(|(offset, _)| *offset < from) {
        if offset > LONGEST {
            return None;
        }
        match character {
            '\u{7}' | '\u{9C}' => return Some(offset + character.len_utf8()),
            '\\' if escaped => return Some(offset + 1),
            // A line end inside a string sequence: no terminal program writes that, and the rest is ordinary text.
            '\n' => return None,
            _ => escaped = character == '\u{1B}',
        }
    }
    None
}
