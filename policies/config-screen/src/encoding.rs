//! Texts inside texts: base64, hexadecimal, escapes.

/// Fewest characters of an encoded text: shorter ones decode to nothing that could run.
const SHORTEST: usize = 16;

/// How a text was wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Base64,
    Hex,
    Escapes,
    Percent,
}

impl Wrapping {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Hex => "hexadecimal",
            Self::Escapes => "escapes",
            Self::Percent => "percent-encoding",
        }
    }
}

/// Returns the readable texts that stand in a text in one layer of encoding. What decodes to binary is a key or a
/// digest, and is left alone.
pub(crate) fn inner(text: &str) -> Vec<(Wrapping, String)> {
    /// Most inner texts of one text: a config is small, and each is read again.
    const MOST: usize = 16;
    let mut found = Vec::new();
    let is_code = |one: char| one.is_ascii_alphanumeric() || matches!(one, '+' | '/' | '-' | '_' | '=');
    for run in text.split(|one: char| !is_code(one)).filter(|run| run.len() >= SHORTEST) {
        // A name may stand before the text, as in `--data=…`.
        for candidate in [run, run.split_once('=').map_or("", |(_, value)| value)] {
            if found.len() >= MOST {
                return found;
            }
            if let Some(bytes) = hex(candidate)
                && let Some(text) = readable(&bytes)
            {
                found.push((Wrapping::Hex, text));
            } else if let Some(text) = base64(candidate).and_then(|bytes| readable(&bytes)) {
                found.push((Wrapping::Base64, text));
            }
        }
    }
    if text.contains("\\x") || text.contains("\\u00") || text.contains("\\0") || text.contains("\\1") {
        let unescaped = unescape(text);
        if unescaped != text && unescaped.len() < text.len() {
            found.push((Wrapping::Escapes, unescaped));
        }
    }
    if text.matches('%').count() >= 4 {
        let plain = percent(text);
        if plain != text {
            found.push((Wrapping::Percent, plain));
        }
    }
    found
}

/// Decodes hexadecimal.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let text = text.strip_prefix("0x").unwrap_or(text);
    if text.len() < SHORTEST || !text.len().is_multiple_of(2) {
        return None;
    }
    let digits: Option<Vec<u8>> =
        text.chars().map(|one| one.to_digit(16).and_then(|digit| digit.try_into().ok())).collect();
    Some(digits?.chunks(2).map(|pair| pair.iter().fold(0_u8, |byte, digit| (byte << 4) | digit)).collect())
}

/// Decodes base64 of either alphabet, with or without padding.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim().trim_end_matches('=');
    if text.len() < SHORTEST - 4 || text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for one in text.bytes() {
        let value = match one {
            b'A'..=b'Z' => one - b'A',
            b'a'..=b'z' => one - b'a' + 26,
            b'0'..=b'9' => one - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

/// Returns bytes as text where they read as one: UTF-8, or UTF-16 as PowerShell encodes commands.
pub(crate) fn readable(bytes: &[u8]) -> Option<String> {
    let is_plain = |text: &str| {
        let plain = |one: &char| !one.is_control() || matches!(one, '\n' | '\r' | '\t');
        text.len() >= 4 && text.chars().all(|one| plain(&one)) && text.chars().any(|one| one.is_ascii_alphabetic())
    };
    let wide: Option<Vec<u16>> = bytes.len().is_multiple_of(2).then(|| {
        bytes.chunks(2).map(|pair| pair.iter().rev().fold(0_u16, |unit, byte| (unit << 8) | u16::from(*byte))).collect()
    });
    if let Some(units) = wide
        && units.iter().filter(|unit| **unit < 0x80).count() * 3 >= units.len() * 2
    {
        return String::from_utf16(&units).ok().filter(|text| is_plain(text));
    }
    std::str::from_utf8(bytes).ok().filter(|text| is_plain(text)).map(str::to_owned)
}

/// Resolves the escapes of `printf`, `echo -e` and `$'…'`: `\xHH`, `\NNN`, `\uHHHH`, `\n` and the like.
pub(crate) fn unescape(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('\\') {
        output.push_str(before);
        let digits = |from: &str, radix: u32, most: usize| {
            from.chars().take(most).take_while(|one| one.is_digit(radix)).collect::<String>()
        };
        let (radix, skipped, most) = match from.chars().next() {
            Some('x') => (16, 1, 2),
            Some('u') => (16, 1, 4),
            Some('U') => (16, 1, 8),
            Some('0') => (8, 1, 3),
            Some(_) | None => (8, 0, 3),
        };
        let code = digits(from.get(skipped..).unwrap_or_default(), radix, most);
        let character = u32::from_str_radix(&code, radix).ok().and_then(char::from_u32);
        if let Some(character) = character {
            output.push(character);
            rest = from.get(skipped + code.len()..).unwrap_or_default();
            continue;
        }
        let mut behind = from.chars();
        match behind.next() {
            Some('n') => output.push('\n'),
            Some('t') => output.push('\t'),
            Some('r') => output.push('\r'),
            Some('e' | 'a' | 'b' | 'f' | 'v') => {}
            Some(other) => output.push(other),
            None => output.push('\\'),
        }
        rest = behind.as_str();
    }
    output.push_str(rest);
    output
}

/// Resolves percent-encoding.
fn percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        if let Some(byte) = from.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(byte);
            rest = from.get(2..).unwrap_or_default();
        } else {
            bytes.push(b'%');
            rest = from;
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_that_hold_text_are_found_and_keys_are_left_alone() {
        assert_eq!(
            inner("Y3VybCBodHRwOi8vZXhhbXBsZS5jb20="),
            [(Wrapping::Base64, "curl http://example.com".to_owned())]
        );
        assert_eq!(inner("6375726c20687474703a2f2f78"), [(Wrapping::Hex, "curl http://x".to_owned())]);
        assert!(inner("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b").is_empty());
        assert!(inner("/home/user/projects/mcp/server.js").is_empty());
    }

    #[test]
    fn commands_of_powershell_are_read_as_utf_16() {
        assert_eq!(inner("SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAKQA=")[0].1, "IEX (New-Object)");
    }

    #[test]
    fn escapes_are_resolved_as_printf_does() {
        assert_eq!(unescape(r"\x63\x75\162\154 \u0068i\n\q\"), "curl hi\nq\\");
    }
}
