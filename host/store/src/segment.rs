//! The files that records are appended to before they are in the database.
//!
//! A segment belongs to one chain and is locked by the process that writes it, so that others know whether it lives.
//! It is a header (see [`Header`]) and frames: the length of the body as 4 bytes, the highest first, the body, and the
//! hash of the chain up to it (32 bytes). Segments are named by their chain and number and only ever grow.

mod frames;

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use portcullis_model::Digest;

use crate::chain::{ChainId, Link};

pub(crate) use frames::{LONGEST_BODY, Next, append_attachment, append_frame, next_frame};

const MAGIC: &[u8; 8] = b"PCLSJNL1";

/// Bytes of a header.
pub(crate) const HEADER: usize = 80;

/// How the names of segments end.
const ENDING: &str = ".segment";

/// How the name of a segment ends that is not whole yet.
const UNFINISHED: &str = ".new";

/// What stands at the start of a segment: magic, flags (bit 0: it survives a power cut), chain, number, and the place in
/// the chain before its first record. Numbers are 8 bytes, the highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) chain: ChainId,
    /// Counts the segments of a chain up from 0.
    pub(crate) number: u64,
    pub(crate) before: Link,
    /// True where records are acknowledged once they would survive a power cut; so must what replaces the segment.
    pub(crate) power: bool,
}

impl Header {
    fn to_bytes(self) -> Vec<u8> {
        [
            &MAGIC[..],
            &u64::from(self.power).to_be_bytes(),
            self.chain.as_bytes(),
            &self.number.to_be_bytes(),
            &self.before.sequence.to_be_bytes(),
            self.before.hash.as_bytes(),
        ]
        .concat()
    }

    /// Reads a header, or nothing where the bytes are none.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (magic, bytes) = bytes.split_first_chunk::<8>()?;
        let (flags, bytes) = bytes.split_first_chunk::<8>()?;
        let (chain, bytes) = bytes.split_first_chunk::<16>()?;
        let (number, bytes) = bytes.split_first_chunk::<8>()?;
        let (sequence, bytes) = bytes.split_first_chunk::<8>()?;
        let (hash, _) = bytes.split_first_chunk::<32>()?;
        (magic == MAGIC).then(|| Self {
            chain: ChainId::from_bytes(*chain),
            number: u64::from_be_bytes(*number),
            before: Link { sequence: u64::from_be_bytes(*sequence), hash: Digest::from_bytes(*hash) },
            power: u64::from_be_bytes(*flags) & 1 == 1,
        })
    }
}

/// Returns the name of a segment.
pub(crate) fn name(chain: ChainId, number: u64) -> String {
    format!("{chain}-{number:08}{ENDING}")
}

/// Returns which segment a file name means, or nothing where it is none.
pub(crate) fn parse_name(name: &str) -> Option<(ChainId, u64)> {
    let (chain, number) = name.strip_suffix(ENDING)?.split_once('-')?;
    Some((ChainId::parse(chain)?, number.parse().ok()?))
}

/// Returns true where a file name is that of a segment that is not whole yet.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).is_some_and(|name| parse_name(name).is_some())
}

/// Creates a segment with mode 0600, locked for this process. It appears under its name once it is locked and whole, so
/// that nobody takes it for one that was left behind.
pub(crate) fn create(folder: &Path, header: Header) -> io::Result<File> {
    let path = folder.join(name(header.chain, header.number));
    let unfinished = folder.join(name(header.chain, header.number) + UNFINISHED);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&unfinished)?;
    let whole = file
        .try_lock()
        .map_err(io::Error::from)
        .and_then(|()| write_all_at(&file, &header.to_bytes(), 0))
        .and_then(|()| if header.power { file.sync_all() } else { Ok(()) })
        .and_then(|()| std::fs::rename(&unfinished, &path));
    if let Err(error) = whole {
        // Whatever is left of it is removed once it is old.
        let _gone = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    if header.power {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Opens a segment of any process for reading, following no link.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NOFOLLOW);
    options.open(path)
}

/// Returns true where the process that wrote a segment has ended; then this one holds it until the file is closed.
pub(crate) fn take_over(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Writes bytes at a place.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Reads up to so many bytes from a place; fewer only at the end.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match std::os::unix::fs::FileExt::read_at(file, rest, offset) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(not(unix))]
pub(crate) fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek as _, Write as _};

    file.seek(io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

#[cfg(not(unix))]
pub(crate) fn read_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read as _, Seek as _};

    file.seek(io::SeekFrom::Start(offset))?;
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let chain = ChainId::from_bytes([3; 16]);
        let header = Header { chain, number: 9, before: Link::start(chain).next(b"x"), power: true };
        assert_eq!(header.to_bytes().len(), HEADER);
        assert_eq!(Header::parse(&header.to_bytes()), Some(header));
        assert_eq!(Header::parse(&[0; HEADER]), None);
        assert_eq!(Header::parse(&header.to_bytes()[..HEADER - 1]), None);
    }

    #[test]
    fn a_segment_is_told_from_other_files_by_its_name() {
        let chain = ChainId::from_bytes([0xab; 16]);
        assert_eq!(parse_name(&name(chain, 12)), Some((chain, 12)));
        assert!(is_unfinished(&(name(chain, 12) + UNFINISHED)));
        assert!(!is_unfinished(&name(chain, 12)));
        for other in ["portcullis.db", "x.segment", "ab-1.segment", "notes.new"] {
            assert_eq!((parse_name(other), is_unfinished(other)), (None, false), "{other}");
        }
    }

    #[test]
    fn a_segment_has_one_owner_while_its_process_lives() {
        let folder = tempfile::tempdir().unwrap();
        let chain = ChainId::random().unwrap();
        let header = Header { chain, number: 0, before: Link::start(chain), power: false };
        let owned = create(folder.path(), header).unwrap();
        let path = folder.path().join(name(chain, 0));
        assert!(!take_over(&open(&path).unwrap()).unwrap());
        drop(owned);
        assert!(take_over(&open(&path).unwrap()).unwrap());
    }
}
