//! What was pulled, kept by digest for when there is no network.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portcullis_model::Digest;

use crate::layout::LARGEST;

/// So many files are kept: manifests and layers of the last dozen artifacts or so. The oldest go first.
const MOST_FILES: usize = 32;

/// What was pulled could not be kept. It is there all the same.
#[derive(Debug, thiserror::Error)]
#[error("`{}` could not be written", path.display())]
pub struct KeptError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// A folder with manifests and layers, each named by its digest. What is read is digested again: nothing in the folder is
/// believed for its name.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// Keeps in a folder, which should be there and be private.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join(format!("sha256-{digest}"))
    }

    /// Returns what has that digest, where it is kept and sound.
    pub(crate) fn get(&self, digest: Digest) -> Option<Vec<u8>> {
        let file = std::fs::File::open(self.path(digest)).ok()?;
        let mut bytes = Vec::new();
        file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).ok()?;
        (Digest::of(&bytes) == digest).then_some(bytes)
    }

    /// Keeps bytes, and lets the oldest files go.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<(), KeptError> {
        let path = self.path(Digest::of(bytes));
        let write = || -> io::Result<()> {
            let mut draft = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(&self.folder)?;
            draft.write_all(bytes)?;
            draft.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| KeptError { path: path.clone(), source })?;
        self.prune(&path);
        Ok(())
    }

    /// Removes the oldest files beyond what is kept, and never the one that was just written. Another process may do so too.
    fn prune(&self, newest: &Path) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("sha256-"))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .filter(|(_, path)| path != newest)
            .collect();
        files.sort();
        let surplus = (files.len() + 1).saturating_sub(MOST_FILES);
        for (_, path) in files.iter().take(surplus) {
            let _gone = std::fs::remove_file(path);
        }
    }
}
