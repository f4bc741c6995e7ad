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

/// Looks at a hit of `Private-Lines: `: the secret part of a `PuTTY` key file.
pub(super) fn look_putty(text: &str, hit: Range<usize>) -> Option<Secret> {
    /// Lines of 64 characters; a 16,384-bit RSA key has fewer than a hundred.
    const LONGEST: usize = 16 * 1024;
    let rest = text.get(hit.end..)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest.get(digits..)?;
    let body = rest.get(..rest.floor_char_boundary(LONGEST))?;
    let in_body = |character: char| character.is_ascii_alphanumeric() || "+/=\r\n\\".contains(character);
    let length = body.len() - body.trim_start_matches(in_body).len();
    let material = body.get(..length)?.trim_end();
    let start = hit.end + digits;
    (digits > 0 && material.len() >= 40).then(|| Secret {
        range: start..start + material.len(),
        rule: rules::credentials::PRIVATE_KEY,
        name: "private key".to_owned(),
    })
}

/// Characters of the body of a key without an end line: base64, blanks, escaped line ends, headers of old formats.
fn in_body(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || character.is_whitespace()
        || matches!(character, '+' | '/' | '=' | '\\' | ':' | ',' | '-')
}
