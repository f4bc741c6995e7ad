//! The text as a reader takes it: hidden characters off, look-alikes folded, entities and escapes resolved.

mod entity;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use crate::fold::{Fold, fold, is_overlay};
use crate::hidden::{self, Kind};

/// A text after normalisation, with the way back to the bytes it came from.
#[derive(Clone, Debug)]
pub struct Normal<'a> {
    text: Cow<'a, str>,
    /// Where the distance between both texts changes: (offset here, offset in the original), ascending.
    runs: Vec<(u32, u32)>,
    mixed: Option<Range<usize>>,
    overlays: usize,
    escaped: Option<Range<usize>>,
}

impl<'a> Normal<'a> {
    /// Normalises `text`. Plain ASCII without entities or escapes is borrowed as it is.
    pub fn new(text: &'a str) -> Self {
        if is_wholly_ordinary(text) || hidden::is_plain(text) && !entity::may_occur(text) {
            return Self { text: Cow::Borrowed(text), runs: Vec::new(), mixed: None, overlays: 0, escaped: None };
        }
        Writer::new(text).run()
    }

    /// The normalised text. Case is kept; words compare without regard to it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Translates a range of the normalised text to the original's bytes.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.position(range.start);
        // The end is found from the last byte inside, so that what was dropped behind it is not part of the evidence.
        let end =
            if range.end > range.start { self.position(range.end - 1) + self.width(range.end - 1) } else { start };
        start..end.max(start)
    }

    /// A word that mixes Latin letters with another script's look-alikes, as bytes of the original.
    pub fn mixed_word(&self) -> Option<Range<usize>> {
        self.mixed.clone()
    }

    /// How many accents and strikes were taken off ASCII letters that do not carry such marks in any writing.
    pub fn overlays(&self) -> usize {
        self.overlays
    }

    /// The first reference or escape that stands for a hidden or control character, as bytes of the original.
    pub fn hidden_reference(&self) -> Option<Range<usize>> {
        self.escaped.clone()
    }

    fn position(&self, offset: usize) -> usize {
        let index = self.runs.partition_point(|(here, _)| *here as usize <= offset);
        match index.checked_sub(1).and_then(|index| self.runs.get(index)) {
            Some((here, there)) => *there as usize + (offset - *here as usize),
            None => offset,
        }
    }

    /// How many original bytes stand behind the byte at `offset`: one, or up to the next run.
    fn width(&self, offset: usize) -> usize {
        let index = self.runs.partition_point(|(here, _)| *here as usize <= offset);
        match self.runs.get(index) {
            Some((here, there)) if *here as usize == offset + 1 => {
                (*there as usize).saturating_sub(self.position(offset))
            }
            _ => 1,
        }
    }
}

/// What the current word is made of.
#[derive(Default)]
struct Word {
    start: usize,
    latin: bool,
    look_alike: bool,
    /// True for letters of another script that fold to nothing: the word belongs to that script.
    foreign: bool,
}

struct Writer<'a> {
    source: &'a str,
    out: String,
    runs: Vec<(u32, u32)>,
    /// Original minus normalised offset, as the last run has it.
    shift: i64,
    word: Word,
    mixed: Option<Range<usize>>,
    overlays: usize,
    escaped: Option<Range<usize>>,
}

