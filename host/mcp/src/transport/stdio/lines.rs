//! From a stream of bytes to lines.

use std::io;
use std::ops::Range;

use portcullis_model::json::Limits;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::jsonrpc::{Recovered, Recovery};

/// The most bytes of a line that is kept, the line feed not counted: as much as the largest message may have.
pub const LINE_LIMIT: usize = Limits::WIRE.bytes;

/// So much of one line is skipped at most. Skipping takes no memory but time, and a line without an end is no line.
const SKIP_LIMIT: usize = 64 * LINE_LIMIT;

/// How much is read at once at first: a pipe holds 64 KiB on Linux.
const CHUNK: usize = 64 * 1024;

/// A buffer that grew beyond this for one large line is given back after it.
const KEPT_CAPACITY: usize = 1024 * 1024;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes, without the line feed and without white space around them. May be empty and need not be UTF-8.
    Text(&'a [u8]),
    /// It was longer than [`LINE_LIMIT`] and has been skipped; what could be made out of it.
    Oversize(Recovered),
}

/// Reads lines, keeping no more than one in memory.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// Where the current line begins.
    start: usize,
    /// Up to where the current line was searched for its end.
    searched: usize,
    /// Where the current line is too long, what was made out of it so far and how much was skipped.
    skipping: Option<(Recovery, usize)>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Wraps a stream.
    pub fn new(source: R) -> Self {
        Self { source, buffer: Vec::new(), start: 0, searched: 0, skipping: None }
    }

    /// Returns the next line, or nothing at the end. Dropping the future loses nothing.
    ///
    /// A last line without a line feed counts. Fails where reading does, and for a line without an end.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let range = loop {
            if let Some(range) = self.complete() {
                break range;
            }
            self.make_room()?;
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                if self.start == self.buffer.len() && self.skipping.is_none() {
                    return Ok(None);
                }
                let range = self.start..self.buffer.len();
                (self.start, self.searched) = (range.end, range.end);
                break range;
            }
        };
        let line = self.buffer.get(range).unwrap_or_default();
        if let Some((mut recovery, _)) = self.skipping.take() {
            recovery.feed(line);
            return Ok(Some(Line::Oversize(recovery.finish())));
        }
        if line.len() > LINE_LIMIT {
            let mut recovery = Recovery::default();
            recovery.feed(line);
            return Ok(Some(Line::Oversize(recovery.finish())));
        }
        Ok(Some(Line::Text(line.trim_ascii())))
    }

    /// Returns where the current line is, where its end has been read, and moves on behind it.
    fn complete(&mut self) -> Option<Range<usize>> {
        let Some(position) = memchr::memchr(b'\n', self.buffer.get(self.searched..)?) else {
            self.searched = self.buffer.len();
            return None;
        };
        let range = self.start..self.searched + position;
        (self.start, self.searched) = (range.end + 1, range.end + 1);
        Some(range)
    }

    /// Prepares the buffer for reading on: what is done with goes, and a line that is too long is not kept.
    fn make_room(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.len() > LINE_LIMIT || self.skipping.is_some() {
            let (recovery, skipped) = self.skipping.get_or_insert_with(Default::default);
            recovery.feed(&self.buffer);
            *skipped += self.buffer.len();
            self.buffer.clear();
            if *skipped > SKIP_LIMIT {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line has no end"));
            }
        }
        if self.buffer.len() < CHUNK && self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer.shrink_to(CHUNK);
        }
        self.searched = self.buffer.len();
        // Doubling keeps the copying of a large line linear; the limit above bounds it.
        self.buffer.reserve(CHUNK.max(self.buffer.len()));
        Ok(())
    }
}
