//! The form of an entry: a header, its HMAC, and native code.

use hmac::Mac;
use portcullis_model::Digest;

use super::code::Code;
use super::key::InstallKey;

/// Names the form. Another form gets another name, and old entries then fail their check.
const MAGIC: &[u8; 8] = b"PCpolic1";

/// Why there is no snapshot is one line for people.
const LONGEST_REASON: usize = 1024;

const MAC: usize = 32;
const KEY: usize = 32;

/// An entry that this installation wrote.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) code: Code,
    /// Why the code starts unconfigured; nothing where it is a snapshot.
    pub(crate) without_snapshot: Option<String>,
}

/// Bytes that are no entry of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EntryError {
    #[error("it is no entry")]
    Form,
    #[error("it was not written by this installation for this policy")]
    Mac,
}

impl Entry {
    /// Writes an entry: magic, HMAC, key, length of the reason, reason, code. The HMAC is over all that follows it.
    pub(super) fn seal(key: Digest, without_snapshot: Option<&str>, code: &[u8], install: &InstallKey) -> Vec<u8> {
        let reason = without_snapshot.map(|reason| {
            let reason = if reason.is_empty() { "unknown" } else { reason };
            reason.get(..reason.floor_char_boundary(LONGEST_REASON)).unwrap_or_default()
        });
        let reason = reason.unwrap_or_default().as_bytes();
        let mut body = Vec::with_capacity(KEY + 4 + reason.len() + code.len());
        body.extend_from_slice(key.as_bytes());
        body.extend_from_slice(&u32::try_from(reason.len()).unwrap_or_default().to_be_bytes());
        body.extend_from_slice(reason);
        body.extend_from_slice(code);
        let mac = install.mac().chain_update(&body).finalize().into_bytes();
        let mut sealed = Vec::with_capacity(MAGIC.len() + MAC + body.len());
        sealed.extend_from_slice(MAGIC);
        sealed.extend_from_slice(&mac);
        sealed.append(&mut body);
        sealed
    }

    /// Reads an entry of that key. The code is believed only where the HMAC holds over all of it.
    pub(super) fn open(bytes: Vec<u8>, key: Digest, install: &InstallKey) -> Result<Self, EntryError> {
        let rest = bytes.strip_prefix(MAGIC.as_slice()).ok_or(EntryError::Form)?;
        let (mac, body) = rest.split_at_checked(MAC).ok_or(EntryError::Form)?;
        install.mac().chain_update(body).verify_slice(mac).map_err(|_| EntryError::Mac)?;
        // A true entry of another policy in this one's place.
        let rest = body.strip_prefix(key.as_bytes().as_slice()).ok_or(EntryError::Mac)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(EntryError::Form)?;
        let (reason, code) = rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(EntryError::Form)?;
        let without_snapshot = match reason {
            [] => None,
            text => Some(String::from_utf8_lossy(text).into_owned()),
        };
        let start = bytes.len() - code.len();
        Ok(Self { code: Code::verified(bytes, start), without_snapshot })
    }
}
