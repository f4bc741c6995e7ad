//! The passphrase that an operator may have to know: what is kept of it.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;

use argon2::{Algorithm, Argon2, Params, Version};
use portcullis_store::Home;
use ring::pbkdf2;
use subtle::ConstantTimeEq as _;

/// A passphrase that was set: what is kept of it.
#[derive(Clone)]
pub(crate) struct Passphrase {
    method: Method,
    salt: [u8; SALT],
    derived: [u8; DERIVED],
}

/// How it was derived.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Argon2id (RFC 9106): KiB of memory, passes.
    Argon2 { memory: u32, passes: u32 },
    /// PBKDF2 with HMAC-SHA-256, as earlier releases wrote it: rounds.
    Pbkdf2(NonZeroU32),
}

/// 64 MiB and 3 passes: the second of the options that RFC 9106 §4 recommends, in one lane.
const METHOD: Method = Method::Argon2 { memory: 64 * 1024, passes: 3 };

/// Less in the file is a mistake or an attack: the least that OWASP's password storage cheat sheet names (19 MiB, edition of
/// 2023). More would keep the machine busy for long.
const SENSIBLE_MEMORY: std::ops::RangeInclusive<u32> = 19 * 1024..=1024 * 1024;

/// Likewise of passes.
const SENSIBLE_PASSES: std::ops::RangeInclusive<u32> = 2..=64;

/// Likewise of rounds (600,000 in the same cheat sheet).
const SENSIBLE_ROUNDS: std::ops::RangeInclusive<u32> = 600_000..=10_000_000;

/// Bytes of salt; RFC 9106 §3.1 recommends 16.
const SALT: usize = 16;

/// Bytes that are derived: 256 bits.
const DERIVED: usize = 32;

/// A passphrase has so many characters at least. It guards against programs of the same user, which can try offline what
/// they can read.
const SHORTEST: usize = 12;

/// And so many bytes at most.
const LONGEST: usize = 1_024;

/// A passphrase could not be set or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PassphraseError {
    /// It is too short or too long.
    #[error("a passphrase has {SHORTEST} characters at least and {LONGEST} bytes at most")]
    Length,
    /// The file is not what was written.
    #[error("`{0}` holds no passphrase; hint: set it again with `portcullis approvals passphrase`")]
    Malformed(PathBuf),
    /// The file could not be read or written, or there is no randomness.
    #[error("`{path}` cannot be used")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Passphrase {
    fn path(home: &Home) -> PathBuf {
        home.path().join("approvals.passphrase")
    }

    /// Sets the passphrase of a home, in the place of an earlier one. Takes a few hundred milliseconds.
    pub(crate) fn set(home: &Home, text: &str) -> Result<(), PassphraseError> {
        let passphrase = Self::derive(text)?;
        let path = Self::path(home);
        let failed = |source| PassphraseError::File { path: path.clone(), source };
        // Created with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(home.path()).map_err(failed)?;
        let line = passphrase.to_line();
        file.write_all(line.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Removes the passphrase of a home. Returns true where there was one.
    pub(crate) fn remove(home: &Home) -> Result<bool, PassphraseError> {
        let path = Self::path(home);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(PassphraseError::File { path, source }),
        }
    }

    /// Reads what is kept of the passphrase of a home; nothing where none is set.
    pub(crate) fn read(home: &Home) -> Result<Option<Self>, PassphraseError> {
        let path = Self::path(home);
        let mut options = std::fs::OpenOptions::new();
        options.read(true);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NOFOLLOW);
        let file = match options.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(PassphraseError::File { path, source }),
        };
        let mut line = String::new();
        let read = file.take(1_024).read_to_string(&mut line);
        read.map_err(|source| PassphraseError::File { path: path.clone(), source })?;
        Self::parse(&line).map(Some).ok_or(PassphraseError::Malformed(path))
    }

    fn to_line(&self) -> String {
        let mut line = match self.method {
            Method::Argon2 { memory, passes } => format!("argon2id {memory} {passes} "),
            Method::Pbkdf2(rounds) => format!("pbkdf2-hmac-sha256 {rounds} "),
        };
        write_hex(&mut line, &self.salt);
        line.push(' ');
        write_hex(&mut line, &self.derived);
        line.push('\n');
        line
    }

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |word: &str, sensible: std::ops::RangeInclusive<u32>| {
            word.parse().ok().filter(|number| sensible.contains(number))
        };
        let (method, salt, derived) = match words.as_slice() {
            ["argon2id", memory, passes, salt, derived] => {
                let (memory, passes) = (number(memory, SENSIBLE_MEMORY)?, number(passes, SENSIBLE_PASSES)?);
                (Method::Argon2 { memory, passes }, salt, derived)
            }
            ["pbkdf2-hmac-sha256", rounds, salt, derived] => {
                (Method::Pbkdf2(NonZeroU32::new(number(rounds, SENSIBLE_ROUNDS)?)?), salt, derived)
            }
            _ => return None,
        };
        Some(Self { method, salt: read_hex(salt)?, derived: read_hex(derived)? })
    }

    fn derive(text: &str) -> Result<Self, PassphraseError> {
        if text.chars().count() < SHORTEST || text.len() > LONGEST {
            return Err(PassphraseError::Length);
        }
        let failed = |what: &str| PassphraseError::File {
            path: PathBuf::from("the system"),
            source: io::Error::other(what.to_owned()),
        };
        let mut salt = [0; SALT];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut salt).map_err(|_| failed("there is no randomness"))?;
        let derived = METHOD.derive(text, &salt).ok_or_else(|| failed("there is no memory to derive a key in"))?;
        Ok(Self { method: METHOD, salt, derived })
    }

    /// Returns true where the text is the passphrase. Takes a few hundred milliseconds.
    pub(crate) fn is(&self, text: &str) -> bool {
        text.len() <= LONGEST
            && self.method.derive(text, &self.salt).is_some_and(|derived| derived.ct_eq(&self.derived).into())
    }
}

