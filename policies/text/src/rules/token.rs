//! Cutting a normalised text into words, paths, addresses and marks.

use std::ops::Range;

use super::lexicon::{Lexeme, Lexicon};
use super::names::Names;

/// What else a token is besides its word. One bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u16);

impl Flags {
    /// Written like a name in code: with an underscore, inner capitals, a dot, or alone between quotes.
    pub(super) const IDENTIFIER: Self = Self(1);
    /// The name of another item of the catalogue.
    pub(super) const OTHER: Self = Self(1 << 1);
    /// The name of the judged item itself.
    pub(super) const OWN: Self = Self(1 << 2);
    /// A path of a file system.
    pub(super) const PATH: Self = Self(1 << 3);
    /// A URL.
    pub(super) const URL: Self = Self(1 << 4);
    /// An e-mail address.
    pub(super) const EMAIL: Self = Self(1 << 5);
    /// The first word after an opening quote.
    pub(super) const QUOTED: Self = Self(1 << 6);
    /// Begins with a digit.
    pub(super) const NUMBER: Self = Self(1 << 7);
    /// Three or more letters, all capitals.
    pub(super) const UPPER: Self = Self(1 << 8);
    /// The first word of a sentence or paragraph.
    pub(super) const START: Self = Self(1 << 9);
    /// Followed by a colon.
    pub(super) const COLON: Self = Self(1 << 10);
    /// Followed by an opening parenthesis.
    pub(super) const CALL: Self = Self(1 << 11);
    /// The first word of a line.
    pub(super) const LINE: Self = Self(1 << 12);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn has_all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flag that a pattern names.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "identifier" => Self::IDENTIFIER,
            "other" => Self::OTHER,
            "own" => Self::OWN,
            "path" => Self::PATH,
            "url" => Self::URL,
            "email" => Self::EMAIL,
            "quoted" => Self::QUOTED,
            "number" => Self::NUMBER,
            "upper" => Self::UPPER,
            "start" => Self::START,
            "colon" => Self::COLON,
            "call" => Self::CALL,
            "line" => Self::LINE,
            _ => return None,
        })
    }
}

/// One word, path or address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) lexeme: Lexeme,
    pub(super) flags: Flags,
}

/// Cuts a part of `text` into tokens, looking each word up.
pub(super) fn tokens(text: &str, window: Range<usize>, lexicon: &Lexicon, names: &Names<'_>, out: &mut Vec<Token>) {
    out.clear();
    let bytes = text.as_bytes().get(..window.end).unwrap_or_default();
    let at = |offset: usize| bytes.get(offset).copied().unwrap_or_default();
    let opens = window.start == 0;
    let line_begins = opens || window.start.checked_sub(1).is_some_and(|before| at(before) == b'\n');
    let (mut offset, mut sentence, mut line, mut quote) = (window.start, opens, line_begins, None);
    while offset < bytes.len() {
        let byte = at(offset);
        let previous = offset.checked_sub(1).map_or(b' ', at);
        if !begins_token(previous, byte, at(offset + 1)) {
            match byte {
                b'.' | b'!' | b'?' => sentence |= !word_byte(at(offset + 1)),
                b'\n' => {
                    line = true;
                    sentence |= paragraph_follows(bytes, offset + 1);
                }
                b'"' | b'`' | b'\'' => quote = Some((byte, offset)),
                _ => {}
            }
            offset += 1;
            continue;
        }
        let (length, lexeme) = lexicon.plain(bytes.get(offset..).unwrap_or_default());
        let plain = quote.is_none() && length > 0 && ends_plain(at(offset + length), at(offset + length + 1));
        let (end, lexeme, mut flags) = if plain {
            (offset + length, lexeme, Flags::default())
        } else {
            let (end, shape) = match quote {
                Some((mark, place)) if place + 1 == offset => quoted_name(bytes, offset, mark),
                _ => None,
            }
            .unwrap_or_else(|| extent(bytes, offset));
            (end, lexicon.look_up(bytes.get(offset..end).unwrap_or_default()), shape)
        };
        if let Some((mark, place)) = quote.take()
            && place + 1 == offset
        {
            flags = flags.with(Flags::QUOTED);
            if at(end) == mark {
                flags = flags.with(Flags::IDENTIFIER);
            }
        }
        if sentence {
            flags = flags.with(Flags::START);
        }
        if line {
            flags = flags.with(Flags::LINE);
        }
        let behind = at(end);
        match if behind == b' ' { at(end + 1) } else { behind } {
            b':' => flags = flags.with(Flags::COLON),
            b'(' => flags = flags.with(Flags::CALL),
            _ => {}
        }
        if !names.is_empty()
            && let Some(word) = text.get(offset..end)
        {
            if names.is_own(word) {
                flags = flags.with(Flags::OWN);
            } else if names.is_other(word) {
                flags = flags.with(Flags::OTHER);
            }
        }
        out.push(Token {
            start: u32::try_from(offset).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
            lexeme,
            flags,
        });
        (sentence, line) = (false, false);
        offset = end;
    }
}

