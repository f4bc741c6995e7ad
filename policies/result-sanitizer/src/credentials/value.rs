//! Whether a text can be a secret at all.

/// Returns the Shannon entropy in bits a character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

/// True where no letter, digit or underscore stands right before `start`; the letter of an escape (`\n`) does not count.
pub(super) fn begins_word(bytes: &[u8], start: usize) -> bool {
    let before = |distance: usize| start.checked_sub(distance).and_then(|offset| bytes.get(offset)).copied();
    match before(1) {
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
            matches!(byte, b'n' | b't' | b'r') && before(2) == Some(b'\\')
        }
        _ => true,
    }
}

/// True for runs of one character and for texts that say that they are examples.
pub(super) fn is_filler(text: &str) -> bool {
    const RUN: usize = 6;
    let mut run = 0;
    let mut previous = 0;
    for byte in text.bytes() {
        run = if byte.eq_ignore_ascii_case(&previous) { run + 1 } else { 1 };
        previous = byte;
        if run >= RUN {
            return true;
        }
    }
    false
}

/// True for bodies of credentials that say that they are none: `ghp_your_token_here`.
pub(super) fn is_stand_in(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["your_", "your-", "_here", "-here", "tokenhere", "keyhere", "_goes_"].iter().any(|word| lower.contains(word))
}

/// True for texts that stand in the place of a secret: variables, templates, names of types, words of documentation.
pub(super) fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 26] = [
        "example",
        "placeholder",
        "your",
        "xxx",
        "***",
        "...",
        "…",
        "changeme",
        "change_me",
        "change-me",
        "dummy",
        "redacted",
        "insert",
        "replace",
        "sample",
        "fixme",
        "todo",
        "removed by",
        "enter_",
        "secret_here",
        "token_here",
        "key_here",
        "env.",
        "environ",
        "getenv",
        "secrets.",
    ];
    const WHOLE: [&str; 24] = [
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "string",
        "str",
        "password",
        "secret",
        "token",
        "key",
        "value",
        "bearer",
        "basic",
        "required",
        "optional",
        "string,",
        "pass",
        "passwd",
        "pwd",
        "bool",
        "test",
        "admin",
    ];
    if text.starts_with(['$', '<', '{', '%', '[', '(', '*', '@', '#']) || text.contains("${") || text.contains("{{") {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    WHOLE.contains(&lower.as_str()) || WORDS.iter().any(|word| lower.contains(word)) || is_filler(text)
}

/// True where a value is random enough, or enough like a password, to be one.
///
/// `password` relaxes what counts: passwords are short and chosen by people, tokens are long and random.
pub(super) fn is_plausible(text: &str, password: bool) -> bool {
    if is_placeholder(text) || looks_like_code(text) {
        return false;
    }
    let digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
    let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
    let mark = text.bytes().any(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.' | b'/'));
    if password {
        return text.len() >= 6 && (digit || mark) && (lower || upper) && entropy(text) >= 2.2;
    }
    let kinds = usize::from(digit) + usize::from(lower) + usize::from(upper) + usize::from(mark);
    text.len() >= 12 && digit && kinds >= 2 && entropy(text) >= 2.9
}

/// True for calls, paths and dotted or scoped names: what program text has behind `token =`.
fn looks_like_code(text: &str) -> bool {
    let calls = text.contains(['(', '`']) || text.contains("::") || text.contains("->") || text.contains("=>");
    let dotted = text.contains('.')
        && text
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'));
    let path = text.starts_with(['/', '~', '.']) || text.contains("://");
    let snake =
        text.contains(['_', '-']) && text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-'));
    calls || dotted || path || snake
}
