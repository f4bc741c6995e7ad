//! Keys of this installation.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::{Home, HomeError};

/// Bytes of a key: what HMAC-SHA-256 takes without hashing it first, halved, as RFC 2104 §3 asks at least.
const LENGTH: usize = 32;

impl Home {
    /// Returns the key of that name, making one where there is none. It is in a file that only its owner may read.
    pub fn key(&self, name: &str) -> Result<[u8; LENGTH], HomeError> {
        let path = self.path().join(name);
        let failed = |source| HomeError::Key { path: path.clone(), source };
        match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            known => return known.map_err(failed),
        }
        let mut key = [0; LENGTH];
        getrandom::fill(&mut key).map_err(|error| failed(io::Error::other(error.to_string())))?;
        match create(&path, &key) {
            // Another gateway of the home was faster; its key counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path).map_err(failed),
            created => created.map(|()| key).map_err(failed),
        }
    }
}

fn read(path: &Path) -> io::Result<[u8; LENGTH]> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NOFOLLOW);
    let file = options.open(path)?;
    check_private(&file)?;
    let mut key = Vec::new();
    file.take(LENGTH as u64 + 1).read_to_end(&mut key)?;
    key.try_into().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it does not hold a key"))
}

/// Writes beside and links into place, so that nobody reads half a key and no key replaces another.
fn create(path: &Path, key: &[u8]) -> io::Result<()> {
    // A name of its own: two that write at once must not link each other's half.
    let unique = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    let beside = path.with_extension(format!("new-{unique:016x}"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    let linked = file.write_all(key).and_then(|()| file.sync_all()).and_then(|()| std::fs::hard_link(&beside, path));
    std::fs::remove_file(&beside)?;
    linked
}

#[cfg(unix)]
fn check_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may read it"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_file: &File) -> io::Result<()> {
    Ok(())
}
