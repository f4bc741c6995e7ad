//! The texts that are remembered, and how they are found again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState as Seeded;
use memchr::memmem;

use super::fingerprint::{SHORTEST, common_end, common_start, winnow};

/// Bytes of folded text that a session remembers: a few hundred pages. With fingerprints this is about 3 MiB.
pub(super) const MOST_TEXT: usize = 256 * 1024;

/// Bytes of folded text that all sessions of the process remember together, about 256 MiB with fingerprints.
const MOST_TEXT_OF_ALL: usize = 20 * 1024 * 1024;

/// Texts that a session remembers: each costs a few dozen bytes besides its own.
const MOST_PIECES: usize = 32 * 1024;

/// Labels are bits of a word; all policies together declare a handful.
const MOST_LABELS: usize = 32;

/// So many places of one fingerprint are compared, the latest text first: a phrase that stands everywhere is found soon.
const MOST_PLACES: usize = 32;

/// So many places of one fingerprint are kept of one text, its first ones: from there on what is found goes on longest. A
/// text that repeats itself cannot crowd out others, and is not compared over and over.
const MOST_PLACES_IN_TEXT: u32 = 16;

/// Bytes that are compared for one call; beyond it echoes may be missing. Two texts that share all of the bytes that are
/// looked at compare some dozen times as many, and comparing this much takes one to two milliseconds.
const MOST_COMPARED: usize = 16 * 1024 * 1024;

/// So far from either end of a common part the end of a word is looked for; longer words are compared by their bytes.
const LONGEST_WORD: usize = 256;

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
    /// Sets of labels that occur, each with its fingerprints: content of one kind cannot crowd out another.
    sets: Vec<(u32, Latest)>,
    /// Where a fingerprint stands, and the place of the same one before it.
    places: Vec<(u32, u32)>,
    /// Hashes of what is remembered already: a page that is read again takes no room.
    known: HashSet<u64>,
    /// Hashes of whole texts that were taken apart already: one that is read again takes no time.
    taken: HashSet<u64>,
    hasher: RandomState,
    full: bool,
}

/// The latest place of each fingerprint, as an index into the places. The seed differs between indices, so that no text
/// can be made whose fingerprints meet in the table.
type Latest = HashMap<u64, Place, Seeded>;

/// The latest place of a fingerprint, and how many of the text that it stands in are kept.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u32,
    in_text: u32,
}

/// What may still be compared for one call.
#[derive(Debug)]
pub(super) struct Effort(usize);

impl Default for Effort {
    fn default() -> Self {
        Self(MOST_COMPARED)
    }
}

