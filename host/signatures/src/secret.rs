//! Files of secret keys, as `minisign` lays them out: a comment, then 158 bytes in base64.
//!
//! | bytes | what |
//! | --- | --- |
//! | 2, 2, 2 | algorithms of signature (`Ed`), key derivation (`Sc`, or zeros for none) and checksum (`B2`) |
//! | 32, 8, 8 | salt, operations and memory of the derivation, the latter as little-endian numbers |
//! | 8, 32, 32, 32 | id, seed, public key and checksum, added to what is derived from the password |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};

use crate::key::{KeyError, LARGEST_KEY};

/// A password has so many bytes at most: as much as the `minisign` program reads.
pub(crate) const LONGEST_PASSWORD: usize = 1_024;

/// Bytes of a file.
const FILE: usize = 158;

/// Bytes before those that a password protects.
const HEAD: usize = 54;

/// Bytes that a password protects.
const BODY: usize = 104;

/// Operations and memory of the files that we write: N = 2^17, r = 8, p = 1, what OWASP's password storage cheat sheet
/// asks of scrypt at least (edition of 2023).
const OPERATIONS: u64 = 1 << 22;
const MEMORY: u64 = 1 << 27;

/// What a file may ask for at most: what `minisign` itself writes.
const MOST_OPERATIONS: u64 = 1 << 25;
const MOST_MEMORY: u64 = 1 << 30;

/// What is in a file.
pub(crate) struct Opened {
    pub(crate) id: [u8; 8],
    pub(crate) seed: [u8; 32],
    pub(crate) public: [u8; 32],
}

impl Opened {
    fn checksum(&self) -> [u8; 32] {
        let mut hasher = Blake2b::<U32>::new();
        hasher.update(b"Ed");
        hasher.update(self.id);
        hasher.update(self.seed);
        hasher.update(self.public);
        hasher.finalize().into()
    }

    fn body(&self) -> Vec<u8> {
        [self.id.as_slice(), &self.seed, &self.public, &self.checksum()].concat()
    }
}

/// Returns the text of a file that no password protects.
pub(crate) fn unprotected(opened: &Opened) -> String {
    let head = [b"Ed\0\0B2".as_slice(), &[0; 48]].concat();
    file("unprotected", head, &opened.body())
}

/// Returns the text of a file that a password protects.
pub(crate) fn protected(opened: &Opened, password: &str) -> Result<String, KeyError> {
    let mut salt = [0; 32];
    getrandom::fill(&mut salt).map_err(|_| KeyError::Randomness)?;
    let derived = derive(password, &salt, OPERATIONS, MEMORY)?;
    let head = [b"EdScB2".as_slice(), &salt, &OPERATIONS.to_le_bytes(), &MEMORY.to_le_bytes()].concat();
    let body: Vec<u8> = opened.body().iter().zip(derived).map(|(byte, derived)| byte ^ derived).collect();
    Ok(file("encrypted", head, &body))
}

fn file(kind: &str, mut head: Vec<u8>, body: &[u8]) -> String {
    head.extend_from_slice(body);
    format!("untrusted comment: minisign {kind} secret key\n{}\n", STANDARD.encode(head))
}

/// Reads the text of a file.
pub(crate) fn open(text: &str, password: Option<&str>) -> Result<Opened, KeyError> {
    let line = Some(text).filter(|text| text.len() <= LARGEST_KEY).and_then(|text| text.lines().nth(1));
    let bytes = line.and_then(|line| STANDARD.decode(line.trim()).ok()).ok_or(KeyError::NoSecretKey)?;
    let bytes: &[u8; FILE] = bytes.as_slice().try_into().map_err(|_| KeyError::NoSecretKey)?;
    let (head, body) = bytes.split_at(HEAD);
    match (head.get(..2), head.get(2..4)) {
        (Some(b"Ed"), Some([0, 0])) => {
            let (opened, checksum) = parts(body)?;
            // The program writes such keys without a checksum; that the halves fit is checked anyway.
            if checksum != [0; 32] && checksum != opened.checksum() {
                return Err(KeyError::NoSecretKey);
            }
            Ok(opened)
        }
        (Some(b"Ed"), Some(b"Sc")) => {
            let password = password.ok_or(KeyError::PasswordNeeded)?;
            let salt: [u8; 32] = part(head, 6)?;
            let derived =
                derive(password, &salt, u64::from_le_bytes(part(head, 38)?), u64::from_le_bytes(part(head, 46)?))?;
            let body: Vec<u8> = body.iter().zip(derived).map(|(byte, derived)| byte ^ derived).collect();
            let (opened, checksum) = parts(&body)?;
            if checksum == opened.checksum() { Ok(opened) } else { Err(KeyError::WrongPassword) }
        }
        _ => Err(KeyError::NoSecretKey),
    }
}

fn parts(body: &[u8]) -> Result<(Opened, [u8; 32]), KeyError> {
    Ok((Opened { id: part(body, 0)?, seed: part(body, 8)?, public: part(body, 40)? }, part(body, 72)?))
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], KeyError> {
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).ok_or(KeyError::NoSecretKey)
}

fn derive(password: &str, salt: &[u8; 32], operations: u64, memory: u64) -> Result<[u8; BODY], KeyError> {
    if password.len() > LONGEST_PASSWORD {
        return Err(KeyError::LongPassword);
    }
    if operations > MOST_OPERATIONS || memory > MOST_MEMORY {
        return Err(KeyError::TooExpensive);
    }
    let (log_n, blocks, parallel) = parameters(operations, memory);
    let parameters = scrypt::Params::new(log_n, blocks, parallel).map_err(|_| KeyError::TooExpensive)?;
    let mut derived = [0; BODY];
    scrypt::scrypt(password.as_bytes(), salt, &parameters, &mut derived).map_err(|_| KeyError::TooExpensive)?;
    Ok(derived)
}

/// Returns log2(N), r and p for limits of operations and memory, as libsodium's scrypt chooses them.
fn parameters(operations: u64, memory: u64) -> (u8, u32, u32) {
    const BLOCKS: u64 = 8;
    let operations = operations.max(32_768);
    let log_n = |most: u64| (1..63_u8).find(|log| 1_u64 << log > most / 2).unwrap_or(63);
    if operations < memory / 32 {
        return (log_n(operations / (BLOCKS * 4)), 8, 1);
    }
    let log_n = log_n(memory / (BLOCKS * 128));
    let parallel = ((operations / 4) >> log_n).min(0x3fff_ffff) / BLOCKS;
    (log_n, 8, u32::try_from(parallel).unwrap_or(1).max(1))
}
