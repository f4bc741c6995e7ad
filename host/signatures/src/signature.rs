//! Detached signatures in the format of `minisign`.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use blake2::{Blake2b512, Digest as _};
use ring::signature::Ed25519KeyPair;

use crate::key::key_id;

/// A signature file has four lines; comments aside, it has 240 bytes. What is larger is none, and is not read.
pub const LARGEST_SIGNATURE: usize = 8 * 1024;

/// A signature does not vouch for what it stands beside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// It is cut off, or no signature at all.
    #[error("the signature is cut off or no signature of minisign")]
    Malformed,
    /// No key of the config has made it.
    #[error("it is signed by the key {id}, which is none of `policies.keys`")]
    UnknownKey {
        /// The id of the key, 16 hexadecimal digits.
        id: String,
    },
    /// Another key than the one asked about has made it.
    #[error("it is signed by another key, {id}")]
    OtherKey {
        /// The id of the key, 16 hexadecimal digits.
        id: String,
    },
    /// The bytes are not those that were signed.
    #[error("it was changed after the key {key} signed it, or that key did not sign it")]
    Changed {
        /// The id of the key.
        key: String,
    },
    /// The file was signed under another name, and its bytes alone do not say what they are for.
    #[error("it was signed as `{signed}`; hint: sign it again under the name that it has")]
    OtherFile {
        /// The name that is signed.
        signed: String,
    },
    /// The signature names no file, and the bytes alone do not say what they are for.
    #[error(
        "its signature names no file; hint: `portcullis policy sign`, or `minisign -S` without a comment of its own"
    )]
    NoFile,
    /// The name of a file cannot stand in a signature.
    #[error("the name of the file has a character that cannot stand in a signature")]
    FileName,
}

/// A signature that was parsed.
pub(crate) struct Parsed {
    pub(crate) signature: minisign_verify::Signature,
    pub(crate) key_id: u64,
}

/// So much of a signed name is shown: names of files in the policies folder are shorter.
const LONGEST_SHOWN: usize = 128;

impl Parsed {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SignatureError> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LARGEST_SIGNATURE);
        let text = text.ok_or(SignatureError::Malformed)?;
        let signature = minisign_verify::Signature::decode(text).map_err(|_| SignatureError::Malformed)?;
        let encoded = text.lines().nth(1).and_then(|line| STANDARD.decode(line.trim()).ok());
        let key_id = encoded.as_deref().and_then(key_id).ok_or(SignatureError::Malformed)?;
        Ok(Self { signature, key_id })
    }

    /// Checks that the comment, which is signed, names this file. It is a part `file:NAME` between tabs, as the program
    /// writes it.
    pub(crate) fn check_file(&self, name: &str) -> Result<(), SignatureError> {
        let named = self.signature.trusted_comment().split('\t').find_map(|part| part.strip_prefix("file:"));
        match named {
            Some(signed) if signed == name => Ok(()),
            Some(signed) => Err(SignatureError::OtherFile { signed: signed.chars().take(LONGEST_SHOWN).collect() }),
            None => Err(SignatureError::NoFile),
        }
    }
}

/// Signs the `BLAKE2b` hash of bytes, with the comments that `minisign` writes.
pub(crate) fn sign(pair: &Ed25519KeyPair, id: [u8; 8], bytes: &[u8], file: &str) -> Result<String, SignatureError> {
    if file.chars().any(char::is_control) {
        return Err(SignatureError::FileName);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let comment = format!("timestamp:{now}\tfile:{file}\thashed");
    let signature = pair.sign(&Blake2b512::digest(bytes));
    // The comment is signed together with the signature, so that it belongs to no other.
    let whole = pair.sign(&[signature.as_ref(), comment.as_bytes()].concat());
    let line = STANDARD.encode([b"ED".as_slice(), &id, signature.as_ref()].concat());
    let id = format!("{:016X}", u64::from_le_bytes(id));
    let whole = STANDARD.encode(whole.as_ref());
    Ok(format!(
        "untrusted comment: signature from minisign secret key {id}\n{line}\ntrusted comment: {comment}\n{whole}\n"
    ))
}
