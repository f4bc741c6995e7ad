//! The texts that are remembered, and how they are found again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memmem;

use super::fingerprint::{GRAM, SHORTEST, grams, winnow};

/// Bytes of folded text that a session remembers: a few hundred pages. With fingerprints this is about 2 MiB.
pub(super) const MOST_TEXT: usize = 256 * 1024;

/// Bytes of folded text that all sessions of the process remember together, about 256 MiB with fingerprints.
const MOST_TEXT_OF_ALL: usize = 32 * 1024 * 1024;

/// Texts that a session remembers: each costs a few dozen bytes besides its own.
const MOST_PIECES: usize = 32 * 1024;

/// Labels are bits of a word; all policies together declare a handful.
const MOST_LABELS: usize = 32;

/// So many places of one fingerprint are compared, the latest first: a phrase that stands everywhere is found soon.
const MOST_PLACES: usize = 32;

/// So many texts are told of one value, by kind of place.
const MOST_PROSE: usize = 8;
const MOST_LEAVES: usize = 2;

/// A fragment of this size counts even where it begins or ends within a word: part of a long token.
const LONG: usize = 16;

/// Bytes that all sessions hold.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// A remembered text.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    end: usize,
    source: usize,
    labels: u32,
    /// True for a leaf of structured data.
    structured: bool,
}

/// A place where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Number of the text.
    pub(super) piece: u32,
    /// False where it is a whole leaf of structured data.
    pub(super) prose: bool,
    /// Bytes of the source that matched, folded.
    pub(super) length: u32,
}

/// A label of a hit with its source.
pub(super) struct Told<'a> {
    pub(super) label: &'a str,
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
}

/// The texts of one session.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// All texts, each followed by a line break, which no folded text contains.
    text: Vec<u8>,
    pieces: Vec<Piece>,
    sources: Vec<(String, String)>,
    labels: Vec<String>,
    /// Sets of labels that occur. Fingerprints are kept apart by them: content of one kind cannot crowd out another.
    sets: Vec<u32>,
    /// The latest place of each fingerprint, as an index into `places`.
    latest: HashMap<(u32, u32), u32>,
    /// Where a fingerprint stands, and the place of the same one before it.
    places: Vec<(u32, u32)>,
    /// Hashes of what is remembered already: a page that is read again takes no room.
    known: HashSet<u64>,
    hasher: RandomState,
    full: bool,
}

const NOWHERE: u32 = u32::MAX;

impl Index {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns true where something was not remembered.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the number of a source.
    pub(super) fn source(&mut self, server: &str, tool: &str) -> usize {
        let known = self.sources.iter().position(|(known, name)| known == server && name == tool);
        known.unwrap_or_else(|| {
            if self.sources.len() == MOST_PIECES {
                self.full = true;
                return self.sources.len() - 1;
            }
            self.sources.push((server.to_owned(), tool.to_owned()));
            self.sources.len() - 1
        })
    }

    /// Returns labels as bits.
    pub(super) fn labels<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> u32 {
        let mut bits = 0;
        for name in names {
            let known = self.labels.iter().position(|known| known == name);
            let index = known.unwrap_or(self.labels.len());
            if known.is_none() {
                if index == MOST_LABELS {
                    self.full = true;
                    continue;
                }
                self.labels.push(name.to_owned());
            }
            bits |= 1 << index;
        }
        bits
    }

    /// Remembers a folded text.
    pub(super) fn add(&mut self, folded: &str, structured: bool, source: usize, labels: u32) {
        let known = self.hasher.hash_one((folded, structured, source, labels));
        if self.known.contains(&known) {
            return;
        }
        // Of a text that does not fit, the beginning is remembered.
        let room = MOST_TEXT.saturating_sub(self.text.len() + 1);
        let bytes = folded.as_bytes().get(..folded.len().min(room)).unwrap_or_default();
        self.full |= bytes.len() < folded.len();
        if bytes.is_empty() || self.pieces.len() == MOST_PIECES || !hold(bytes.len() + 1) {
            self.full = true;
            return;
        }
        self.known.insert(known);
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        let end = self.text.len();
        self.text.push(b'\n');
        self.pieces.push(Piece { start, end, source, labels, structured });
        if !self.sets.contains(&labels) {
            self.sets.push(labels);
        }
        for (place, hash) in winnow(bytes) {
            let number = u32::try_from(self.places.len()).unwrap_or(NOWHERE);
            let before = self.latest.insert((labels, hash), number).unwrap_or(NOWHERE);
            self.places.push((u32::try_from(start + place).unwrap_or(NOWHERE), before));
        }
    }

