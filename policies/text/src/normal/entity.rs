//! HTML character references and `\u` escapes that a model reads as the character.

/// Longest reference that is looked at: `&#x10FFFF;` and a few leading zeroes.
const LONGEST: usize = 14;

/// True where a reference or an escape could stand in the text.
pub(super) fn may_occur(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(2).any(|pair| {
        matches!(pair, [b'&', b'#'] | [b'\\', b'u' | b'U' | b'x' | b'n' | b't' | b'r'])
            || matches!(pair, [b'&', next] if next.is_ascii_lowercase())
    })
}

/// Returns the character that a reference at `from` stands for, and its length in bytes.
pub(super) fn at(text: &str, from: usize) -> Option<(char, usize)> {
    let rest = text.as_bytes().get(from..)?;
    match rest {
        [b'&', b'#', b'x' | b'X', ..] => numeric(rest, 3, 16),
        [b'&', b'#', ..] => numeric(rest, 2, 10),
        [b'&', ..] => named(rest),
        [b'\\', b'u', b'{', ..] => numeric_until(rest, 3, b'}'),
        [b'\\', b'u', ..] => fixed(rest, 4),
        [b'\\', b'U', ..] => fixed(rest, 8),
        [b'\\', b'x', ..] => fixed(rest, 2),
        // A text that was quoted once more: `\n` before a word would otherwise join it.
        [b'\\', b'n' | b'r', ..] => Some(('\n', 2)),
        [b'\\', b't', ..] => Some((' ', 2)),
        _ => None,
    }
}

fn numeric(rest: &[u8], digits_from: usize, radix: u32) -> Option<(char, usize)> {
    let digits = rest.get(digits_from..)?.iter().take(LONGEST).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let code = parse(rest.get(digits_from..digits_from + digits)?, radix)?;
    let semicolon = usize::from(rest.get(digits_from + digits) == Some(&b';'));
    Some((char::from_u32(code)?, digits_from + digits + semicolon))
}

fn numeric_until(rest: &[u8], digits_from: usize, close: u8) -> Option<(char, usize)> {
    let digits = rest.get(digits_from..)?.iter().take(LONGEST).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if rest.get(digits_from + digits) != Some(&close) {
        return None;
    }
    Some((char::from_u32(parse(rest.get(digits_from..digits_from + digits)?, 16)?)?, digits_from + digits + 1))
}

fn fixed(rest: &[u8], digits: usize) -> Option<(char, usize)> {
    Some((char::from_u32(parse(rest.get(2..2 + digits)?, 16)?)?, 2 + digits))
}

fn named(rest: &[u8]) -> Option<(char, usize)> {
    /// The references that matter for what a text says; the others stay as they are.
    const NAMES: [(&str, char); 9] = [
        ("lt", '<'),
        ("gt", '>'),
        ("amp", '&'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("colon", ':'),
        ("sol", '/'),
        ("period", '.'),
    ];
    NAMES.iter().find_map(|(name, character)| {
        let end = 1 + name.len();
        (rest.get(1..end) == Some(name.as_bytes()) && rest.get(end) == Some(&b';')).then_some((*character, end + 1))
    })
}

fn parse(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}
