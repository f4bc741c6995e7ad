//! Characters that reach a model but not the eye of a person.
//!
//! Six classes are told apart. What real writing needs is left alone: emoji sequences (ZWJ, presentation selectors,
//! the three subdivision flags that RGI lists), and joiners between letters of scripts that join.

mod class;
mod escape;
#[cfg(test)]
mod tests;

pub use class::{Kind, is_emoji_base};
use class::{class, is_joining};

/// One run of hidden characters of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What kind of character hides there.
    pub kind: Kind,
    /// True where the run is wholly control or default-ignorable characters, so that nothing visible is lost with it.
    pub inert: bool,
}

/// How many bytes the quick look tests at once. Long enough for the vector unit, short enough that one odd character
/// in a long text costs little.
const BLOCK: usize = 64;

/// Returns the offset of the first byte, at or after `from`, that a hidden character could begin with.
fn next_candidate(bytes: &[u8], from: usize) -> Option<usize> {
    // In a text of another script the next candidate is nearly always the next byte.
    if bytes.get(from).is_some_and(|byte| suspicious(*byte)) {
        return Some(from);
    }
    let mut offset = from;
    let mut blocks = bytes.get(from..)?.chunks_exact(BLOCK);
    for block in blocks.by_ref() {
        if block.iter().fold(false, |seen, byte| seen | suspicious(*byte)) {
            let within = block.iter().position(|byte| suspicious(*byte))?;
            return Some(offset + within);
        }
        offset += BLOCK;
    }
    blocks.remainder().iter().position(|byte| suspicious(*byte)).map(|within| offset + within)
}

/// True for control bytes other than tab, line feed and carriage return, and for every byte outside ASCII.
#[expect(clippy::needless_bitwise_bool, reason = "without branches the test of a block becomes vector instructions")]
const fn suspicious(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')) | (byte >= 0x7F)
}

/// True for characters that are hidden unless their neighbours need them.
pub fn is_hidden(character: char) -> bool {
    class(character).is_some()
}

/// True where the text is ASCII without control characters other than tab, line feed and carriage return.
pub fn is_plain(text: &str) -> bool {
    next_candidate(text.as_bytes(), 0).is_none()
}

/// Finds every run of hidden characters, in order and without overlap.
pub fn scan(text: &str) -> Vec<Hidden> {
    let mut found: Vec<Hidden> = Vec::new();
    let mut sequences = escape::Sequences::new(text);
    let mut from = 0;
    while let Some(start) = next_candidate(text.as_bytes(), from) {
        let Some(rest) = text.get(start..) else { break };
        let Some(character) = rest.chars().next() else { break };
        let next = start + character.len_utf8();
        let Some(kind) = class(character) else {
            from = next;
            continue;
        };
        if let Some(flag) = subdivision_flag(text, start) {
            from = flag;
            continue;
        }
        if kept(text, start, next, character, kind) {
            from = next;
            continue;
        }
        let hidden = match sequences.at(start) {
            Some(sequence) => sequence,
            None => Hidden { start, end: next, kind, inert: !matches!(character, '\u{FFF9}'..='\u{FFFB}') },
        };
        from = hidden.end;
        match found.last_mut() {
            Some(last) if last.end == hidden.start && last.kind == hidden.kind && last.inert == hidden.inert => {
                last.end = hidden.end;
            }
            _ => found.push(hidden),
        }
    }
    found
}

/// True where real writing needs the character at this place.
fn kept(text: &str, start: usize, next: usize, character: char, kind: Kind) -> bool {
    let before = text.get(..start).and_then(|head| head.chars().next_back());
    let after = text.get(next..).and_then(|tail| tail.chars().next());
    match kind {
        Kind::Invisible if matches!(character, '\u{200C}' | '\u{200D}') => {
            let emoji = character == '\u{200D}'
                && before.is_some_and(|c| is_emoji_base(c) || c == '\u{FE0F}' || c == '\u{E007F}')
                && after.is_some_and(is_emoji_base);
            emoji || before.is_some_and(is_joining) && after.is_some_and(is_joining)
        }
        Kind::Invisible => {
            matches!(character, '\u{115F}' | '\u{1160}') && after.is_some_and(|c| matches!(c, '\u{1100}'..='\u{11FF}'))
        }
        Kind::Variation => match character {
            '\u{FE0E}' | '\u{FE0F}' => match before {
                // A digit takes a selector only in a keycap: elsewhere selectors on digits could carry bits.
                Some('0'..='9' | '#' | '*') => after == Some('\u{20E3}'),
                Some(base) => is_emoji_base(base),
                None => false,
            },
            '\u{180B}'..='\u{180F}' => before.is_some_and(|c| matches!(c, '\u{1820}'..='\u{18AA}')),
            _ => false,
        },
        Kind::Tag | Kind::Bidi | Kind::Control | Kind::Escape => false,
    }
}

/// Returns the end of a real subdivision flag whose first tag character stands at `start`.
fn subdivision_flag(text: &str, start: usize) -> Option<usize> {
    const BLACK_FLAG: char = '\u{1F3F4}';
    /// England, Scotland and Wales: the tag sequences in the RGI set of Unicode's emoji data.
    const REGIONS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    if !text.get(..start)?.ends_with(BLACK_FLAG) {
        return None;
    }
    let tail = text.get(start..)?;
    REGIONS.iter().find_map(|region| {
        let mut characters = tail.char_indices();
        for expected in region.bytes() {
            let (_, tag) = characters.next()?;
            if u32::from(tag) != 0xE0000 + u32::from(expected) {
                return None;
            }
        }
        let (offset, end) = characters.next()?;
        (end == '\u{E007F}').then(|| start + offset + end.len_utf8())
    })
}
