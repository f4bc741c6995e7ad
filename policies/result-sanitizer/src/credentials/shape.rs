//! Credentials with a fixed part: `ghp_…`, `AKIA…`, `…T3BlbkFJ…`.

use std::ops::Range;

use super::pack::Token;
use super::{Secret, value};
use crate::rules;

/// Looks at a hit of the fixed part of a token rule.
pub(super) fn look(text: &str, hit: Range<usize>, fixed: &str, token: &Token) -> Option<Secret> {
    // The automaton ignores case; fixed parts do not.
    if text.get(hit.clone())? != fixed {
        return None;
    }
    let bytes = text.as_bytes();
    let most = token.length.1;
    let run = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take(most + 1).take_while(|byte| token.alphabet.has(**byte)).count()
    };
    let after = run(hit.end);
    let start = match token.before {
        Some((least, limit)) => {
            let head = bytes.get(..hit.start)?;
            let before = head.iter().rev().take(limit + 1).take_while(|byte| token.alphabet.has(**byte)).count();
            if before < least || before > limit {
                return None;
            }
            hit.start - before
        }
        None => hit.start,
    };
    let end = trimmed(bytes, hit.end, hit.end + after);
    let rest = (hit.start - start) + (end - hit.end);
    if rest < token.length.0 || rest > most || !begins(text, fixed, start) {
        return None;
    }
    // What stands around an infix is random on both sides, and short behind some.
    let body = text.get(if token.before.is_some() { start..end } else { hit.end..end })?;
    if value::entropy(body) < token.entropy
        || (token.digits && !body.bytes().any(|byte| byte.is_ascii_digit()))
        || (token.entropy > 0.0 && value::is_filler(body))
        || (token.lower && !body.bytes().any(|byte| byte.is_ascii_lowercase()))
        || value::is_stand_in(body)
    {
        return None;
    }
    Some(Secret { range: start..end, rule: rules::credentials::TOKEN, name: token.name.clone() })
}

/// True where a word may begin, or where the fixed part begins with a sign that parts words by itself.
fn begins(text: &str, fixed: &str, start: usize) -> bool {
    !fixed.starts_with(|first: char| first.is_ascii_alphanumeric()) || value::begins_word(text.as_bytes(), start)
}

/// A full stop, hyphen or equals sign behind a credential belongs to the sentence; padding belongs to base64.
fn trimmed(bytes: &[u8], from: usize, to: usize) -> usize {
    let run = bytes.get(from..to).unwrap_or_default();
    to - run.iter().rev().take_while(|byte| matches!(byte, b'.' | b'-' | b'/')).count()
}
