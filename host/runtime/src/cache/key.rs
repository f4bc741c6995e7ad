//! The key of this installation: thirty-two random bytes in a file that only we can read.

use std::io;

use cap_std::fs::Dir;
use hmac::{Hmac, KeyInit};
use sha2::Sha256;

use super::file::{self, FileError};

const NAME: &str = "key";
const LENGTH: usize = 32;

/// Authenticates what this installation wrote.
pub(super) struct InstallKey {
    mac: Hmac<Sha256>,
}

impl std::fmt::Debug for InstallKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("InstallKey(…)")
    }
}

impl InstallKey {
    /// Reads the key, or makes one. The flag tells that there was one that could not be trusted: everything that was
    /// written under it is worth nothing then.
    pub(super) fn open(folder: &Dir) -> io::Result<(Self, bool)> {
        let replaced = match file::read_own(folder, NAME, LENGTH as u64) {
            Ok(bytes) if bytes.len() == LENGTH => return Ok((Self::from_bytes(&bytes)?, false)),
            Err(FileError::Absent) => false,
            Err(FileError::Read(error)) => return Err(error),
            Ok(_) | Err(_) => true,
        };
        let mut bytes = [0_u8; LENGTH];
        file::random_bytes(&mut bytes)?;
        if replaced {
            file::write_own(folder, NAME, &bytes)?;
            return Ok((Self::from_bytes(&bytes)?, true));
        }
        match file::create(folder, NAME, &bytes) {
            Ok(()) => Ok((Self::from_bytes(&bytes)?, false)),
            // Another process of this installation was first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::written_by_another(folder),
            Err(error) => Err(error),
        }
    }

    /// Reads the key that another process is just writing: its file exists a moment before its bytes do.
    fn written_by_another(folder: &Dir) -> io::Result<(Self, bool)> {
        for _ in 0..100 {
            match file::read_own(folder, NAME, LENGTH as u64) {
                Ok(bytes) if bytes.len() == LENGTH => return Ok((Self::from_bytes(&bytes)?, false)),
                _ => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        Ok(Self { mac: Hmac::new_from_slice(bytes).map_err(io::Error::other)? })
    }

    /// Starts a code over some bytes.
    pub(super) fn mac(&self) -> Hmac<Sha256> {
        self.mac.clone()
    }
}
