//! Texts inside a text: base64, hexadecimal, and letters turned by ROT13 or read backwards.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// How a fragment is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Base64, standard or URL-safe alphabet (RFC 4648 §4, §5).
    Base64,
    /// Pairs of hexadecimal digits.
    Hex,
    /// Every letter moved by thirteen.
    Rot13,
    /// Written backwards.
    Reversed,
    /// Percent-encoded, as in a URL.
    Percent,
}

/// A part of a text that says something once decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Bytes of the text that hold the fragment.
    pub range: Range<usize>,
    /// How it is encoded.
    pub encoding: Encoding,
    /// What it says.
    pub text: String,
}

/// Shortest run that is tried. Four words of English need about this much; shorter runs are names and digests.
const SHORTEST: usize = 20;
/// Most bytes of decoded text per scanned chunk: instructions are short, and archives are not worth the time.
const MOST: usize = 16 * 1024;

/// Returns the fragments of `text` that decode to readable text.
pub fn fragments(text: &str) -> Vec<Fragment> {
    let mut found = Vec::new();
    let mut budget = MOST;
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(window) = bytes.get(from..from + SHORTEST) {
        // Looked at from behind: the last byte that is no part of a run rules out every start before it.
        if let Some(last) = window.iter().rposition(|byte| !in_run(*byte)) {
            from += last + 1;
            continue;
        }
        let start = from;
        from += bytes.get(start..).unwrap_or_default().iter().take_while(|byte| in_run(**byte)).count();
        let Some(run) = bytes.get(start..from.min(start + budget * 2)) else { break };
        let decoded =
            hex(run).map(|said| (said, Encoding::Hex)).or_else(|| base64(run).map(|said| (said, Encoding::Base64)));
        if let Some((said, encoding)) = decoded.and_then(|(said, encoding)| Some((readable(said)?, encoding))) {
            budget = budget.saturating_sub(said.len());
            found.push(Fragment { range: start..from, encoding, text: said });
        }
        if budget == 0 {
            break;
        }
    }
    found
}

/// Words that announce a cipher over the text around them, or are themselves such a cipher's commonest words.
///
/// Whole-text ciphers are tried only where one of these stands: they would double the work for everyone else.
pub(crate) const CUES: [(&str, Encoding); 10] = [
    ("rot13", Encoding::Rot13),
    ("rot-13", Encoding::Rot13),
    ("rot 13", Encoding::Rot13),
    ("caesar", Encoding::Rot13),
    ("backwards", Encoding::Reversed),
    ("eht", Encoding::Reversed),
    ("erongi", Encoding::Reversed),
    ("snoitcurtsni", Encoding::Reversed),
    ("metsys", Encoding::Reversed),
    ("*%20*", Encoding::Percent),
];

/// Returns the whole text, up to a bound, with a cipher taken off.
pub(crate) fn turned(text: &str, encoding: Encoding) -> Option<Fragment> {
    let head = text.get(..text.floor_char_boundary(MOST)).unwrap_or(text);
    let said: String = match encoding {
        Encoding::Rot13 => head.chars().map(rot13).collect(),
        Encoding::Reversed => head.chars().rev().collect(),
        Encoding::Percent => percent(head),
        Encoding::Base64 | Encoding::Hex => return None,
    };
    Some(Fragment { range: 0..head.len(), encoding, text: said })
}

/// Decodes `%20` and its like (RFC 3986 §2.1); bytes that are no text stay as they are.
fn percent(text: &str) -> String {
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut offset = 0;
    while let Some(byte) = bytes.get(offset) {
        if let (b'%', Some(high), Some(low)) = (byte, digit(bytes.get(offset + 1)), digit(bytes.get(offset + 2))) {
            out.push(high << 4 | low);
            offset += 3;
        } else {
            out.push(*byte);
            offset += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

const fn in_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn rot13(character: char) -> char {
    let turn = |byte: u8, base: u8| char::from(base + (byte - base + 13) % 26);
    match character {
        'a'..='z' => u8::try_from(character).map_or(character, |byte| turn(byte, b'a')),
        'A'..='Z' => u8::try_from(character).map_or(character, |byte| turn(byte, b'A')),
        _ => character,
    }
}

fn hex(run: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    run.chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

fn base64(run: &[u8]) -> Option<Vec<u8>> {
    let sextet = |byte: u8| {
        Some(u32::from(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }))
    };
    let mut out = Vec::with_capacity(run.len() / 4 * 3);
    let (mut held, mut count) = (0_u32, 0_u32);
    for byte in run {
        let Some(value) = sextet(*byte) else { break };
        held = held << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(held >> count & 0xFF).ok()?);
        }
    }
    Some(out)
}

/// Returns the text that a base64 run stands for, where it is text at all.
pub fn base64_text(run: &str) -> Option<String> {
    String::from_utf8(base64(run.as_bytes())?).ok()
}

/// Returns the text where nearly all of it is printable and it has words.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let printable = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t' | '\r')).count();
    let blanks = text.bytes().filter(|byte| *byte == b' ').count();
    let words = blanks >= 2 || text.contains("://") || text.contains('/');
    (text.len() >= 12 && printable == text.chars().count() && words).then_some(text)
}
