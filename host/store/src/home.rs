//! The folder that holds everything Portcullis keeps.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The folder could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Neither `PORTCULLIS_HOME` nor `HOME` names a folder.
    #[error("no home folder is known: `PORTCULLIS_HOME` and `HOME` are both unset")]
    Unknown,
    /// It, or a folder in it, could not be created or opened.
    #[error("`{path}` cannot be used as a private folder")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something else stands where a folder should.
    #[error("`{0}` is not a folder")]
    NotAFolder(PathBuf),
    /// A key could not be read or made.
    #[error("the key `{path}` cannot be used")]
    Key {
        /// The file.
        path: PathBuf,
        /// What the system said, or what is wrong with the file.
        #[source]
        source: io::Error,
    },
    /// The folder belongs to another user, who could read and change what we keep.
    #[error("`{0}` belongs to another user")]
    ForeignOwner(PathBuf),
}

/// The folder that holds everything Portcullis keeps: only its owner may look inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Finds the folder: `PORTCULLIS_HOME` where set and not empty, else `.portcullis` in the user's own folder.
    pub fn locate(portcullis_home: Option<OsString>, user_home: Option<OsString>) -> Result<PathBuf, HomeError> {
        let set = |value: Option<OsString>| value.filter(|text| !text.is_empty()).map(PathBuf::from);
        set(portcullis_home)
            .or_else(|| set(user_home).map(|folder| folder.join(".portcullis")))
            .ok_or(HomeError::Unknown)
    }

    /// Opens the folder, creating it with mode 0700. An existing one must be ours and is closed to others.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        private_folder(path)?;
        // `SQLite` is told to follow no link, in the whole path; those on the way to the folder are the user's own.
        let path = path.canonicalize().map_err(|source| HomeError::Folder { path: path.to_owned(), source })?;
        Ok(Self { path })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the database.
    pub fn database(&self) -> PathBuf {
        self.path.join("portcullis.db")
    }

    /// Returns the path of the config file that is read where none is named.
    pub fn config_file(&self) -> PathBuf {
        self.path.join("config.yaml")
    }

    /// Returns the path of a folder in it, created with mode 0700.
    pub fn folder(&self, name: &str) -> Result<PathBuf, HomeError> {
        let path = self.path.join(name);
        private_folder(&path)?;
        Ok(path)
    }
}

#[cfg(unix)]
pub(crate) fn private_folder(path: &Path) -> Result<(), HomeError> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};

    let failed = |source| HomeError::Folder { path: path.to_owned(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(HomeError::NotAFolder(path.to_owned()));
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(HomeError::ForeignOwner(path.to_owned()));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn private_folder(path: &Path) -> Result<(), HomeError> {
    std::fs::create_dir_all(path).map_err(|source| HomeError::Folder { path: path.to_owned(), source })
}
