//! The chain that binds each record to all that its process wrote before it.
//!
//! `hash(0) = SHA-256("portcullis journal 1\n" ‖ chain)` and
//! `hash(n) = SHA-256(hash(n - 1) ‖ n ‖ body(n))`, with `chain` as its 16 bytes, `n` as 8 bytes, the highest first, and
//! `body` as the bytes of the record's JSON text. Whoever changes, removes or moves a record changes every hash after it.

use std::fmt;
use std::io;

use portcullis_model::Digest;
use sha2::{Digest as _, Sha256};

/// What is hashed before the name of a chain. Another form of records will have another text.
const START: &[u8] = b"portcullis journal 1\n";

/// Which chain: random, drawn by each process that writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainId([u8; 16]);

impl ChainId {
    /// Draws one.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(bytes))
    }

    /// Builds it from its bytes, for one that is read back.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the chain of 32 hex digits, or nothing where the text is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex =
            text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let number = is_hex.then(|| u128::from_str_radix(text, 16).ok())??;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ChainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ChainId({self})")
    }
}

/// A place in a chain: so many records, and the hash over all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number of the record; the first is 1.
    pub sequence: u64,
    /// Hash over the chain up to it.
    pub hash: Digest,
}

impl Link {
    /// Returns the place before the first record.
    pub fn start(chain: ChainId) -> Self {
        let hash = Sha256::new().chain_update(START).chain_update(chain.0).finalize();
        Self { sequence: 0, hash: Digest::from_bytes(hash.into()) }
    }

    /// Returns the place of a record that follows.
    #[must_use]
    pub fn next(&self, body: &[u8]) -> Self {
        let sequence = self.sequence.saturating_add(1);
        let hash = Sha256::new()
            .chain_update(self.hash.as_bytes())
            .chain_update(sequence.to_be_bytes())
            .chain_update(body)
            .finalize();
        Self { sequence, hash: Digest::from_bytes(hash.into()) }
    }
}

/// How far a chain is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The chain.
    pub chain: ChainId,
    /// Its last record.
    pub link: Link,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_of_a_chain_are_those_that_its_description_gives() {
        let chain = ChainId::from_bytes([7; 16]);
        let start = Link::start(chain);
        let first = start.next(b"{}");
        let by_hand = |parts: &[&[u8]]| Digest::of(&parts.concat());
        assert_eq!(start.hash, by_hand(&[b"portcullis journal 1\n", &[7; 16]]));
        assert_eq!(first.hash, by_hand(&[start.hash.as_bytes(), &[0, 0, 0, 0, 0, 0, 0, 1], b"{}"]));
        assert_eq!(first.sequence, 1);
    }

    #[test]
    fn a_chain_is_named_by_lowercase_hex_and_nothing_else() {
        let chain = ChainId::from_bytes(*b"\0\x01abcdefghijklm\xff");
        assert_eq!(ChainId::parse(&chain.to_string()), Some(chain));
        for text in ["", "00", "+0016162636465666768696a6b6c6dff", "0001616263646566676869 a6b6c6dff"] {
            assert_eq!(ChainId::parse(text), None, "{text}");
        }
        assert_eq!(ChainId::parse(&chain.to_string().to_uppercase()), None);
    }
}
