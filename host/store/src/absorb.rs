//! The second stage: records move from segments into the database.
//!
//! The process that writes a chain absorbs it in batches, and so does whoever reads the journal, for every chain of the
//! home: what a process left behind when it was killed, and what a living one has not moved yet. Who is first does not
//! matter: the database knows how far each chain is absorbed, in the same transaction that adds the rows. A segment is
//! removed when all of it is absorbed and nobody appends to it any more.

mod rows;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crate::chain::{ChainId, Link};
use crate::segment::{self, HEADER, Header, Next, next_frame};
use crate::writer::{Patience, Writer};
use crate::{StoreError, lock};
use rows::Position;
pub(crate) use rows::{Kind, heads, link};

/// Bytes that are read and absorbed in one transaction, where no record is longer: about 1,000 records and five
/// milliseconds, which is what another process of the home waits for at most.
const BATCH: usize = 512 << 10;

/// A segment that was never finished is removed after this time: its process was killed between two system calls, or is
/// about to finish it.
const UNFINISHED: Duration = Duration::from_mins(10);

/// How the name of a segment ends that holds something which cannot be read.
const DAMAGED: &str = "damaged";

/// Moves records from segments into the database.
#[derive(Debug)]
pub(crate) struct Absorber {
    folder: PathBuf,
    /// Kept for its capacity.
    buffer: Vec<u8>,
}

/// A segment that was found.
struct Found {
    path: PathBuf,
    chain: ChainId,
    number: u64,
    /// True where the chain goes on in another segment.
    followed: bool,
}

