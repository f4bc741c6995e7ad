//! Scanning texts by the rules of a pack.

use std::ops::Range;

use super::literal::Meaning;
use super::pattern::Seen;
use super::token::{self, Token};
use super::{Level, Names, Rules, anchor};
use crate::layer::{self, Encoding};
use crate::normal::Normal;

/// How much text is read at once. Bounds the memory of the token list; matches across a cut are not found, and no
/// phrase comes near this length.
const CHUNK: usize = 64 * 1024;

/// How deep texts in texts are unwrapped: base64 inside base64 and no further.
const DEPTH: usize = 2;

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Index of the rule, see [`Rules::info`].
    pub rule: usize,
    /// What the match leads to, exceptions considered.
    pub level: Level,
    /// Bytes of the scanned text.
    pub range: Range<usize>,
    /// How the matching text was encoded; nothing for plain text.
    pub encoding: Option<Encoding>,
}

/// Scans texts one after the other, with working memory that is kept between them.
#[derive(Debug)]
pub struct Scanner<'a> {
    rules: &'a Rules,
    scratch: Scratch,
}

impl Scanner<'_> {
    /// Finds, for each rule that is not a mere signal, the first match in `text`.
    pub fn scan(&mut self, text: &str, names: &Names<'_>) -> Vec<Hit> {
        self.scratch.first.clear();
        self.scratch.first.resize(self.rules.infos.len(), None);
        let mut offset = 0;
        while let Some(rest) = text.get(offset..).filter(|rest| !rest.is_empty()) {
            let chunk = rest.get(..cut(rest)).unwrap_or(rest);
            self.rules.scan_layers(chunk, offset, names, None, 0, &mut self.scratch);
            offset += chunk.len();
        }
        self.rules.conclude(&mut self.scratch.first)
    }
}

/// Working memory of one scan.
#[derive(Debug, Default)]
struct Scratch {
    tokens: Vec<Token>,
    seen: Seen,
    /// By rule: the range of the first match.
    first: Vec<Option<(Range<usize>, Option<Encoding>)>>,
    /// By pattern: whether it can match in this chunk, once asked.
    possible: Vec<Option<bool>>,
}

