//! Heads of chains, signed so that they can be kept elsewhere.

use std::time::SystemTime;

use portcullis_model::Digest;
use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::{ChainId, Head, Home, HomeError, JournalReader as _, Link, Query, SqliteStore, StoreError, absorb, encode};

/// Name of the file with the seed of the key, in the home folder.
const KEY: &str = "journal.key";

/// What is signed begins with this, so that a signature of this key means nothing else.
const PURPOSE: &str = "portcullis journal head 1";

/// The key that signs the heads of an installation.
pub struct HeadKey(Ed25519KeyPair);

impl std::fmt::Debug for HeadKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HeadKey({})", self.public())
    }
}

impl HeadKey {
    /// Returns the key of a home, making one where there is none.
    pub fn of(home: &Home) -> Result<Self, HomeError> {
        let seed = home.key(KEY)?;
        Ed25519KeyPair::from_seed_unchecked(&seed).map(Self).map_err(|rejected| HomeError::Key {
            path: home.path().join(KEY),
            source: std::io::Error::other(rejected.to_string()),
        })
    }

    /// Returns the public key, 64 hex digits.
    pub fn public(&self) -> String {
        hex(self.0.public_key().as_ref())
    }

    /// Signs a head at a moment.
    pub fn sign(&self, head: Head, at: SystemTime) -> SignedHead {
        let at = encode::microseconds(at);
        let signature = hex(self.0.sign(message(&head, at).as_bytes()).as_ref());
        SignedHead { head, at, key: self.public(), signature }
    }
}

/// A head with the signature of the installation that had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHead {
    /// How far the chain went.
    pub head: Head,
    /// When that was, in microseconds since 1970, by the clock of that machine.
    pub at: i64,
    /// The public key, 64 hex digits.
    pub key: String,
    /// The Ed25519 signature (RFC 8032), 128 hex digits.
    pub signature: String,
}

impl SignedHead {
    /// Returns true where the key named in it made its signature. Whose key that is must be known from elsewhere.
    pub fn is_genuine(&self) -> bool {
        let (Some(key), Some(signature)) = (bytes(&self.key), bytes(&self.signature)) else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, key).verify(message(&self.head, self.at).as_bytes(), &signature).is_ok()
    }

    /// Returns it as the object that is exported.
    pub fn to_value(&self) -> Value {
        object! {
            "chain" => self.head.chain.to_string(),
            "sequence" => self.head.link.sequence,
            "hash" => self.head.link.hash.to_string(),
            "at" => self.at,
            "key" => self.key.as_str(),
            "signature" => self.signature.as_str(),
        }
        .into()
    }

    /// Reads the object that is exported, or nothing where the text is another.
    pub fn parse(text: &str) -> Option<Self> {
        let value = parse_str(text).ok()?;
        let texts = |key| value.get(key).and_then(Value::as_str);
        let link = Link { sequence: value.get("sequence")?.as_u64()?, hash: Digest::parse(texts("hash")?)? };
        Some(Self {
            head: Head { chain: ChainId::parse(texts("chain")?)?, link },
            at: value.get("at")?.as_i64()?,
            key: texts("key")?.to_owned(),
            signature: texts("signature")?.to_owned(),
        })
    }
}

impl SqliteStore {
    /// Returns how far every chain of the home goes, those of all processes, the one that began last first.
    pub fn heads(&self) -> Result<Vec<Head>, StoreError> {
        // What is in segments counts.
        self.latest(&Query { limit: 0, ..Query::default() })?;
        self.read(|connection| Ok(absorb::heads(connection, u32::MAX)?))
    }
}

fn message(head: &Head, at: i64) -> String {
    format!("{PURPOSE}\n{}\n{}\n{}\n{at}\n", head.chain, head.link.sequence, head.link.hash)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect::<Option<_>>()?;
    rest.is_empty().then_some(bytes)
}
