//! Files of the state: small, for their owner alone, replaced as a whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portcullis_model::json::{Limits, Value, parse_with};

use crate::mint::random;

/// A file of the state could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read or written.
    #[error("`{path}` cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not what was written.
    #[error("`{0}` is not what was written to it; hint: move it away and make anew what it held")]
    Malformed(PathBuf),
}

/// Longest file: some thousand entries of a few hundred bytes.
const LONGEST: usize = 8 * 1024 * 1024;

/// What tells one version of a file from the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version(Option<(SystemTime, u64, u64)>);

/// A JSON file of the state.
#[derive(Clone, Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
}

impl StateFile {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(name) }
    }

    /// Returns the error of a file that can be read and means nothing.
    pub(crate) fn malformed(&self) -> FileError {
        FileError::Malformed(self.path.clone())
    }

    fn failed(&self, source: io::Error) -> FileError {
        FileError::Io { path: self.path.clone(), source }
    }

    /// Returns the version that is there.
    pub(crate) fn version(&self) -> Version {
        let metadata = std::fs::symlink_metadata(&self.path).ok();
        Version(metadata.and_then(|metadata| {
            #[cfg(unix)]
            let number = std::os::unix::fs::MetadataExt::ino(&metadata);
            #[cfg(not(unix))]
            let number = 0;
            Some((metadata.modified().ok()?, metadata.len(), number))
        }))
    }

    /// Reads it; nothing where there is none. One that others could have written or read is refused.
    pub(crate) fn read(&self) -> Result<Option<Value>, FileError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        check_private(&file).map_err(|error| self.failed(error))?;
        let mut bytes = Vec::new();
        let read = file.take(LONGEST as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        let limits = Limits { bytes: LONGEST, depth: 16 };
        parse_with(&bytes, limits).map(Some).map_err(|_| self.malformed())
    }

    /// Replaces it.
    pub(crate) fn write(&self, value: &Value) -> Result<(), FileError> {
        let written = || -> io::Result<()> {
            let unique = u64::from_le_bytes(random().map_err(io::Error::other)?);
            let beside = self.path.with_extension(format!("new-{unique:016x}"));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&beside)?;
            let mut bytes = Vec::new();
            value.write_to(&mut bytes);
            bytes.push(b'\n');
            let written = file.write_all(&bytes).and_then(|()| file.sync_all());
            let renamed = written.and_then(|()| std::fs::rename(&beside, &self.path));
            if renamed.is_err() {
                let _left = std::fs::remove_file(&beside);
            }
            renamed
        };
        written().map_err(|error| self.failed(error))
    }

    /// Reads it, has it changed and writes it, while no other process does the same. Where the change fails, nothing is
    /// written.
    pub(crate) fn change<T, E: From<FileError>>(
        &self,
        change: impl FnOnce(Option<Value>) -> Result<(Value, T), E>,
    ) -> Result<T, E> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(self.path.with_extension("lock")).and_then(|file| file.lock().map(|()| file));
        // Held until the end of this function.
        let _lock = lock.map_err(|error| self.failed(error))?;
        let (value, outcome) = change(self.read()?)?;
        self.write(&value)?;
        Ok(outcome)
    }
}

#[cfg(unix)]
fn check_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may read or write it; close it with chmod 600",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use portcullis_model::object;

    use super::*;

    #[test]
    fn a_file_is_for_its_owner_alone_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(folder.path(), "things.json");
        assert!(file.read().unwrap().is_none());
        let before = file.version();
        file.write(&object! { "a" => 1_u64 }.into()).unwrap();
        assert_ne!(file.version(), before);
        assert_eq!(file.read().unwrap().unwrap().to_json(), r#"{"a":1}"#);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let path = folder.path().join("things.json");
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(matches!(file.read(), Err(FileError::Io { .. })), "others could have read it");
        }
    }

    #[test]
    fn a_change_that_fails_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(folder.path(), "things.json");
        file.write(&object! { "a" => 1_u64 }.into()).unwrap();
        let failed = file.change(|_| Err::<(Value, ()), _>(file.malformed()));
        assert!(failed.is_err());
        assert_eq!(file.read().unwrap().unwrap().to_json(), r#"{"a":1}"#);
        std::fs::write(folder.path().join("things.json"), "not json").unwrap();
        assert!(matches!(file.read(), Err(FileError::Malformed(_))));
    }

    #[test]
    fn changes_of_many_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(folder.path(), "things.json");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let counted = file.change(|value| {
                        let count = value.and_then(|value| value.get("count")?.as_u64()).unwrap_or(0);
                        Ok::<_, FileError>((object! { "count" => count + 1 }.into(), ()))
                    });
                    counted.unwrap();
                });
            }
        });
        assert_eq!(file.read().unwrap().unwrap().to_json(), r#"{"count":8}"#);
    }
}
