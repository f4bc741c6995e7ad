//! Files that only we wrote: opened without following links, checked on the descriptor, read whole.

use std::io::{self, Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};

/// A file was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("there is no such file")]
    Absent,
    #[error("it could not be opened as a file of its own: {0}")]
    Open(#[source] io::Error),
    #[error("it is no regular file")]
    Kind,
    #[error("it belongs to somebody else")]
    Owner,
    #[error("others may read or write it")]
    Mode,
    #[error("it has a second name")]
    Links,
    #[error("it is too large")]
    Size,
    #[error("it could not be read: {0}")]
    Read(#[source] io::Error),
}

/// Reads a file that must be ours and nobody else's.
pub(super) fn read_own(folder: &Dir, name: &str, most: u64) -> Result<Vec<u8>, FileError> {
    let mut options = OpenOptions::new();
    // A named pipe in its place must not make us wait.
    options.read(true).follow(FollowSymlinks::No).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = folder.open_with(name, &options).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound { FileError::Absent } else { FileError::Open(error) }
    })?;
    let metadata = file.metadata().map_err(FileError::Read)?;
    if !metadata.is_file() {
        return Err(FileError::Kind);
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(FileError::Owner);
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(FileError::Mode);
    }
    if metadata.nlink() != 1 {
        return Err(FileError::Links);
    }
    if metadata.len() > most {
        return Err(FileError::Size);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes).map_err(FileError::Read)?;
    if bytes.len() as u64 > most {
        return Err(FileError::Size);
    }
    Ok(bytes)
}

/// Writes a file under a name of its own and renames it into place, readable by us alone.
pub(super) fn write_own(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut random = [0_u8; 8];
    random_bytes(&mut random)?;
    let draft = format!(".{name}.{:016x}", u64::from_ne_bytes(random));
    let written = create(folder, &draft, bytes).and_then(|()| folder.rename(&draft, folder, name));
    if written.is_err() {
        drop(folder.remove_file(&draft));
    }
    written
}

/// Creates a file that must not exist yet.
pub(super) fn create(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).follow(FollowSymlinks::No);
    let mut file = folder.open_with(name, &options)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Fills a buffer from the system's random source.
pub(super) fn random_bytes(buffer: &mut [u8]) -> io::Result<()> {
    getrandom::fill(buffer).map_err(|error| io::Error::other(error.to_string()))
}
