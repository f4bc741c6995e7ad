//! What policies were told, kept encrypted for a while so that it can be judged again.
//!
//! A payload is the `postcard` form of a passage's [`Judged`] rounds, sealed with ChaCha20-Poly1305 (RFC 8439) under a key
//! of the installation: 12 bytes of a random nonce and the ciphertext with its tag. It is named by the SHA-256 of that, which
//! the record holds; so the chain commits to it, and it can be removed without touching the chain.

use std::sync::Arc;

use portcullis_gates::Judged;
use portcullis_model::Digest;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::{Home, HomeError};

/// Name of the file with the key, in the home folder.
const KEY: &str = "payload.key";

/// What is sealed besides the nonce: payloads of another form will have another text.
const PURPOSE: &[u8] = b"portcullis payload 1";

/// A payload could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// It has no form: a policy was told something that is never kept.
    #[error("what policies were told has no form to be kept in")]
    Encode(#[source] postcard::Error),
    /// It is longer than a segment takes.
    #[error("what policies were told is longer than is kept")]
    TooLong,
    /// The system has no randomness, or the cipher failed.
    #[error("what policies were told could not be encrypted")]
    Seal,
    /// It was changed, or sealed with the key of another installation.
    #[error("the payload was changed, or belongs to another installation")]
    Open,
    /// Another version of this program wrote it.
    #[error("the payload is of another version of this program")]
    Decode(#[source] postcard::Error),
}

/// The key that seals the payloads of an installation. There is one nonce in 2^96 for each; a collision is to be feared
/// after 2^32 payloads of one key, which is a thousand a second for fifty days; passages without arguments are no payloads.
pub struct PayloadKey(LessSafeKey);

impl std::fmt::Debug for PayloadKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PayloadKey(…)")
    }
}

impl PayloadKey {
    /// Returns the key of a home, making one where there is none.
    pub fn of(home: &Home) -> Result<Self, HomeError> {
        let bytes = home.key(KEY)?;
        UnboundKey::new(&CHACHA20_POLY1305, &bytes).map(|key| Self(LessSafeKey::new(key))).map_err(|rejected| {
            HomeError::Key { path: home.path().join(KEY), source: std::io::Error::other(rejected.to_string()) }
        })
    }

    /// Seals what policies were told.
    pub(crate) fn seal(&self, inputs: &[Arc<Judged>]) -> Result<Vec<u8>, PayloadError> {
        let inputs: Vec<&Judged> = inputs.iter().map(AsRef::as_ref).collect();
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| PayloadError::Seal)?;
        let mut text = postcard::to_allocvec(&inputs).map_err(PayloadError::Encode)?;
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(PURPOSE), &mut text)
            .map_err(|_| PayloadError::Seal)?;
        let sealed = [&nonce[..], &text].concat();
        if sealed.len() > crate::segment::LONGEST_BODY { Err(PayloadError::TooLong) } else { Ok(sealed) }
    }

    /// Opens what was sealed.
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<Judged>, PayloadError> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(PayloadError::Open)?;
        let mut text = text.to_vec();
        let opened = self
            .0
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(PURPOSE), &mut text)
            .map_err(|_| PayloadError::Open)?;
        postcard::from_bytes(opened).map_err(PayloadError::Decode)
    }
}

/// The payload that was sealed last: the items of a batch share one.
#[derive(Debug, Default)]
pub(crate) struct LastSealed {
    inputs: Vec<Arc<Judged>>,
    digest: Option<Digest>,
}

impl LastSealed {
    /// Returns the digest of the payload of these inputs, where it is the last one.
    pub(crate) fn find(&self, inputs: &[Arc<Judged>]) -> Option<Digest> {
        let same = self.inputs.len() == inputs.len()
            && self.inputs.iter().zip(inputs).all(|(known, input)| Arc::ptr_eq(known, input));
        self.digest.filter(|_| same)
    }

    /// Remembers a payload.
    pub(crate) fn remember(&mut self, inputs: &[Arc<Judged>], digest: Digest) {
        self.inputs = inputs.to_vec();
        self.digest = Some(digest);
    }

    /// Forgets it: it may not be in the segments.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}