    /// Finds a value as a whole, between word boundaries: in how many texts, up to a few of each kind of place.
    pub(super) fn values(&self, value: &[u8]) -> Vec<Hit> {
        let finder = memmem::Finder::new(value);
        let mut hits = Vec::new();
        let (mut prose, mut leaves, mut from) = (0, 0, 0);
        while let Some(found) = self.text.get(from..).and_then(|rest| finder.find(rest)) {
            let (start, end) = (from + found, from + found + value.len());
            let Some((number, piece)) = self.piece_at(start) else {
                break;
            };
            if cuts_word(&self.text, start) || cuts_word(&self.text, end) {
                from = start + 1;
                continue;
            }
            from = piece.end;
            let is_leaf = piece.structured && start == piece.start && end == piece.end;
            let (count, most) = if is_leaf { (&mut leaves, MOST_LEAVES) } else { (&mut prose, MOST_PROSE) };
            if *count < most {
                *count += 1;
                hits.push(hit(number, !is_leaf, value.len()));
            }
            if prose == MOST_PROSE && leaves == MOST_LEAVES {
                break;
            }
        }
        hits
    }

    /// Finds the longest common parts of a text and what is remembered, for each set of labels on its own.
    pub(super) fn fragments(&self, text: &[u8]) -> Vec<(Range<usize>, Hit)> {
        let mut found = Vec::new();
        if text.len() < SHORTEST {
            return found;
        }
        for set in &self.sets {
            let mut next = 0;
            for (at, hash) in grams(text) {
                if at < next {
                    continue;
                }
                if let Some((range, hit)) = self.longest(text, at, *set, hash) {
                    next = range.end;
                    found.push((range, hit));
                }
            }
        }
        found
    }

    fn longest(&self, text: &[u8], at: usize, set: u32, hash: u32) -> Option<(Range<usize>, Hit)> {
        let mut longest: Option<(Range<usize>, Hit)> = None;
        let mut number = self.latest.get(&(set, hash)).copied().unwrap_or(NOWHERE);
        for _ in 0..MOST_PLACES {
            let Some((place, before)) = self.places.get(number as usize) else {
                break;
            };
            if let Some(found) = self.common(text, at, *place as usize)
                && longest.as_ref().is_none_or(|(known, _)| found.0.len() > known.len())
            {
                longest = Some(found);
            }
            number = *before;
        }
        longest
    }

    /// Returns the whole common part around a run that both have, cut to whole words.
    fn common(&self, text: &[u8], at: usize, place: usize) -> Option<(Range<usize>, Hit)> {
        let (number, piece) = self.piece_at(place)?;
        if text.get(at..at + GRAM)? != self.text.get(place..place + GRAM)? {
            return None;
        }
        let before = text.get(..at)?.iter().rev().zip(self.text.get(piece.start..place)?.iter().rev());
        let back = before.take_while(|(one, other)| one == other).count();
        let after = text.get(at..)?.iter().zip(self.text.get(place..piece.end)?);
        let length = after.take_while(|(one, other)| one == other).count();
        let (start, end) = (at - back, at + length);
        let offset = place.wrapping_sub(at);
        let source = |index: usize| index.wrapping_add(offset);
        let cuts = |index: usize| cuts_word(text, index) || cuts_word(&self.text, source(index));
        let space = |index: usize| text.get(index) == Some(&b' ');
        let first = (start..end).find(|index| !cuts(*index) && !space(*index)).unwrap_or(end);
        let ends = |index: &usize| !cuts(*index) && !index.checked_sub(1).is_some_and(space);
        let last = (first..=end).rev().find(ends).unwrap_or(first);
        let range = if last - first >= SHORTEST {
            first..last
        } else if end - start >= LONG {
            start..end
        } else {
            return None;
        };
        let is_leaf = piece.structured && source(range.start) == piece.start && source(range.end) == piece.end;
        let hit = hit(number, !is_leaf, range.len());
        Some((range, hit))
    }

    fn piece_at(&self, place: usize) -> Option<(usize, &Piece)> {
        let after = self.pieces.partition_point(|piece| piece.start <= place);
        let number = after.checked_sub(1)?;
        self.pieces.get(number).map(|piece| (number, piece))
    }

    /// Returns what a hit says, once for each label.
    pub(super) fn describe(&self, hit: Hit) -> impl Iterator<Item = Told<'_>> {
        let piece = self.pieces.get(hit.piece as usize);
        let source = piece.and_then(|piece| self.sources.get(piece.source));
        let bits = piece.map_or(0, |piece| piece.labels);
        let set = self.labels.iter().enumerate().filter(move |(index, _)| bits >> index & 1 == 1);
        set.filter_map(move |(_, label)| source.map(|(server, tool)| Told { label, server, tool }))
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        HELD.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

/// Counts bytes as held, unless all sessions together hold too many.
fn hold(bytes: usize) -> bool {
    let add = |held: usize| held.checked_add(bytes).filter(|held| *held <= MOST_TEXT_OF_ALL);
    HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

fn hit(number: usize, prose: bool, length: usize) -> Hit {
    Hit { piece: u32::try_from(number).unwrap_or(u32::MAX), prose, length: u32::try_from(length).unwrap_or(u32::MAX) }
}

/// Returns true where a cut at this place parts two characters of one word.
fn cuts_word(text: &[u8], at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    is_word(at.checked_sub(1).and_then(|before| text.get(before))) && is_word(text.get(at))
}
