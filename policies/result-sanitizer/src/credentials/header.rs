//! Authorization headers and command-line logins.

use std::ops::Range;

use super::{Secret, Strictness, value};
use crate::rules;

/// Longest credential of a header; session tokens of some providers come near it.
const LONGEST: usize = 4096;

/// Looks behind `bearer `, `basic ` or `authorization`.
pub(super) fn look(text: &str, hit: Range<usize>, strictness: Strictness) -> Option<Secret> {
    let bytes = text.as_bytes();
    if !value::begins_word(bytes, hit.start) {
        return None;
    }
    let cue = text.get(hit.clone())?;
    let from = if cue.ends_with(' ') { hit.end } else { after_header_name(bytes, hit.end)? };
    let start = from + bytes.get(from..)?.iter().take_while(|byte| **byte == b' ').count();
    let rest = bytes.get(start..bytes.len().min(start + LONGEST))?;
    let length = rest
        .iter()
        .take_while(|byte| {
            byte.is_ascii_graphic()
                && !matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'<' | b'>' | b'\\' | b')' | b'&')
        })
        .count();
    let token = text.get(start..start + length)?;
    let token = token.trim_end_matches(['.', ':']);
    let counts = if cue.eq_ignore_ascii_case("basic ") {
        is_login(token)
    } else {
        match strictness {
            Strictness::Eager => !value::is_placeholder(token) && !is_word(token),
            Strictness::Careful => token.len() >= 12 && (value::is_plausible(token, false) || is_uuid(token)),
        }
    };
    counts.then(|| Secret {
        range: start..start + token.len(),
        rule: rules::credentials::HEADER,
        name: "authorization header".to_owned(),
    })
}

/// Returns where the value of an `authorization` header begins, unless a scheme with its own cue follows.
fn after_header_name(bytes: &[u8], from: usize) -> Option<usize> {
    let quotes = bytes.get(from..)?.iter().take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b' ')).count();
    let sign = from + quotes;
    if !matches!(bytes.get(sign), Some(b':' | b'=')) {
        return None;
    }
    let start =
        sign + 1 + bytes.get(sign + 1..)?.iter().take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b' ')).count();
    // A scheme is a word and a blank: step over those without a cue (`Token`, `ApiKey`, `Digest`).
    let word = bytes.get(start..)?.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some(if bytes.get(start + word) == Some(&b' ') && word < 12 { start + word + 1 } else { start })
}

/// Looks behind the login option of curl: `user:password`.
pub(super) fn look_curl(text: &str, hit: Range<usize>) -> Option<Secret> {
    let rest = text.get(hit.end..)?;
    let open = rest.bytes().take_while(|byte| matches!(byte, b'"' | b'\'')).count();
    let login: &str = rest.get(open..)?;
    let end = login.find(|c: char| c.is_whitespace() || matches!(c, '"' | '`')).unwrap_or(login.len()).min(LONGEST);
    let login = login.get(..end)?.trim_end_matches('\'');
    let (user, password) = login.split_once(':')?;
    let quoted = password.bytes().take_while(|byte| matches!(byte, b'\'' | b'"')).count();
    let password = password.get(quoted..)?;
    let (start, secret) = if password.is_empty() { (0, user) } else { (user.len() + 1 + quoted, password) };
    let start = hit.end + open + start;
    // Letters alone are a word, unless their case goes up and down.
    let known = value::is_placeholder(secret) || password == user || !(has_digit(secret) || is_jumbled(secret));
    (!known && secret.len() >= 6).then(|| Secret {
        range: start..start + secret.len(),
        rule: rules::credentials::HEADER,
        name: "login of a command".to_owned(),
    })
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// True where capitals stand inside, more than between words that are run together.
fn is_jumbled(text: &str) -> bool {
    let mut pairs = text.as_bytes().iter().zip(text.as_bytes().get(1..).unwrap_or_default());
    let rises = pairs.clone().filter(|(left, right)| left.is_ascii_lowercase() && right.is_ascii_uppercase()).count();
    let runs = pairs.any(|(left, right)| left.is_ascii_uppercase() && right.is_ascii_uppercase());
    text.len() >= 10 && rises >= 2 && runs && value::entropy(text) >= 3.0
}

/// True for base64 of `user:password`.
fn is_login(token: &str) -> bool {
    token.len() >= 8
        && portcullis_text::layer::base64_text(token)
            .is_some_and(|text| text.contains(':') && !text.contains(char::is_control))
}

/// True for a plain word: "bearer token", "bearer authentication".
fn is_word(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b'.'))
}

fn is_uuid(token: &str) -> bool {
    token.len() == 36 && token.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
