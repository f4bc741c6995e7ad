//! The first stage: records are appended to a segment by whoever wants them written.
//!
//! With durability `process` a record is done once one write put it into the system's page cache, which a kill of the
//! process does not touch: no thread is woken and no disk is waited for. With `power`, a thread of its own flushes what was
//! written and wakes all that wait at once (see [`flush`]).

mod flush;
mod lineups;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use portcullis_gates::{JournalError, Judged, Record};
use portcullis_model::Digest;
use tokio::sync::oneshot;

use crate::chain::{ChainId, Head, Link};
use crate::payload::LastSealed;
use crate::segment::{self, HEADER, Header, append_attachment, append_frame};
use crate::{Durability, PayloadKey, encode, lock};
use flush::Flusher;
use lineups::Lineups;

/// A record could not be appended; nothing of it is in the chain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppendError {
    /// The segment cannot be created: the disk is full, the folder is gone.
    #[error("a segment of the journal could not be created in `{folder}`")]
    Create {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The record cannot be written: the disk is full.
    #[error("the segment of the journal could not be written")]
    Write(#[source] io::Error),
    /// So much waits for the database that more would fill the disk.
    #[error("{backlog} bytes of records wait for the database, which cannot be written")]
    Backlog { backlog: u64 },
    /// A policy answered more than fits.
    #[error("the record is longer than a record may be")]
    TooLong,
    /// The disk failed earlier; what it has is unknown, so nothing more is promised.
    #[error("the disk failed to keep earlier records")]
    DiskFailed,
}

/// Bounds of the first stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// A segment that has so many bytes is followed by another.
    pub(crate) segment: u64,
    /// So many bytes wait for the database at most.
    pub(crate) backlog: u64,
}

impl Default for Bounds {
    /// Segments of 8 MiB: about 16,000 records, so that creating one is paid rarely and what was absorbed does not stay on
    /// the disk for long. A backlog of 256 MiB: half a million records, minutes of traffic at full speed while the
    /// database cannot be written; then the gates shut instead of the disk running full.
    fn default() -> Self {
        Self { segment: 8 << 20, backlog: 256 << 20 }
    }
}

/// Appends records to the chain of this process.
#[derive(Debug)]
pub(crate) struct Appender {
    folder: PathBuf,
    bounds: Bounds,
    state: Mutex<State>,
    /// Present where records must survive a power cut.
    flusher: Option<Flusher>,
    /// Present where what policies were told is kept.
    payload_key: OnceLock<Arc<PayloadKey>>,
    appended: AtomicU64,
    absorbed: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// Nothing before the first record: whoever only reads leaves no chain behind.
    open: Option<Open>,
    /// How far other chains were known when this one was last joined to them.
    heads: Vec<Head>,
    lineups: Lineups,
    sealed: LastSealed,
    /// Kept for their capacity.
    body: Vec<u8>,
    frames: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    chain: ChainId,
    file: Arc<File>,
    number: u64,
    end: u64,
    link: Link,
}

/// When a record that was appended is done.
pub(crate) enum Appended {
    /// Now.
    Done,
    /// Once the disk has it.
    Flushing(oneshot::Receiver<Result<(), JournalError>>),
}

