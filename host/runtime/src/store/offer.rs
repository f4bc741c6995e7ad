//! Files from elsewhere, offered to the policies folder: taken whole where all of them would count, else left alone.

use std::io;
use std::path::Path;
use std::time::Instant;

use portcullis_gates::Gates;

use super::folder::{self, FileError};
use super::update::Tried;
use super::{PolicyEvent, PolicyStore, lock};

/// What is offered changes nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// The config names no folder that it could be put into.
    #[error("no policies folder is configured")]
    NoFolder,
    /// The folder with what is offered could not be read.
    #[error("what is offered could not be read")]
    Read(#[source] FileError),
    /// Something of it would be refused, or because of it.
    #[error("`{what}`: {reason}")]
    Refused {
        /// The file or policy.
        what: String,
        /// Why, with its causes.
        reason: String,
    },
    /// It could not be put into the policies folder.
    #[error("what is offered could not be put into the policies folder")]
    Move(#[source] io::Error),
}

impl PolicyStore {
    /// Takes the files of a folder into the policies folder and publishes what comes of it, provided that nothing would be
    /// refused because of them: a wrong key, an older version, or a module that does not load leave everything as it is, on
    /// the disk too. Returns the generation of the set, or nothing where none had to be published. Both folders must be on
    /// one file system.
    ///
    /// Blocks for as long as compiling takes.
    pub fn offer(&self, gates: &Gates, offered: &Path) -> Result<Option<u64>, OfferError> {
        let updating = lock(&self.updating);
        let into = self.folder().ok_or(OfferError::NoFolder)?;
        let files = folder::files(offered).map_err(OfferError::Read)?;
        let tried = self.would_count(offered, &files)?;
        move_files(offered, &into, &files).map_err(OfferError::Move)?;
        if !self.commit(tried) {
            return Ok(None);
        }
        let publishing = Instant::now();
        let generation = gates.publish(self.lock().set());
        self.lock().pipelines.published(publishing.elapsed(), generation);
        drop(updating);
        self.tell(PolicyEvent::Published { generation });
        Ok(Some(generation))
    }

    /// Finds out what would be there with these files, unless something would be refused because of them.
    pub(super) fn would_count(&self, offered: &Path, files: &[String]) -> Result<Tried, OfferError> {
        let tried = self.try_out(Some(offered));
        let is_of_it = |what: &str| {
            files
                .iter()
                .any(|file| file == what || folder::policy_of(file).is_some_and(|policy| policy.as_str() == what))
        };
        // What was refused before and has nothing to do with it is no reason.
        let refusal = tried.refused().iter().find(|refusal| is_of_it(&refusal.0) || !tried.was_refused(refusal));
        if let Some((what, reason)) = refusal {
            return Err(OfferError::Refused { what: what.clone(), reason: reason.clone() });
        }
        Ok(tried)
    }
}

/// Moves files by renaming, signatures first: the file that a signature is of is never there without it. Signatures of former
/// files go, which would say that the new ones were changed.
pub(super) fn move_files(from: &Path, into: &Path, files: &[String]) -> io::Result<()> {
    std::fs::create_dir_all(into)?;
    let mut files: Vec<&String> = files.iter().collect();
    files.sort_by_key(|file| folder::signed_by(file).is_none());
    let is_former = |name: &String| {
        !files.contains(&name) && folder::signed_by(name).is_some_and(|signed| files.contains(&&signed))
    };
    let there = folder::files(into).map_err(io::Error::other)?;
    for former in there.iter().filter(|name| is_former(name)) {
        std::fs::remove_file(into.join(former))?;
    }
    files.iter().try_for_each(|file| std::fs::rename(from.join(file), into.join(file)))
}
