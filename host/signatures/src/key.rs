//! Keys in the format of `minisign`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::secret::{self, Opened};
use crate::signature::{self, Parsed, SignatureError};

/// A key file has two short lines; anything longer is none.
pub(crate) const LARGEST_KEY: usize = 4 * 1024;

/// A key could not be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is no public key.
    #[error(
        "it is no public key of minisign; hint: the second line of a `.pub` file, 56 characters that begin with RW"
    )]
    NoPublicKey,
    /// The text is no secret key.
    #[error("it is no secret key of minisign, or a damaged one")]
    NoSecretKey,
    /// The key is protected, and no password was given.
    #[error("the secret key is protected by a password")]
    PasswordNeeded,
    /// The password does not open the key.
    #[error("the password does not open the secret key")]
    WrongPassword,
    /// The password is longer than what is read.
    #[error("a password has {} bytes at most", secret::LONGEST_PASSWORD)]
    LongPassword,
    /// Deriving a key from the password would take more memory than any honest key file asks for.
    #[error("the secret key asks for more memory or time than any key of minisign")]
    TooExpensive,
    /// There is no randomness.
    #[error("the system gives no randomness")]
    Randomness,
}

/// The public half of a key: whoever has it can verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    key: minisign_verify::PublicKey,
    id: u64,
    encoded: String,
}

impl PublicKey {
    /// Parses a key: the text of a `.pub` file, or its second line alone.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.len() > LARGEST_KEY {
            return Err(KeyError::NoPublicKey);
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.find(|line| !line.starts_with("untrusted comment:")).ok_or(KeyError::NoPublicKey)?;
        if lines.next().is_some() {
            return Err(KeyError::NoPublicKey);
        }
        let key = minisign_verify::PublicKey::from_base64(line).map_err(|_| KeyError::NoPublicKey)?;
        let bytes = STANDARD.decode(line).map_err(|_| KeyError::NoPublicKey)?;
        let id = key_id(&bytes).ok_or(KeyError::NoPublicKey)?;
        Ok(Self { key, id, encoded: line.to_owned() })
    }

    /// Returns the id of the key, which its signatures carry: 16 hexadecimal digits, as `minisign` shows it.
    pub fn id(&self) -> String {
        format!("{:016X}", self.id)
    }

    /// Returns the key as the line that configs and `minisign -P` take.
    pub fn encoded(&self) -> &str {
        &self.encoded
    }

    /// Returns the text of a `.pub` file.
    pub fn to_file(&self) -> String {
        format!("untrusted comment: minisign public key {}\n{}\n", self.id(), self.encoded)
    }

    pub(crate) fn has_id(&self, id: u64) -> bool {
        self.id == id
    }

    /// Verifies a detached signature: the text of a `.minisig` file. Both kinds of `minisign` count, over the hash of the
    /// bytes and over the bytes.
    pub fn verify(&self, bytes: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
        let parsed = Parsed::parse(signature)?;
        if !self.has_id(parsed.key_id) {
            return Err(SignatureError::OtherKey { id: format!("{:016X}", parsed.key_id) });
        }
        self.verify_parsed(bytes, &parsed)
    }

    pub(crate) fn verify_parsed(&self, bytes: &[u8], parsed: &Parsed) -> Result<(), SignatureError> {
        self.key.verify(bytes, &parsed.signature, true).map_err(|_| SignatureError::Changed { key: self.id() })
    }
}

/// Returns the id that stands in the bytes of a key or a signature: after two bytes for the algorithm.
pub(crate) fn key_id(bytes: &[u8]) -> Option<u64> {
    let id: [u8; 8] = bytes.get(2..10)?.try_into().ok()?;
    Some(u64::from_le_bytes(id))
}

/// The secret half of a key: whoever has it can sign. Never shown.
pub struct SecretKey {
    pair: Ed25519KeyPair,
    opened: Opened,
    public: PublicKey,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SecretKey").field("id", &self.public.id()).finish_non_exhaustive()
    }
}

impl SecretKey {
    /// Makes a key.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; 32];
        let mut id = [0; 8];
        getrandom::fill(&mut seed).map_err(|_| KeyError::Randomness)?;
        getrandom::fill(&mut id).map_err(|_| KeyError::Randomness)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| KeyError::Randomness)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Randomness)?;
        Self::new(Opened { id, seed, public })
    }

    /// Reads the text of a secret key file, of this program or of `minisign`. Where a password protects it, deriving from
    /// that takes as much time and memory as the file says, a gibibyte at most.
    pub fn open(text: &str, password: Option<&str>) -> Result<Self, KeyError> {
        Self::new(secret::open(text, password)?)
    }

    fn new(opened: Opened) -> Result<Self, KeyError> {
        // Both halves are there, and a damaged one is told by the other.
        let pair = Ed25519KeyPair::from_seed_and_public_key(&opened.seed, &opened.public)
            .map_err(|_| KeyError::NoSecretKey)?;
        let bytes = [b"Ed".as_slice(), &opened.id, &opened.public].concat();
        let public = PublicKey::parse(&STANDARD.encode(bytes))?;
        Ok(Self { pair, opened, public })
    }

    /// Returns the text of a file that no password protects: whoever reads it can sign.
    pub fn to_unprotected_file(&self) -> String {
        secret::unprotected(&self.opened)
    }

    /// Returns the text of a file that a password protects. Deriving from it takes a second and 128 MiB.
    pub fn to_protected_file(&self, password: &str) -> Result<String, KeyError> {
        secret::protected(&self.opened, password)
    }

    /// Returns the public half.
    pub fn public(&self) -> PublicKey {
        self.public.clone()
    }

    /// Signs bytes, and returns the text of a `.minisig` file. `file` is named in its trusted comment.
    pub fn sign(&self, bytes: &[u8], file: &str) -> Result<String, SignatureError> {
        signature::sign(&self.pair, self.opened.id, bytes, file)
    }
}
