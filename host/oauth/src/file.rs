//! The file with what the gateway holds for one server: for its owner alone, replaced as a whole, changed by one at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use portcullis_model::json::{Limits, parse_with};
use portcullis_model::{Digest, ServerName};

use crate::grant::Grant;

/// Longest file: two tokens and some addresses.
const LONGEST: usize = 256 * 1024;
/// The lock is tried this often.
const ROUND: Duration = Duration::from_millis(50);
/// So long it is waited for: a refresh of another process takes no longer, or is stuck.
const LOCK_LIMIT: Duration = Duration::from_secs(45);

/// A file with tokens could not be used.
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
    /// It is not what was written. Nothing of it is shown.
    #[error("`{0}` is not what was written to it; hint: move it away and log in again")]
    Malformed(PathBuf),
    /// Another process holds it for too long.
    #[error("another process has been busy with `{0}` for long")]
    Busy(PathBuf),
}

/// What tells one version of the file from the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version(Option<(SystemTime, u64, u64)>);

/// The right to change the file; given back when it is dropped, and by the system where the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// The file with what the gateway holds for one server.
#[derive(Clone, Debug)]
pub struct GrantFile {
    path: PathBuf,
}

impl GrantFile {
    /// Names the file of a server in a folder. Servers whose names differ have different files.
    pub fn of(folder: &Path, server: &ServerName) -> Self {
        let plain = |one: char| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' };
        let name: String = server.as_str().chars().take(64).map(plain).collect();
        let digest = Digest::of(server.as_str().as_bytes()).to_string();
        let digest: String = digest.chars().filter(char::is_ascii_hexdigit).rev().take(12).collect();
        Self { path: folder.join(format!("{name}-{digest}.json")) }
    }

    fn failed(&self, source: io::Error) -> FileError {
        FileError::Io { path: self.path.clone(), source }
    }

    /// Returns true where there is one.
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Returns true where it holds a login that the server found to reach not far enough.
    pub fn is_too_narrow(&self) -> bool {
        self.read().ok().flatten().is_some_and(|grant| !grant.missing.is_empty())
    }

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
    pub(crate) fn read(&self) -> Result<Option<Grant>, FileError> {
        let file = match open_plain(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        check_private(&file).map_err(|error| self.failed(error))?;
        let mut bytes = Vec::new();
        file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        let value = parse_with(bytes.trim_ascii(), Limits { bytes: LONGEST, depth: 8 }).ok();
        let grant = value.as_ref().and_then(Grant::read);
        grant.map(Some).ok_or_else(|| FileError::Malformed(self.path.clone()))
    }

    /// Replaces it.
    pub(crate) fn write(&self, grant: &Grant) -> Result<(), FileError> {
        let written = || -> io::Result<()> {
            let mut unique = [0; 8];
            getrandom::fill(&mut unique).map_err(|_| io::Error::other("there are no random bytes"))?;
            let beside = self.path.with_extension(format!("new-{:016x}", u64::from_le_bytes(unique)));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&beside)?;
            let mut bytes = Vec::new();
            grant.to_value().write_to(&mut bytes);
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

    /// Removes it. Returns false where there was none.
    pub(crate) fn remove(&self) -> Result<bool, FileError> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Waits for the right to change it. The lock is a file of its own, which stays: one that is removed would be locked by
    /// one process while another locks its successor.
    pub(crate) async fn lock(&self) -> Result<Lock, FileError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.path.with_extension("lock")).map_err(|error| self.failed(error))?;
        let until = Instant::now() + LOCK_LIMIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => tokio::time::sleep(ROUND).await,
                Err(TryLockError::WouldBlock) => return Err(FileError::Busy(self.path.clone())),
                Err(TryLockError::Error(error)) => return Err(self.failed(error)),
            }
        }
    }

    /// Puts what stands in another file in its place, as one step.
    pub async fn adopt(&self, proven: &Self) -> Result<(), FileError> {
        let _lock = self.lock().await?;
        let grant = proven.read()?.ok_or_else(|| FileError::Malformed(proven.path.clone()))?;
        self.write(&grant)
    }
}

/// Opens a file that is no link: one would lead to what somebody else wrote.
fn open_plain(path: &Path) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.file_type().is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link"));
    }
    File::open(path)
}

#[cfg(unix)]
fn check_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        let message = "others may read or write it; close it with chmod 600";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::grant;

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again_and_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = GrantFile::of(folder.path(), &name("a server"));
        assert!(file.read().unwrap().is_none() && !file.exists());
        let before = file.version();
        let grant = grant("https://s.example/mcp", "https://a.example/token");
        file.write(&grant).unwrap();
        assert_ne!(file.version(), before);
        assert_eq!(file.read().unwrap().unwrap(), grant);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(matches!(file.read(), Err(FileError::Io { .. })), "others could have read it");
        }
        assert!(file.remove().unwrap() && !file.remove().unwrap());
        std::fs::write(&file.path, "{}").unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&file.path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert!(matches!(file.read(), Err(FileError::Malformed(_))));
    }

    #[test]
    fn servers_of_other_names_have_other_files_and_no_name_leads_out_of_the_folder() {
        let folder = Path::new("tokens");
        let paths: Vec<_> = ["a.b", "a_b", "a b", "../../x", "A", "a"]
            .into_iter()
            .filter_map(|text| ServerName::parse(text).ok())
            .map(|name| GrantFile::of(folder, &name).path)
            .collect();
        assert!(paths.len() >= 3);
        for (index, path) in paths.iter().enumerate() {
            assert_eq!(path.parent(), Some(folder));
            assert!(!paths[..index].contains(path), "{path:?}");
        }
    }

    #[tokio::test]
    async fn one_at_a_time_may_change_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = GrantFile::of(folder.path(), &name("s"));
        let first = file.lock().await.unwrap();
        let second = tokio::spawn({
            let file = file.clone();
            async move { file.lock().await.is_ok() }
        });
        tokio::time::sleep(ROUND * 3).await;
        assert!(!second.is_finished());
        drop(first);
        assert!(second.await.unwrap());
    }
}
