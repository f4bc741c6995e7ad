//! What strangers carry for us, and we know again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

/// Makes and checks tags with a key of the installation.
#[derive(Clone, Debug)]
pub(crate) struct Seal(hmac::Key);

/// Writes parts so that no two lists of them are the same.
fn joined(purpose: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

impl Seal {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// Returns the tag of parts for a purpose: no tag of one purpose is one of another.
    pub(crate) fn tag(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut tag = [0; 32];
        let signed = hmac::sign(&self.0, &joined(purpose, parts));
        tag.iter_mut().zip(signed.as_ref()).for_each(|(to, from)| *to = *from);
        tag
    }

    /// Returns the tag as text.
    pub(crate) fn text(&self, purpose: &str, parts: &[&[u8]]) -> String {
        URL_SAFE_NO_PAD.encode(self.tag(purpose, parts))
    }

    /// Returns true where a text is the tag. How long it takes tells nothing about where it differs.
    pub(crate) fn is_tag(&self, purpose: &str, parts: &[&[u8]], text: &str) -> bool {
        let tag = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        hmac::verify(&self.0, &joined(purpose, parts), &tag).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_for_one_purpose_and_these_parts() {
        let seal = Seal::new(&[7; 32]);
        let tag = seal.text("one", &[b"ab", b"c"]);
        assert!(seal.is_tag("one", &[b"ab", b"c"], &tag));
        assert!(!seal.is_tag("two", &[b"ab", b"c"], &tag) && !seal.is_tag("one", &[b"a", b"bc"], &tag));
        assert!(!Seal::new(&[8; 32]).is_tag("one", &[b"ab", b"c"], &tag));
        assert!(!seal.is_tag("one", &[b"ab", b"c"], "") && !seal.is_tag("one", &[b"ab", b"c"], "!"));
    }
}