impl Effort {
    /// Returns true where nothing more is compared.
    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }

    #[cfg(test)]
    pub(super) fn within(bytes: usize) -> Self {
        Self(bytes)
    }

    #[cfg(test)]
    pub(super) fn spent(&self) -> usize {
        MOST_COMPARED - self.0
    }

    fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
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
        let bytes = folded.as_bytes().get(..folded.len().min(self.room())).unwrap_or_default();
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
        let known = self.sets.iter().position(|(set, _)| *set == labels);
        let set = known.unwrap_or_else(|| {
            self.sets.push((labels, Latest::default()));
            self.sets.len() - 1
        });
        let Some((_, latest)) = self.sets.get_mut(set) else {
            return;
        };
        for (place, run) in winnow(bytes) {
            let before = latest.get(&run).copied();
            let stands_in = |place: &Place| self.places.get(place.number as usize).map(|(at, _)| *at as usize);
            let in_text = before.filter(|place| stands_in(place) >= Some(start)).map_or(0, |place| place.in_text);
            if in_text == MOST_PLACES_IN_TEXT {
                continue;
            }
            let number = u32::try_from(self.places.len()).unwrap_or(NOWHERE);
            latest.insert(run, Place { number, in_text: in_text + 1 });
            let place = u32::try_from(start + place).unwrap_or(NOWHERE);
            self.places.push((place, before.map_or(NOWHERE, |place| place.number)));
        }
    }

    /// Returns true where nothing more is remembered, whatever it is.
    pub(super) fn has_no_room(&self) -> bool {
        self.room() == 0 || self.pieces.len() == MOST_PIECES
    }

    /// Returns how many bytes of a text can still be remembered.
    pub(super) fn room(&self) -> usize {
        MOST_TEXT.saturating_sub(self.text.len() + 1)
    }

    /// Notes that a text is not remembered as a whole.
    pub(super) fn note_left_out(&mut self) {
        self.full = true;
    }

    /// Returns true the first time that a text of a source is to be taken apart, or where that is not known.
    pub(super) fn take(&mut self, text: &str, structured: bool, source: usize, labels: u32) -> bool {
        let hash = self.hasher.hash_one((text, structured, source, labels));
        if self.taken.len() < MOST_PIECES { self.taken.insert(hash) } else { !self.taken.contains(&hash) }
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
                // The next one begins where a word does not go on: each word is looked into once.
                let rest = start + 1..self.text.len();
                from = rest.clone().find(|index| !cuts_word(&self.text, *index)).unwrap_or(rest.end);
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
    pub(super) fn fragments(&self, text: &[u8], effort: &mut Effort) -> Vec<(Range<usize>, Hit)> {
        let mut found = Vec::new();
        if text.len() < SHORTEST {
            return found;
        }
        for (_, latest) in &self.sets {
            let mut next = 0;
            for (at, run) in winnow(text) {
                if effort.is_spent() {
                    return found;
                }
                // What two runs have in common with the same text is told once.
                let place = latest.get(&run).filter(|_| at >= next);
                if let Some((range, hit)) = place.and_then(|place| self.longest(text, at, *place, effort)) {
                    next = range.end;
                    found.push((range, hit));
                }
            }
        }
        found
    }

    fn longest(&self, text: &[u8], at: usize, latest: Place, effort: &mut Effort) -> Option<(Range<usize>, Hit)> {
        let mut longest: Option<(Range<usize>, Hit)> = None;
        let mut number = latest.number;
        for _ in 0..MOST_PLACES {
            let Some((place, before)) = self.places.get(number as usize) else {
                break;
            };
            let known = longest.as_ref().map_or(0, |(known, _)| known.len());
            if let Some(found) = self.common(text, at, *place as usize, known, effort) {
                longest = Some(found);
            }
            number = *before;
        }
        longest
    }

    /// Returns the whole common part around a run that both have, cut to whole words, where it is longer than one that is
    /// known.
    fn common(
        &self,
        text: &[u8],
        at: usize,
        place: usize,
        known: usize,
        effort: &mut Effort,
    ) -> Option<(Range<usize>, Hit)> {
        let (number, piece) = self.piece_at(place)?;
        let back = common_end(text.get(..at)?, self.text.get(piece.start..place)?);
        let length = common_start(text.get(at..)?, self.text.get(place..piece.end)?);
        effort.spend(back + length);
        let (start, end) = (at - back, at + length);
        if end - start <= known.max(SHORTEST - 1) {
            return None;
        }
        let offset = place.wrapping_sub(at);
        let source = |index: usize| index.wrapping_add(offset);
        let cuts = |index: usize| cuts_word(text, index) || cuts_word(&self.text, source(index));
        let space = |index: usize| text.get(index) == Some(&b' ');
        let begins = |index: &usize| !cuts(*index) && !space(*index);
        let first = (start..end.min(start + LONGEST_WORD)).find(begins);
        let ends = |index: &usize| !cuts(*index) && !index.checked_sub(1).is_some_and(space);
        let last = (start.max(end.saturating_sub(LONGEST_WORD))..=end).rev().find(ends);
        let long = end - start >= LONG;
        let range = match (first, last) {
            (Some(first), Some(last)) if last >= first + SHORTEST => first..last,
            (Some(first), None) if long && end >= first + LONGEST_WORD => first..end,
            (None, Some(last)) if long && last >= start + LONGEST_WORD => start..last,
            _ if long => start..end,
            _ => return None,
        };
        if range.len() <= known {
            return None;
        }
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