impl<'a> Writer<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            out: String::with_capacity(source.len()),
            runs: Vec::new(),
            shift: 0,
            word: Word::default(),
            mixed: None,
            overlays: 0,
            escaped: None,
        }
    }

    fn run(mut self) -> Normal<'a> {
        let hidden = hidden::scan(self.source);
        let mut dropped = hidden.iter().peekable();
        let mut from = 0;
        while let Some(rest) = self.source.get(from..) {
            let stretch = rest.bytes().take_while(|byte| is_ordinary(*byte)).count();
            self.copy(from, stretch);
            from += stretch;
            let Some(character) = rest.get(stretch..).and_then(|rest| rest.chars().next()) else { break };
            let mut next = from + character.len_utf8();
            while dropped.next_if(|run| run.end <= from).is_some() {}
            if let Some(run) = dropped.peek().filter(|run| run.start <= from) {
                // TAG characters spell ASCII: what they say is judged like everything else.
                if run.kind == Kind::Tag
                    && let Some(byte) = tag_letter(character)
                {
                    self.push(from, char::from(byte));
                } else if run.kind == Kind::Escape && run.inert {
                    next += control_parameters(self.source, next);
                } else if run.kind == Kind::Escape && character.is_ascii_graphic() {
                    self.push(from, character);
                }
                from = next;
                continue;
            }
            if let Some((decoded, length)) = entity::at(self.source, from) {
                if hidden::is_hidden(decoded) {
                    self.escaped.get_or_insert(from..from + length);
                } else {
                    self.fold(from, decoded);
                }
                from += length;
                continue;
            }
            self.fold(from, character);
            from = next;
        }
        self.end_word(from);
        Normal {
            text: Cow::Owned(self.out),
            runs: self.runs,
            mixed: self.mixed,
            overlays: self.overlays,
            escaped: self.escaped,
        }
    }

    /// Takes over a stretch of ASCII as it is. Of its words only the first and the last can touch other letters.
    fn copy(&mut self, from: usize, length: usize) {
        let Some(stretch) = self.source.get(from..from + length).filter(|stretch| !stretch.is_empty()) else { return };
        let (head, tail) = (word_length(stretch.bytes()), word_length(stretch.bytes().rev()));
        if head > 0 {
            self.begin_word(from);
            self.word.latin = true;
        }
        if head < length {
            self.end_word(from + head);
            if tail > 0 {
                self.begin_word(from + length - tail);
                self.word.latin = true;
            }
        }
        self.mark(from);
        self.out.push_str(stretch);
    }

    fn fold(&mut self, from: usize, character: char) {
        if character.is_ascii() {
            self.push(from, character);
            if character.is_ascii_alphabetic() {
                self.begin_word(from);
                self.word.latin = true;
            } else if !character.is_ascii_digit() {
                self.end_word(from);
            }
            return;
        }
        if is_overlay(character) {
            // Vietnamese and other Latin writing carries accents as letters of its own; strikes and enclosures over
            // plain letters belong to no writing.
            self.overlays += usize::from(matches!(character, '\u{334}'..='\u{338}' | '\u{20D0}'..='\u{20FF}'));
            return;
        }
        match fold(character) {
            Some(Fold::Same(byte)) => self.push(from, char::from(byte)),
            Some(Fold::LookAlike(byte)) => {
                self.begin_word(from);
                self.word.look_alike = true;
                self.push(from, char::from(byte));
            }
            Some(Fold::Text(text)) => text.chars().for_each(|part| self.push(from, part)),
            None => {
                if character.is_alphabetic() {
                    self.begin_word(from);
                    self.word.foreign = true;
                } else {
                    self.end_word(from);
                }
                self.push(from, character);
            }
        }
    }

    fn push(&mut self, from: usize, character: char) {
        self.mark(from);
        self.out.push(character);
    }

    /// Notes where the next byte comes from, if the distance between both texts has changed.
    fn mark(&mut self, from: usize) {
        let shift = i64::try_from(from).unwrap_or(i64::MAX) - i64::try_from(self.out.len()).unwrap_or(i64::MAX);
        if shift != self.shift {
            self.shift = shift;
            self.runs
                .push((u32::try_from(self.out.len()).unwrap_or(u32::MAX), u32::try_from(from).unwrap_or(u32::MAX)));
        }
    }

    fn begin_word(&mut self, from: usize) {
        if !(self.word.latin || self.word.look_alike || self.word.foreign) {
            self.word.start = from;
        }
    }

    fn end_word(&mut self, from: usize) {
        let word = std::mem::take(&mut self.word);
        if word.latin && word.look_alike && !word.foreign && self.mixed.is_none() {
            self.mixed = Some(word.start..from);
        }
    }
}

/// True for bytes that stand for themselves: ASCII without control characters and without what begins a reference.
const fn is_ordinary(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r') && byte != b'&' && byte != b'\\'
}

/// The same for a whole text, in blocks: without an early end inside a block the test becomes vector instructions.
fn is_wholly_ordinary(text: &str) -> bool {
    text.as_bytes().chunks(64).all(|block| block.iter().fold(true, |all, byte| all & is_ordinary(*byte)))
}

/// Returns how many letters begin a run of bytes.
fn word_length(bytes: impl Iterator<Item = u8>) -> usize {
    bytes.take_while(u8::is_ascii_alphabetic).count()
}

/// Returns the ASCII character that a character of the TAG block spells.
fn tag_letter(character: char) -> Option<u8> {
    match u32::from(character).checked_sub(0xE0000)? {
        code @ 0x20..=0x7E => u8::try_from(code).ok(),
        _ => None,
    }
}

/// Returns how many bytes of parameters and final byte follow an escape character (ECMA-48 §5.4).
fn control_parameters(source: &str, from: usize) -> usize {
    /// Real sequences have a handful of parameters.
    const LONGEST: usize = 64;
    let rest = source.as_bytes().get(from..).unwrap_or_default();
    let bracket = usize::from(rest.first() == Some(&b'['));
    let parameters = rest.iter().skip(bracket).take(LONGEST).take_while(|byte| matches!(byte, 0x20..=0x3F)).count();
    match rest.get(bracket + parameters) {
        Some(0x40..=0x7E) => bracket + parameters + 1,
        _ => 0,
    }
}