impl Method {
    fn derive(self, text: &str, salt: &[u8; SALT]) -> Option<[u8; DERIVED]> {
        let mut derived = [0; DERIVED];
        match self {
            Self::Argon2 { memory, passes } => {
                let params = Params::new(memory, passes, 1, Some(DERIVED)).ok()?;
                let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
                argon2.hash_password_into(text.as_bytes(), salt, &mut derived).ok()?;
            }
            Self::Pbkdf2(rounds) => {
                pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, text.as_bytes(), &mut derived);
            }
        }
        Some(derived)
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Passphrase(…)")
    }
}

fn write_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
}

fn read_hex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    if text.len() != LENGTH * 2 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_known_again_and_nothing_else_is_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(Passphrase::read(&home).unwrap().is_none());
        Passphrase::set(&home, "correct horse").unwrap();
        let set = Passphrase::read(&home).unwrap().unwrap();
        assert!(set.is("correct horse") && !set.is("correct horsf") && !set.is(""));
        let path = Passphrase::path(&home);
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("argon2id 65536 3 ") && !text.contains("horse"));
        for weaker in [text.replace("65536", "1024"), text.replace(" 3 ", " 1 "), text.replace("argon2id", "argon2d")] {
            assert!(Passphrase::parse(&weaker).is_none(), "less work is no passphrase: {weaker}");
        }
        assert!(Passphrase::remove(&home).unwrap() && !Passphrase::remove(&home).unwrap());
    }

    #[test]
    fn a_passphrase_of_an_earlier_release_counts_still() {
        let mut set = Passphrase {
            method: Method::Pbkdf2(NonZeroU32::new(600_000).unwrap()),
            salt: [7; SALT],
            derived: [0; DERIVED],
        };
        set.derived = set.method.derive("earlier!", &set.salt).unwrap();
        let line = set.to_line();
        assert!(Passphrase::parse(&line).unwrap().is("earlier!") && !Passphrase::parse(&line).unwrap().is("earlier?"));
        assert!(Passphrase::parse(&line.replace("600000", "1000")).is_none(), "fewer rounds are no passphrase");
    }

    #[test]
    fn a_short_passphrase_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(matches!(Passphrase::set(&home, "eleven char"), Err(PassphraseError::Length)));
    }
}
