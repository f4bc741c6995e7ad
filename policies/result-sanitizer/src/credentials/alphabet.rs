//! Sets of characters that credentials are made of.

use serde::Deserialize;

/// A set of ASCII characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Alphabet {
    /// 0-9
    Digits,
    /// 0-9, a-f in either case
    Hex,
    /// A-Z, 0-9
    Upper,
    /// a-z, A-Z
    Letters,
    /// a-z, A-Z, 0-9
    Alphanumeric,
    /// alphanumeric and `_`
    Word,
    /// word and `-`
    Url,
    /// url and `.`
    Dotted,
    /// dotted and `~`
    Tilde,
    /// url and `:`
    Colon,
    /// dotted, `~` and `/`
    Path,
    /// alphanumeric, `+`, `/`, `=`
    Base64,
    /// base64, `-`, `_`
    Base64url,
    /// base64, `-`, `_`, `.`
    Base64dotted,
    /// url and `%`
    Percent,
    /// dotted, `$`, `/`, `,`, `=`, `+`
    Crypt,
    /// path, `@` and `:`
    Address,
    /// all that is printed, but quotes, brackets and what parts lists
    Graphic,
}

impl Alphabet {
    /// True for characters of the set.
    pub(crate) const fn has(self, byte: u8) -> bool {
        let alphanumeric = byte.is_ascii_alphanumeric();
        let url = alphanumeric || byte == b'_' || byte == b'-';
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Letters => byte.is_ascii_alphabetic(),
            Self::Alphanumeric => alphanumeric,
            Self::Word => alphanumeric || byte == b'_',
            Self::Url => url,
            Self::Dotted => url || byte == b'.',
            Self::Tilde => url || byte == b'.' || byte == b'~',
            Self::Colon => url || byte == b':',
            Self::Path => url || byte == b'.' || byte == b'~' || byte == b'/',
            Self::Base64 => alphanumeric || byte == b'+' || byte == b'/' || byte == b'=',
            Self::Base64url => url || byte == b'+' || byte == b'/' || byte == b'=',
            Self::Base64dotted => url || byte == b'.' || byte == b'+' || byte == b'/' || byte == b'=',
            Self::Percent => url || byte == b'%',
            Self::Crypt => url || matches!(byte, b'.' | b'$' | b'/' | b',' | b'=' | b'+'),
            Self::Address => url || matches!(byte, b'.' | b'~' | b'/' | b'@' | b':'),
            Self::Graphic => {
                byte.is_ascii_graphic()
                    && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}')
                    && !matches!(byte, b',' | b';' | b'\\')
            }
        }
    }
}