pub(super) const fn word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// True where a plain word ends before these two bytes, and no name, address or abbreviation goes on.
const fn ends_plain(byte: u8, next: u8) -> bool {
    match byte {
        b'.' | b':' | b'\'' => next.is_ascii_whitespace() || next == 0,
        b'@' => false,
        _ => !word_byte(byte),
    }
}

const fn begins_token(previous: u8, byte: u8, next: u8) -> bool {
    if word_byte(byte) {
        return true;
    }
    let opens = previous.is_ascii_whitespace() || matches!(previous, b'"' | b'\'' | b'`' | b'(' | b'=' | b':' | b'[');
    opens && matches!(byte, b'~' | b'/' | b'.' | b'$') && (word_byte(next) || matches!(next, b'/' | b'{' | b'.'))
}

/// Returns the extent of a name with hyphens that stands alone between quotes: one name, not several words.
fn quoted_name(bytes: &[u8], from: usize, mark: u8) -> Option<(usize, Flags)> {
    /// Names of tools have at most 128 characters.
    const LONGEST: usize = 128;
    let rest = bytes.get(from..)?;
    let length = rest.iter().take(LONGEST).take_while(|byte| word_byte(**byte) || **byte == b'-').count();
    let hyphen = rest.get(..length)?.contains(&b'-');
    (hyphen && rest.get(length) == Some(&mark)).then_some((from + length, Flags::IDENTIFIER))
}

/// True where what follows a line end begins a paragraph or an item of a list.
fn paragraph_follows(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    let blank = rest.iter().take(32).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    match rest.get(blank) {
        Some(b'\n' | b'-' | b'*' | b'#' | b'<' | b'[') => true,
        Some(digit) if digit.is_ascii_digit() => matches!(rest.get(blank + 1), Some(b'.' | b')')),
        _ => false,
    }
}

/// Returns where the token that begins at `from` ends, and what its shape says.
fn extent(bytes: &[u8], from: usize) -> (usize, Flags) {
    /// Longer runs without a blank are data; cutting them keeps the walk over a token short.
    const LONGEST: usize = 256;
    let rest = bytes.get(from..bytes.len().min(from + LONGEST)).unwrap_or_default();
    if matches!(rest.first(), Some(b'~' | b'/' | b'.' | b'$')) {
        let length = rest.iter().take_while(|byte| !ends_path(**byte)).count();
        return (from + trimmed(rest, length), Flags::PATH);
    }
    let (mut flags, mut length, mut upper, mut lower, mut previous) = (Flags::default(), 0, 0_usize, 0_usize, 0_u8);
    for (index, byte) in rest.iter().copied().enumerate() {
        let next = rest.get(index + 1).copied().unwrap_or_default();
        match byte {
            b'a'..=b'z' => lower += 1,
            b'A'..=b'Z' => {
                upper += 1;
                if previous.is_ascii_lowercase() {
                    flags = flags.with(Flags::IDENTIFIER);
                }
            }
            b'_' => flags = flags.with(Flags::IDENTIFIER),
            b'0'..=b'9' | 0x80.. => {}
            b'\'' if word_byte(next) && index > 0 && next.is_ascii_alphabetic() => {}
            b'.' if word_byte(next) && index > 0 => flags = flags.with(Flags::IDENTIFIER),
            b'@' if index > 0 && word_byte(next) => {
                let length = rest
                    .iter()
                    .take_while(|byte| word_byte(**byte) || matches!(byte, b'@' | b'.' | b'-' | b'+'))
                    .count();
                return (from + trimmed(rest, length), Flags::EMAIL);
            }
            b':' if index > 0 && rest.get(index + 1..index + 3) == Some(b"//") => {
                let length = rest.iter().take_while(|byte| !ends_path(**byte)).count();
                return (from + trimmed(rest, length), Flags::URL);
            }
            _ => break,
        }
        previous = byte;
        length = index + 1;
    }
    if rest.get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"www.")) {
        let length = rest.iter().take_while(|byte| !ends_path(**byte)).count();
        return (from + trimmed(rest, length), Flags::URL);
    }
    if rest.first().is_some_and(u8::is_ascii_digit) {
        flags = flags.with(Flags::NUMBER);
    }
    if upper >= 3 && lower == 0 {
        flags = flags.with(Flags::UPPER);
    }
    (from + length.max(1), flags)
}

const fn ends_path(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b')' | b']' | b',' | b';')
}

/// Leaves a full stop or colon behind a path or address to the sentence.
fn trimmed(rest: &[u8], length: usize) -> usize {
    let marks = rest
        .get(..length)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b':' | b'!' | b'?'))
        .count();
    (length - marks).max(1)
}
