//! Files that commands change: written whole or not at all, and never over what somebody else wrote meanwhile.

use std::fs::Permissions;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// A config is read up to this size; the reader of configs takes less, files of clients hold their history too.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A file as it was read, or as it was not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileText {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What was in it; nothing where there was no file.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FileError {
    /// The system refused.
    #[error("{path}")]
    System {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is larger than anything that is meant.
    #[error("{0} is over {LONGEST} bytes")]
    TooLarge(String),
    /// Somebody else wrote it since it was read.
    #[error("{0} was changed by somebody else meanwhile, and is left as it is; hint: do it again")]
    Changed(String),
}

impl FileText {
    /// Reads a file. One that is missing is no error.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let failed = |source| FileError::System { path: path.display().to_string(), source };
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.into(), bytes: None });
            }
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LONGEST {
            return Err(FileError::TooLarge(path.display().to_string()));
        }
        Ok(Self { path: path.into(), bytes: Some(bytes) })
    }

    /// Writes the file, unless it is not as it was read. One that is new is for its owner alone.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.check()?;
        write(&self.path, bytes, None)
    }

    /// Writes the file as [`FileText::replace`] does, for its owner alone whatever its mode was.
    pub(crate) fn replace_private(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.check()?;
        write(&self.path, bytes, Some(()))
    }

    fn check(&self) -> Result<(), FileError> {
        if Self::read(&self.path)?.bytes != self.bytes {
            return Err(FileError::Changed(self.path.display().to_string()));
        }
        Ok(())
    }
}

/// Writes beside and renames, behind links, with the mode that the file had.
fn write(path: &Path, bytes: &[u8], private: Option<()>) -> Result<(), FileError> {
    let failed = |source| FileError::System { path: path.display().to_string(), source };
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mode: Option<Permissions> = match private {
        Some(()) => None,
        None => std::fs::metadata(&target).ok().map(|metadata| metadata.permissions()),
    };
    // Created for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(mode).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_wrote_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/config.yaml");
        let missing = FileText::read(&path).unwrap();
        missing.replace(b"one").unwrap();
        assert!(matches!(missing.replace(b"two"), Err(FileError::Changed(_))));
        let known = FileText::read(&path).unwrap();
        known.replace(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_mode_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "one").unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mode = || std::fs::metadata(&real).unwrap().permissions().mode() & 0o777;
        FileText::read(&link).unwrap().replace(b"two").unwrap();
        assert_eq!((std::fs::read(&real).unwrap().as_slice(), mode()), (&b"two"[..], 0o640));
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        FileText::read(&link).unwrap().replace_private(b"three").unwrap();
        assert_eq!(mode(), 0o600);
    }
}
