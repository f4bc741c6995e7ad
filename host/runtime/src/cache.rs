//! Native code on disk, believed only where this installation wrote it.
//!
//! An entry is native code: whoever can make us load one owns the process. So an entry is opened without following
//! links, its owner and mode are checked on the descriptor, it is read whole into memory, and its HMAC is verified
//! there over the key that it answers, before the engine sees it. Nothing is ever mapped from the file. A check that
//! fails is an alarm and means compiling anew.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, MetadataExt};
use portcullis_model::Digest;

mod code;
mod entry;
mod file;
mod key;

pub(crate) use entry::Entry;
use entry::EntryError;
use file::FileError;
use key::InstallKey;

/// The largest entry. The largest module compiles to about four times its size.
const LARGEST_ENTRY: u64 = 384 * 1024 * 1024;

/// Entries that are kept; the oldest make room. A bundle has eight policies with two entries each; each pack version makes
/// one more.
const MOST_ENTRIES: usize = 64;

/// The cache folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It could not be created or opened.
    #[error("the folder could not be opened")]
    Open(#[source] std::io::Error),
    /// Others may write to it, or it belongs to somebody else.
    #[error("the folder belongs to somebody else or others may write to it; hint: chmod 700 it or remove it")]
    Exposed,
    /// The key could not be read or written.
    #[error("the key of this installation could not be used")]
    Key(#[source] std::io::Error),
}

/// A folder of compiled policies.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: Dir,
    key: InstallKey,
    alarms: AtomicU64,
}

impl Cache {
    pub(crate) fn open(path: &Path) -> Result<Self, CacheError> {
        let folder = Self::open_folder(path).map_err(CacheError::Open)?;
        let metadata = folder.dir_metadata().map_err(CacheError::Open)?;
        if metadata.uid() != nix::unistd::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            return Err(CacheError::Exposed);
        }
        let (key, replaced) = InstallKey::open(&folder).map_err(CacheError::Key)?;
        let cache = Self { folder, key, alarms: AtomicU64::new(0) };
        if replaced {
            cache.alarm("key", "the key of the cache could not be trusted and was replaced");
        }
        Ok(cache)
    }

    /// Opens the folder, and creates it where it does not exist.
    fn open_folder(path: &Path) -> std::io::Result<Dir> {
        if let Ok(folder) = Dir::open_ambient_dir(path, ambient_authority()) {
            return Ok(folder);
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
        let mut private = DirBuilder::new();
        private.mode(0o700);
        match parent.create_dir_with(name, &private) {
            // Another process of this installation was first.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            created => created?,
        }
        parent.open_dir(name)
    }

    pub(crate) fn alarms(&self) -> u64 {
        self.alarms.load(Ordering::Relaxed)
    }

    fn alarm(&self, file: &str, reason: &str) {
        self.alarms.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(target: "portcullis::alarm", file, reason, "a file of the policy cache was not trusted");
    }

    /// Returns the entry of that key if there is one that this installation wrote. Anything else is removed.
    pub(crate) fn get(&self, kind: Kind, key: Digest) -> Option<Entry> {
        let name = kind.file_name(key);
        match self.read(&name, key) {
            Ok(entry) => Some(entry),
            Err(ReadError::Absent) => None,
            Err(error) => {
                self.alarm(&name, &error.to_string());
                if let Err(error) = self.folder.remove_file(&name) {
                    tracing::warn!(%error, file = name, "the file could not be removed");
                }
                None
            }
        }
    }

    fn read(&self, name: &str, key: Digest) -> Result<Entry, ReadError> {
        match file::read_own(&self.folder, name, LARGEST_ENTRY) {
            Ok(bytes) => Entry::open(bytes, key, &self.key).map_err(ReadError::Entry),
            Err(error) => {
                Err(if matches!(error, FileError::Absent) { ReadError::Absent } else { ReadError::File(error) })
            }
        }
    }

    /// Keeps an entry. Failing to is no error: the next start compiles again.
    pub(crate) fn put(&self, kind: Kind, key: Digest, without_snapshot: Option<&str>, code: &[u8]) {
        let sealed = Entry::seal(key, without_snapshot, code, &self.key);
        if let Err(error) = file::write_own(&self.folder, &kind.file_name(key), &sealed) {
            tracing::warn!(%error, "compiled code could not be kept");
            return;
        }
        self.make_room();
    }

    /// Removes the oldest entries beyond what is kept, and drafts whose writer was killed.
    fn make_room(&self) {
        let Ok(listed) = self.folder.entries() else { return };
        let mut entries: Vec<_> = listed
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let modified = entry.metadata().ok()?.modified().ok()?.into_std();
                if name.starts_with('.') && modified.elapsed().is_ok_and(|age| age > OLDEST_DRAFT) {
                    drop(self.folder.remove_file(&name));
                }
                Kind::ALL.iter().any(|kind| name.ends_with(kind.suffix())).then_some((modified, name))
            })
            .collect();
        entries.sort();
        let surplus = entries.len().saturating_sub(MOST_ENTRIES);
        for (_, name) in entries.into_iter().take(surplus) {
            drop(self.folder.remove_file(name));
        }
    }
}

/// Writing an entry takes less than a second.
const OLDEST_DRAFT: Duration = Duration::from_hours(1);

/// What an entry is for. The key says it too; the name only sorts the folder for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Code that judges.
    Policy,
    /// Code that is configured and then frozen.
    Draft,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Policy, Self::Draft];

    fn suffix(self) -> &'static str {
        match self {
            Self::Policy => ".policy",
            Self::Draft => ".draft",
        }
    }

    fn file_name(self, key: Digest) -> String {
        format!("{key}{}", self.suffix())
    }
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("there is none")]
    Absent,
    #[error("{0}")]
    File(FileError),
    #[error("{0}")]
    Entry(EntryError),
}