impl Rules {
    /// Begins to scan.
    pub fn scanner(&self) -> Scanner<'_> {
        Scanner { rules: self, scratch: Scratch::default() }
    }

    /// Scans one text: [`Scanner::scan`] for callers with no second one.
    pub fn scan(&self, text: &str, names: &Names<'_>) -> Vec<Hit> {
        self.scanner().scan(text, names)
    }

    /// Scans one chunk and the texts encoded in it.
    fn scan_layers(
        &self,
        chunk: &str,
        base: usize,
        names: &Names<'_>,
        outer: Option<(&Range<usize>, Encoding)>,
        depth: usize,
        scratch: &mut Scratch,
    ) {
        let normal = Normal::new(chunk);
        let place = |range: Range<usize>| {
            if let Some((whole, encoding)) = outer {
                return (whole.clone(), Some(encoding));
            }
            let range = normal.original(range);
            (base + range.start..base + range.end, None)
        };
        let ciphers = self.scan_plain(normal.text(), names, &place, scratch);
        if depth == DEPTH {
            return;
        }
        // A whole text is turned once: turned twice it would be the text again.
        let turned =
            ciphers.into_iter().filter(|_| depth == 0).filter_map(|encoding| layer::turned(normal.text(), encoding));
        for fragment in layer::fragments(normal.text()).into_iter().chain(turned) {
            let (range, inner) = place(fragment.range.clone());
            let encoding = inner.unwrap_or(fragment.encoding);
            self.scan_layers(&fragment.text, base, names, Some((&range, encoding)), depth + 1, scratch);
        }
    }

    fn scan_plain(
        &self,
        text: &str,
        names: &Names<'_>,
        place: &dyn Fn(Range<usize>) -> (Range<usize>, Option<Encoding>),
        scratch: &mut Scratch,
    ) -> Vec<Encoding> {
        let first = &mut scratch.first;
        let mut found = |rule: usize, range: Range<usize>| {
            if let Some(slot) = first.get_mut(rule).filter(|slot| slot.is_none()) {
                *slot = Some(place(range));
            }
        };
        let mut ciphers = Vec::new();
        let mut anchors = Vec::new();
        self.literals.scan(text, |meaning, range| match meaning {
            Meaning::Rule(rule) => found(rule, range),
            Meaning::Cipher(encoding) if !ciphers.contains(&encoding) => ciphers.push(encoding),
            Meaning::Cipher(_) => {}
            Meaning::Anchor(reach) => anchors.push((range.start, reach)),
        });
        self.tags.scan(text, &mut found);
        if self.unanchored {
            self.scan_words(text, 0..text.len(), names, place, scratch);
        } else {
            for window in anchor::windows(text, &anchors) {
                self.scan_words(text, window, names, place, scratch);
            }
        }
        ciphers
    }

    /// Tries the patterns on a part of the text.
    fn scan_words(
        &self,
        text: &str,
        window: Range<usize>,
        names: &Names<'_>,
        place: &dyn Fn(Range<usize>) -> (Range<usize>, Option<Encoding>),
        scratch: &mut Scratch,
    ) {
        token::tokens(text, window, &self.lexicon, names, &mut scratch.tokens);
        scratch.seen.collect(&scratch.tokens, self.lexemes);
        scratch.possible.clear();
        scratch.possible.resize(self.patterns.len(), None);
        for (index, token) in scratch.tokens.iter().enumerate() {
            let by_word = (token.lexeme != 0).then(|| self.by_lexeme.get(usize::from(token.lexeme))).flatten();
            let by_word = by_word.into_iter().flatten().copied();
            let by_flag = self.by_flag.iter().filter(|(flags, _)| token.flags.has(*flags)).map(|(_, number)| *number);
            for number in by_word.chain(by_flag) {
                let Some((rule, pattern)) = self.patterns.get(usize::from(number)) else { continue };
                if scratch.first.get(*rule).is_some_and(Option::is_some) {
                    continue;
                }
                let Some(possible) = scratch.possible.get_mut(usize::from(number)) else { continue };
                if !*possible.get_or_insert_with(|| pattern.possible(&scratch.seen)) {
                    continue;
                }
                let Some(taken) = scratch.tokens.get(index..).and_then(|rest| pattern.matches(rest)) else { continue };
                let last = scratch.tokens.get(index + taken.saturating_sub(1)).map_or(token.end, |last| last.end);
                if let Some(slot) = scratch.first.get_mut(*rule) {
                    *slot = Some(place(token.start as usize..last as usize));
                }
            }
        }
    }

    /// Joins signals to combined rules, applies exceptions and drops what is a mere signal.
    fn conclude(&self, first: &mut [Option<(Range<usize>, Option<Encoding>)>]) -> Vec<Hit> {
        if first.iter().all(Option::is_none) {
            return Vec::new();
        }
        let mut hits = Vec::new();
        for (index, info) in self.infos.iter().enumerate() {
            let holds = |rule: &usize| first.get(*rule).is_some_and(Option::is_some);
            if !info.all.is_empty() && info.all.iter().all(holds) && (info.any.is_empty() || info.any.iter().any(holds))
            {
                let evidence = info.all.first().and_then(|rule| first.get(*rule)).cloned().flatten();
                if let Some(slot) = first.get_mut(index).filter(|slot| slot.is_none()) {
                    *slot = evidence;
                }
            }
            let holds = |rule: &usize| first.get(*rule).is_some_and(Option::is_some);
            let Some(Some((range, encoding))) = first.get(index) else { continue };
            let level = if info.unless.iter().any(holds) { info.level.min(Level::Flag) } else { info.level };
            if level >= Level::Flag {
                hits.push(Hit { rule: index, level, range: range.clone(), encoding: *encoding });
            }
        }
        hits
    }
}

/// Returns where the chunk at the start of `rest` ends: at a line end or blank near the bound, else at a character.
fn cut(rest: &str) -> usize {
    if rest.len() <= CHUNK {
        return rest.len();
    }
    let end = rest.floor_char_boundary(CHUNK);
    let tail = rest.floor_char_boundary(CHUNK / 2);
    rest.get(tail..end)
        .and_then(|tail| tail.rfind('\n').or_else(|| tail.rfind(' ')))
        .map_or(end, |place| tail + place + 1)
}
