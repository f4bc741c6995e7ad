//! Escape sequences of terminals, as ECMA-48 and xterm define them.

use super::{Hidden, Kind};

/// Longest string sequence that is taken as one. Titles and links are shorter; without a bound an opener at the start
/// of a text could swallow all of it.
const LONGEST: usize = 4096;

/// Finds sequences in one text, front to back. Where strings end is looked up once, so that a text full of openers
/// takes no longer than another.
pub(super) struct Sequences<'a> {
    text: &'a str,
    /// Where the search for an end began, where it stopped, and how many bytes the end takes: zero for no end.
    known: Option<(usize, usize, usize)>,
}

impl<'a> Sequences<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, known: None }
    }

    /// Returns the sequence that begins at `start`, or nothing where no escape character stands there.
    ///
    /// A control sequence (colours, cursor moves) loses its introducer only: what is left is inert and was no secret. A
    /// string sequence (title, link, device control) is invisible as a whole on a terminal, so all of it goes.
    pub(super) fn at(&mut self, start: usize) -> Option<Hidden> {
        let mut characters = self.text.get(start..)?.chars();
        let introducer = characters.next()?;
        let body = start + introducer.len_utf8();
        let opens_string = match introducer {
            '\u{1B}' => matches!(characters.next(), Some(']' | 'P' | 'X' | '^' | '_')),
            '\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}' => true,
            '\u{9B}' => false,
            _ => return None,
        };
        if opens_string && let Some(end) = self.end(body).filter(|end| end - start <= LONGEST) {
            return Some(Hidden { start, end, kind: Kind::Escape, inert: false });
        }
        Some(Hidden { start, end: body, kind: Kind::Escape, inert: true })
    }

    /// Returns where the string that is open at `from` ends: behind BEL, ST, or ESC and a backslash. A line end ends no
    /// string: no program writes one inside, and what follows is ordinary text.
    fn end(&mut self, from: usize) -> Option<usize> {
        let (stopped, length) = match self.known {
            Some((began, stopped, length)) if began <= from && from <= stopped => (stopped, length),
            _ => {
                let (stopped, length) = search(self.text.as_bytes(), from);
                self.known = Some((from, stopped, length));
                (stopped, length)
            }
        };
        (length > 0).then_some(stopped + length)
    }
}

/// Returns the offset of the next end of a string or of a line, and how many bytes it takes.
fn search(bytes: &[u8], from: usize) -> (usize, usize) {
    let rest = bytes.get(from..).unwrap_or_default();
    for (offset, byte) in rest.iter().enumerate() {
        let next = rest.get(offset + 1);
        match (byte, next) {
            (0x07, _) => return (from + offset, 1),
            (0x1B, Some(b'\\')) | (0xC2, Some(0x9C)) => return (from + offset, 2),
            (b'\n', _) => return (from + offset, 0),
            _ => {}
        }
    }
    (bytes.len(), 0)
}