impl Absorber {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, buffer: Vec::new() }
    }

    /// Absorbs all that is in the segments of the home. One that cannot be read harms none of the others: its chain is
    /// returned. A database that cannot be written ends the work, and what is left is absorbed later.
    pub(crate) fn absorb(&mut self, writer: &Mutex<Writer>) -> Result<Vec<ChainId>, StoreError> {
        let found =
            found(&self.folder).map_err(|source| StoreError::Segments { folder: self.folder.clone(), source })?;
        let mut unread = Vec::new();
        for segment in found {
            match self.absorb_segment(writer, &segment) {
                Ok(()) => {}
                Err(Trouble::Database(error)) => return Err(error.into()),
                Err(Trouble::File(error)) => {
                    tracing::error!(
                        path = %segment.path.display(),
                        error = &error as &dyn std::error::Error,
                        "a segment of the journal cannot be read: its records are missing until it can"
                    );
                    unread.push(segment.chain);
                }
            }
        }
        Ok(unread)
    }

    /// Returns how many segments were left aside.
    pub(crate) fn damaged(&self) -> Result<usize, StoreError> {
        let failed = |source| StoreError::Segments { folder: self.folder.clone(), source };
        let is_damaged = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|ending| ending == DAMAGED);
        Ok(std::fs::read_dir(&self.folder).map_err(failed)?.flatten().filter(is_damaged).count())
    }

    fn absorb_segment(&mut self, writer: &Mutex<Writer>, segment: &Found) -> Result<(), Trouble> {
        let file = match segment::open(&segment.path) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        // Asked before reading: what its process wrote until it ended is all there.
        let ended = segment::take_over(&file)? || segment.followed;
        let Some(header) = self.header(&file, segment)? else {
            return if ended { leave_aside(segment, "it does not begin as a segment does") } else { Ok(()) };
        };
        let mut writer = lock(writer);
        let before = writer.synchronize(header.power)?;
        let absorbed = self.absorb_frames(&mut writer, &file, header);
        writer.synchronize(before || header.power && absorbed.is_err())?;
        drop(writer);
        let rest = absorbed?;
        if !ended {
            return Ok(());
        }
        match rest {
            Rest::Nothing => {}
            Rest::Torn(bytes) => tracing::warn!(
                chain = %segment.chain,
                bytes,
                "the last record of a process that was killed was not whole: it was never acknowledged"
            ),
            Rest::Damaged => return leave_aside(segment, "a record in it was changed"),
        }
        remove(&segment.path)
    }

    fn header(&mut self, file: &File, segment: &Found) -> io::Result<Option<Header>> {
        self.buffer.resize(HEADER, 0);
        let length = segment::read_at(file, &mut self.buffer, 0)?;
        self.buffer.truncate(length);
        let fits = |header: &Header| header.chain == segment.chain && header.number == segment.number;
        Ok(Header::parse(&self.buffer).filter(fits))
    }

    /// Absorbs whole frames, and returns what stands behind them.
    fn absorb_frames(&mut self, writer: &mut Writer, file: &File, header: Header) -> Result<Rest, Trouble> {
        let mut wanted = BATCH;
        loop {
            let mut failed = None;
            let step = writer.transact(Patience::Full, |connection| {
                let mut position = Position::of(connection, &header)?;
                if position.segment > header.number {
                    return Ok(Step::End(Rest::Nothing));
                }
                self.buffer.resize(wanted, 0);
                match segment::read_at(file, &mut self.buffer, position.offset) {
                    Ok(length) => self.buffer.truncate(length),
                    Err(error) => {
                        failed = Some(error);
                        return Ok(Step::End(Rest::Nothing));
                    }
                }
                let is_last = self.buffer.len() < wanted;
                let mut bytes = self.buffer.as_slice();
                let mut inserted = false;
                let stopped = loop {
                    match next_frame(bytes, &position.link) {
                        Next::Record { body, link, length } => {
                            position.insert(connection, body, link)?;
                            position.offset += length as u64;
                            inserted = true;
                            bytes = bytes.get(length..).unwrap_or_default();
                        }
                        Next::Attachment { bytes: attached, digest, length } => {
                            rows::insert_payload(connection, &digest, attached)?;
                            position.offset += length as u64;
                            inserted = true;
                            bytes = bytes.get(length..).unwrap_or_default();
                        }
                        Next::Partial(needed) => break Stopped::Partial(needed),
                        Next::Damaged => break Stopped::Damaged,
                    }
                };
                if inserted {
                    position.save(connection)?;
                }
                Ok(match stopped {
                    Stopped::Partial(_) if is_last => Step::End(match bytes.len() {
                        0 => Rest::Nothing,
                        length => Rest::Torn(length),
                    }),
                    Stopped::Partial(needed) => Step::Again(needed),
                    // A system that lost power can leave a tail of zeros.
                    Stopped::Damaged if is_last && bytes.iter().all(|byte| *byte == 0) => {
                        Step::End(Rest::Torn(bytes.len()))
                    }
                    Stopped::Damaged => Step::End(Rest::Damaged),
                })
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            match step {
                Step::Again(needed) => wanted = BATCH.max(needed),
                Step::End(rest) => return Ok(rest),
            }
        }
    }
}

enum Stopped {
    Partial(usize),
    Damaged,
}

enum Step {
    /// More can be read; so many bytes at least.
    Again(usize),
    End(Rest),
}

/// What stands behind the last whole frame.
#[derive(Clone, Copy, Debug)]
enum Rest {
    Nothing,
    /// So many bytes of a frame whose end is missing.
    Torn(usize),
    /// Something that is no frame of this chain.
    Damaged,
}

enum Trouble {
    File(io::Error),
    Database(rusqlite::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// Returns the segments of a folder, those of a chain in their order. Removes what was never finished.
fn found(folder: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        if let Some((chain, number)) = segment::parse_name(name) {
            found.push(Found { path: entry.path(), chain, number, followed: false });
        } else if segment::is_unfinished(name) && is_old(&entry) {
            remove(&entry.path()).map_err(|trouble| match trouble {
                Trouble::File(error) => error,
                Trouble::Database(_) => io::Error::other("the database is not involved"),
            })?;
        }
    }
    found.sort_unstable_by_key(|segment| (segment.chain, segment.number));
    let mut later: Option<ChainId> = None;
    for segment in found.iter_mut().rev() {
        segment.followed = later.replace(segment.chain) == Some(segment.chain);
    }
    Ok(found)
}

fn is_old(entry: &std::fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > UNFINISHED))
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => Ok(removed?),
    }
}

/// Keeps a segment that cannot be read to its end, under another name: what follows the damage may matter to somebody.
fn leave_aside(segment: &Found, why: &str) -> Result<(), Trouble> {
    let aside = segment.path.with_extension(DAMAGED);
    tracing::error!(path = %aside.display(), why, "a segment of the journal is damaged: records may be missing");
    std::fs::rename(&segment.path, &aside)?;
    Ok(())
}

/// The place before the records of a segment, where the database knows nothing of its chain.
fn start_of(header: &Header) -> (Link, u64) {
    (header.before, HEADER as u64)
}