impl Appender {
    /// Prepares a chain that will be joined to the given heads. `folder` is where its segments go.
    pub(crate) fn new(folder: PathBuf, durability: Durability, bounds: Bounds, heads: Vec<Head>) -> io::Result<Self> {
        let flusher = match durability {
            Durability::Process => None,
            Durability::Power => Some(Flusher::start()?),
        };
        let state = State {
            open: None,
            heads,
            lineups: Lineups::default(),
            sealed: LastSealed::default(),
            body: Vec::new(),
            frames: Vec::new(),
        };
        let (appended, absorbed) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { folder, bounds, state: Mutex::new(state), flusher, payload_key: OnceLock::new(), appended, absorbed })
    }

    /// Appends a passage.
    pub(crate) fn append(&self, record: &Record) -> Result<Appended, AppendError> {
        self.write(record.at, |state, link| {
            let State { lineups, sealed, body, frames, .. } = state;
            let mut lineup = None;
            if !record.policies.is_empty() {
                let (digest, text) = lineups.name(&record.policies);
                if let Some(text) = text {
                    body.clear();
                    encode::lineup_record(body, record.at, &text);
                    *link = link.next(body);
                    append_frame(frames, body, link)?;
                }
                lineup = Some(digest);
            }
            let payload = match (record.inputs.as_slice(), self.payload_key.get()) {
                ([], _) | (_, None) => None,
                (inputs, Some(key)) => payload(key, inputs, sealed, frames),
            };
            body.clear();
            encode::passage(body, record, lineup.as_ref(), payload.as_ref());
            *link = link.next(body);
            append_frame(frames, body, link)
        })
    }

    /// Keeps what policies were told from now on, sealed with this key.
    pub(crate) fn keep_payloads(&self, key: Arc<PayloadKey>) {
        // The first key stays: there is one an installation.
        let _known = self.payload_key.set(key);
    }

    /// Joins other chains to this one, where there is one: whoever cuts their end off afterwards contradicts it.
    pub(crate) fn join(&self, heads: Vec<Head>) -> Result<(), AppendError> {
        let mut state = lock(&self.state);
        let Some(own) = state.open.as_ref().map(|open| open.chain) else {
            state.heads = heads;
            return Ok(());
        };
        let others = |heads: &[Head]| -> Vec<Head> { heads.iter().filter(|head| head.chain != own).copied().collect() };
        if others(&heads) == others(&state.heads) {
            return Ok(());
        }
        state.heads = heads;
        drop(state);
        let now = SystemTime::now();
        self.write(now, |state, link| {
            state.body.clear();
            encode::heads_record(&mut state.body, now, &others(&state.heads));
            *link = link.next(&state.body);
            append_frame(&mut state.frames, &state.body, link)
        })
        .map(drop)
    }

    /// Returns how many bytes were appended so far. All of them are in the segments.
    pub(crate) fn appended(&self) -> u64 {
        self.appended.load(Ordering::Acquire)
    }

    /// Notes that so many bytes of all that were appended are in the database, unless the chain is among those that could
    /// not be read.
    pub(crate) fn absorbed(&self, bytes: u64, unread: &[ChainId]) {
        let own = lock(&self.state).open.as_ref().map(|open| open.chain);
        if !own.is_some_and(|chain| unread.contains(&chain)) {
            self.absorbed.fetch_max(bytes, Ordering::AcqRel);
        }
    }

    /// Returns how many bytes wait for the database.
    pub(crate) fn backlog(&self) -> u64 {
        self.appended().saturating_sub(self.absorbed.load(Ordering::Acquire))
    }

    /// Ends the chain: its segment is free to be taken over.
    pub(crate) fn close(&self) {
        lock(&self.state).open = None;
    }

    /// Writes the frames of a moment in one go, or nothing.
    fn write(
        &self,
        at: SystemTime,
        frame: impl FnOnce(&mut State, &mut Link) -> Option<()>,
    ) -> Result<Appended, AppendError> {
        let backlog = self.backlog();
        if backlog > self.bounds.backlog {
            return Err(AppendError::Backlog { backlog });
        }
        let mut state = lock(&self.state);
        if self.flusher.as_ref().is_some_and(Flusher::has_failed) {
            return Err(AppendError::DiskFailed);
        }
        let state = &mut *state;
        state.frames.clear();
        let Open { file, end, mut link, .. } = self.open(state, at)?;
        if frame(state, &mut link).is_none() {
            state.lineups.forget();
            state.sealed.forget();
            return Err(AppendError::TooLong);
        }
        if let Err(error) = segment::write_all_at(&file, &state.frames, end) {
            state.lineups.forget();
            state.sealed.forget();
            // Readers stop at the last whole frame; the next record is written over what is left of this one.
            let _kept = file.set_len(end);
            return Err(AppendError::Write(error));
        }
        let length = state.frames.len() as u64;
        if let Some(open) = &mut state.open {
            open.end = end.saturating_add(length);
            open.link = link;
        }
        self.appended.fetch_add(length, Ordering::AcqRel);
        Ok(match &self.flusher {
            None => Appended::Done,
            Some(flusher) => Appended::Flushing(flusher.flush(&file)),
        })
    }

    /// Returns where the next frame goes. Begins a chain or another segment where there is need.
    fn open(&self, state: &mut State, at: SystemTime) -> Result<Open, AppendError> {
        let power = self.flusher.is_some();
        let create = |header: Header| {
            segment::create(&self.folder, header)
                .map(Arc::new)
                .map_err(|source| AppendError::Create { folder: self.folder.clone(), source })
        };
        match &mut state.open {
            Some(open) if open.end >= self.bounds.segment => {
                let number = open.number.saturating_add(1);
                open.file = create(Header { chain: open.chain, number, before: open.link, power })?;
                (open.number, open.end) = (number, HEADER as u64);
            }
            Some(_) => {}
            None => {
                let chain =
                    ChainId::random().map_err(|source| AppendError::Create { folder: self.folder.clone(), source })?;
                let start = Link::start(chain);
                let file = create(Header { chain, number: 0, before: start, power })?;
                state.body.clear();
                encode::heads_record(&mut state.body, at, &state.heads);
                let link = start.next(&state.body);
                append_frame(&mut state.frames, &state.body, &link).ok_or(AppendError::TooLong)?;
                let open = Open { chain, file, number: 0, end: HEADER as u64, link };
                segment::write_all_at(&open.file, &state.frames, open.end).map_err(AppendError::Write)?;
                let length = std::mem::take(&mut state.frames).len() as u64;
                self.appended.fetch_add(length, Ordering::AcqRel);
                state.open = Some(Open { end: open.end + length, ..open });
            }
        }
        match &state.open {
            Some(Open { chain, file, number, end, link }) => {
                Ok(Open { chain: *chain, file: Arc::clone(file), number: *number, end: *end, link: *link })
            }
            None => Err(AppendError::DiskFailed),
        }
    }
}

/// Appends the payload of a passage, unless it is the last one, and returns its name. A passage whose payload cannot be kept
/// is recorded without: it can be explained no more, and is as safe.
fn payload(key: &PayloadKey, inputs: &[Arc<Judged>], last: &mut LastSealed, frames: &mut Vec<u8>) -> Option<Digest> {
    if let Some(digest) = last.find(inputs) {
        return Some(digest);
    }
    let sealed = match key.seal(inputs) {
        Ok(sealed) => sealed,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "a payload was not kept");
            return None;
        }
    };
    let digest = Digest::of(&sealed);
    append_attachment(frames, &sealed, &digest)?;
    last.remember(inputs, digest);
    Some(digest)
}

#[cfg(test)]
mod tests;
