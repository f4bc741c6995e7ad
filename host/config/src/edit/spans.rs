//! Where the values of a text stand.

use saphyr_parser::{Event, Parser, Span};

/// Deepest nesting; the reader refuses deeper texts first.
const DEEPEST: usize = 64;

/// A value, in bytes of the text.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// Where its content begins.
    pub(super) start: usize,
    /// Where its content ends: without what only separates it from the next.
    pub(super) end: usize,
    pub(super) shape: Shape,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Nothing is written.
    Empty,
    /// A scalar, a list or an alias: it is replaced as a whole or not at all.
    Whole,
    /// A map.
    Map(Map),
}

/// A map and where its members stand.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// True for `{…}`.
    pub(super) flow: bool,
    pub(super) entries: Vec<Entry>,
}

/// A member of a map.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) start: usize,
    /// Behind the colon.
    pub(super) colon: usize,
    pub(super) value: Spot,
}

impl Entry {
    /// Returns where the member ends.
    pub(super) fn end(&self) -> usize {
        if matches!(self.value.shape, Shape::Empty) { self.colon } else { self.value.end.max(self.colon) }
    }
}

/// Finds the values of the first document. Nothing inside where the text is empty; nothing at all where it can't be read.
#[expect(clippy::option_option, reason = "a text without a value can be added to, one that can't be read cannot")]
pub(super) fn parse(text: &str) -> Option<Option<Spot>> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = text.get(bom..)?;
    let mut bytes: Vec<usize> = body.char_indices().map(|(at, _)| at + bom).collect();
    bytes.push(text.len());
    let mut parser = Parser::new_from_str(body);
    let mut events = Events { parser: &mut parser, bytes: &bytes, text };
    loop {
        let (event, range) = events.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Some(None),
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd => return events.value(&event, range, 0).map(Some),
        }
    }
}

struct Events<'a, 'p> {
    parser: &'a mut Parser<'p, saphyr_parser::StrInput<'p>>,
    bytes: &'a [usize],
    text: &'a str,
}

type Range = (usize, usize);

impl<'p> Events<'_, 'p> {
    fn next(&mut self) -> Option<(Event<'p>, Range)> {
        let (event, span): (Event<'p>, Span) = self.parser.next_event()?.ok()?;
        let byte = |index: usize| self.bytes.get(index).copied();
        Some((event, (byte(span.start.index())?, byte(span.end.index())?)))
    }

    fn value(&mut self, event: &Event<'p>, range: Range, depth: usize) -> Option<Spot> {
        let (start, end) = range;
        if depth > DEEPEST {
            return None;
        }
        match event {
            Event::Scalar(..) if start == end => Some(Spot { start, end, shape: Shape::Empty }),
            Event::Scalar(..) | Event::Alias(_) => {
                // A block scalar ends behind its last line break.
                let content = self.text.get(start..end)?.trim_end().len();
                Some(Spot { start, end: start + content, shape: Shape::Whole })
            }
            Event::SequenceStart(..) => self.list(range, depth),
            Event::MappingStart(..) => self.map(range, depth),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => None,
        }
    }

    /// Returns where what was opened by a bracket is closed: at the end event, or behind a comma that stands before it.
    fn closed(&self, (start, end): Range, bracket: char) -> Option<usize> {
        let text = self.text.get(start..)?;
        if text.starts_with(bracket) {
            return Some(start + 1);
        }
        let mut rest = self.text.get(end..)?;
        loop {
            rest = rest.trim_start();
            match rest.strip_prefix('#') {
                Some(comment) => rest = comment.get(comment.find('\n')?..)?,
                None => return rest.starts_with(bracket).then(|| self.text.len() - rest.len() + 1),
            }
        }
    }

    fn list(&mut self, (start, opened): Range, depth: usize) -> Option<Spot> {
        let is_flow = self.text.get(start..opened)?.ends_with('[');
        let mut last = start;
        loop {
            let (event, range) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                let end = if is_flow { self.closed(range, ']')? } else { last };
                return Some(Spot { start, end, shape: Shape::Whole });
            }
            let item = self.value(&event, range, depth + 1)?;
            // An item that is empty ends with its dash, which stands on the line before where it is said to be.
            last = last.max(match item.shape {
                Shape::Empty => self.text.get(..item.start)?.trim_end().len(),
                Shape::Whole | Shape::Map(_) => item.end,
            });
        }
    }

    fn map(&mut self, (start, opened): Range, depth: usize) -> Option<Spot> {
        let flow = self.text.get(start..opened)?.ends_with('{');
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, range) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                let end = if flow { self.closed(range, '}')? } else { entries.last().map_or(start, Entry::end) };
                return Some(Spot { start, end, shape: Shape::Map(Map { flow, entries }) });
            }
            let Event::Scalar(key, ..) = &event else {
                return None;
            };
            let key = key.clone().into_owned();
            let behind = self.text.get(range.1..)?;
            let colon = range.1 + (behind.len() - behind.trim_start_matches([' ', '\t', '\r', '\n']).len());
            self.text.get(colon..)?.starts_with(':').then_some(())?;
            let (event, value) = self.next()?;
            let value = self.value(&event, value, depth + 1)?;
            entries.push(Entry { key, start: range.0, colon: colon + 1, value });
        }
    }
}
