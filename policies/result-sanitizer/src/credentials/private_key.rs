//! Private keys in PEM (RFC 7468) and its relatives, line ends escaped or not.

use std::ops::Range;

use super::Secret;
use crate::rules;

/// Looks at a hit of `-----BEGIN `.
pub(super) fn look(text: &str, hit: Range<usize>) -> Option<Secret> {
    /// A 16,384-bit RSA key in PEM takes 12.6 KB.
    const LONGEST: usize = 16 * 1024;
    /// Fewer characters hold no key: `-----BEGIN PRIVATE KEY-----` in prose, or a redacted body.
    const SHORTEST: usize = 40;
    let rest = text.get(hit.end..)?;
    let rest = rest.get(..rest.floor_char_boundary(LONGEST))?;
    let (label, body) = rest.split_once("-----")?;
    if label.len() > 40 || !label.contains("PRIVATE KEY") {
        return None;
    }
    // The next dashes end the body, whatever they open: so each opener is looked at up to the next one only.
    let length = body.find("-----").unwrap_or_else(|| body.len() - body.trim_start_matches(in_body).len());
    let material = body.get(..length)?.chars().filter(char::is_ascii_alphanumeric).count();
    if material < SHORTEST {
        return None;
    }
    let mut end = hit.end + label.len() + 5 + length;
    if let Some(closing) = text.get(end..)?.strip_prefix("-----END") {
        end += 8 + closing.find("-----").filter(|length| *length <= 48).map_or(0, |length| length + 5);
    }
    Some(Secret { range: hit.start..end, rule: rules::credentials::PRIVATE_KEY, name: "private key".to_owned() })
}

/// Looks at a hit of `Private-Lines: `: the secret part of a `PuTTY` key file, which has so many lines of base64.
pub(super) fn look_putty(text: &str, hit: Range<usize>) -> Option<Secret> {
    /// A 16,384-bit RSA key has fewer than two hundred lines of 64 characters.
    const MOST_LINES: usize = 200;
    const LONGEST_LINE: usize = 128;
    let encodes = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let bytes = text.as_bytes();
    let digits = bytes.get(hit.end..)?.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let lines: usize = text.get(hit.end..hit.end + digits)?.parse().ok().filter(|lines| *lines <= MOST_LINES)?;
    let start = hit.end + digits + line_end(bytes, hit.end + digits);
    let (mut end, mut next) = (start, start);
    for _ in 0..lines {
        let length = bytes.get(next..)?.iter().take(LONGEST_LINE).take_while(|byte| encodes(byte)).count();
        if length == 0 {
            break;
        }
        end = next + length;
        next = end + line_end(bytes, end);
    }
    (end - start >= 40).then(|| Secret {
        range: start..end,
        rule: rules::credentials::PRIVATE_KEY,
        name: "private key".to_owned(),
    })
}

/// Returns the length of a line end, real or escaped.
fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    ["\r\n", "\n", "\\r\\n", "\\n"].into_iter().find(|end| rest.starts_with(end.as_bytes())).map_or(0, str::len)
}

/// Characters of the body of a key without an end line: base64, blanks, escaped line ends, headers of old formats.
fn in_body(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || character.is_whitespace()
        || matches!(character, '+' | '/' | '=' | '\\' | ':' | ',' | '-')
}
