//! What a server writes to its standard error.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portcullis_model::Secret;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The most bytes of a line that are kept; the rest of it is dropped. Enough for a stack frame or a JSON log line.
const LONGEST_LINE: usize = 4096;
/// So many lines of the end are kept for error messages.
const TAIL_LINES: usize = 20;
/// So many lines may come at once, as when a server prints a stack trace or its help …
const BURST: u32 = 500;
/// … and so many a second in the long run. A log that grows faster helps nobody and fills the disk.
const PER_SECOND: u32 = 100;

/// Values shorter than this are not looked for: `true` and `8080` would blacken every line and are no secrets.
const SHORTEST_SECRET: usize = 8;

/// Where the lines go: a file, the peer. Must not block for long: it runs in the task that reads.
pub trait StderrSink: Send + Sync + fmt::Debug {
    /// Takes a line: at most 4 KiB, invalid UTF-8 replaced, control characters still in it.
    fn line(&self, line: &str);
    /// Is told that lines were dropped because too many came at once.
    fn dropped(&self, count: u64);
}

/// The last lines of a server's standard error.
#[derive(Clone, Debug, Default)]
pub struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    /// Returns the lines, oldest first: foreign text, to be escaped where it is shown.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }
}

/// Reads standard error to its end, hands lines on within a rate and keeps the last ones.
#[derive(Debug)]
pub struct Stderr {
    sinks: Vec<Arc<dyn StderrSink>>,
    tail: Tail,
    secrets: Vec<(String, Secret)>,
    allowance: Allowance,
    line: Vec<u8>,
}

impl Stderr {
    /// Prepares reading. Each of the secrets, which are the server's own variables, is replaced by its name.
    pub fn new(sinks: Vec<Arc<dyn StderrSink>>, tail: Tail, mut secrets: Vec<(String, Secret)>) -> Self {
        secrets.retain(|(_, value)| value.expose().len() >= SHORTEST_SECRET);
        // A value may hold another one; the longer goes first, or else its rest would stay.
        secrets.sort_by_key(|(_, value)| std::cmp::Reverse(value.expose().len()));
        Self { sinks, tail, secrets, allowance: Allowance::new(), line: Vec::new() }
    }

    /// Reads to the end. It must be polled for as long as the server runs, or else the server blocks on its pipe.
    pub async fn read(mut self, mut source: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8192];
        while let Ok(count @ 1..) = source.read(&mut buffer).await {
            let mut rest = buffer.get(..count).unwrap_or_default();
            while let Some(position) = memchr::memchr(b'\n', rest) {
                let (piece, behind) = rest.split_at(position);
                self.append(piece);
                self.end_line();
                rest = behind.get(1..).unwrap_or_default();
            }
            self.append(rest);
        }
        if !self.line.is_empty() {
            self.end_line();
        }
        self.report_dropped();
    }

    fn append(&mut self, piece: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !self.allowance.take() {
            return;
        }
        self.report_dropped();
        let text = String::from_utf8_lossy(&line);
        let text = self.masked(text.strip_suffix('\r').unwrap_or(&text));
        self.tail.push(&text);
        self.sinks.iter().for_each(|sink| sink.line(&text));
    }

    fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for (name, value) in &self.secrets {
            if masked.contains(value.expose()) {
                masked = masked.replace(value.expose(), &format!("[value of {name}]")).into();
            }
        }
        masked
    }

    fn report_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.allowance.dropped);
        if dropped > 0 {
            self.sinks.iter().for_each(|sink| sink.dropped(dropped));
        }
    }
}

/// A token bucket.
#[derive(Debug)]
struct Allowance {
    tokens: u32,
    filled: Instant,
    dropped: u64,
}

impl Allowance {
    fn new() -> Self {
        Self { tokens: BURST, filled: Instant::now(), dropped: 0 }
    }

    fn take(&mut self) -> bool {
        let elapsed = self.filled.elapsed();
        let due = u32::try_from(elapsed.as_millis() * u128::from(PER_SECOND) / 1000).unwrap_or(u32::MAX);
        if due > 0 {
            self.tokens = self.tokens.saturating_add(due).min(BURST);
            self.filled += elapsed.min(Duration::from_millis(u64::from(due) * 1000 / u64::from(PER_SECOND)));
        }
        if self.tokens == 0 {
            self.dropped += 1;
            return false;
        }
        self.tokens -= 1;
        true
    }
}
