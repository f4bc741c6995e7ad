//! Word patterns: what they look like and how they match.
//!
//! | written | means |
//! | --- | --- |
//! | `word`, `word*` | that word; any word that begins so |
//! | `{set}` | any word of the named set |
//! | `<flag>` | a token of that shape: `identifier`, `path`, `url`, `email`, `quoted`, `number`, `upper`, `other`, `own` |
//! | `(a\|{b}\|<c>)` | any of these |
//! | `word&start&colon` | that word, and the token also has these flags (`start` of a sentence, before a `colon`, a `call`) |
//! | `x?` | x or nothing |
//! | `!x` | not x here; takes no token |
//! | `..N` | up to N tokens, within the sentence |
//! | `...N` | up to N tokens, across sentences |
//!
//! Matching keeps the set of reachable positions as bits of one number, so a pattern costs at most its length times
//! its width from each start: linear in the text.

use std::collections::{BTreeMap, BTreeSet};

use super::anchor::{self, Reach};
use super::lexicon::{Entry, Lexeme};
use super::token::{Flags, Token};

/// Widest pattern in tokens. Positions are bits of a `u128`.
const WIDEST: usize = 120;

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("pattern `{pattern}`: {problem}")]
pub struct PatternError {
    pattern: String,
    problem: &'static str,
}

/// What one element takes.
#[derive(Debug)]
pub(super) struct Accept {
    /// One bit per lexeme.
    lexemes: Vec<u64>,
    any: Flags,
    needed: Flags,
}

impl Accept {
    pub(super) fn takes(&self, token: Token) -> bool {
        token.flags.has_all(self.needed) && (token.flags.has(self.any) || bit(&self.lexemes, token.lexeme))
    }

    /// Lexemes that can begin a match.
    pub(super) fn lexemes(&self) -> impl Iterator<Item = Lexeme> + '_ {
        let count = self.lexemes.len() * 64;
        (0..count).filter_map(|index| Lexeme::try_from(index).ok()).filter(|lexeme| bit(&self.lexemes, *lexeme))
    }

    /// Flags that can begin a match.
    pub(super) fn any(&self) -> Flags {
        self.any
    }

    /// True where a text with these lexemes and flags may have a token for the element.
    fn possible(&self, seen: &Seen) -> bool {
        seen.flags.has(self.any) || self.lexemes.iter().zip(&seen.lexemes).any(|(own, seen)| own & seen != 0)
    }
}

fn bit(bits: &[u64], index: Lexeme) -> bool {
    bits.get(usize::from(index) / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// Everything that occurs in one text.
#[derive(Debug, Default)]
pub(super) struct Seen {
    lexemes: Vec<u64>,
    flags: Flags,
}

impl Seen {
    pub(super) fn collect(&mut self, tokens: &[Token], lexemes: usize) {
        self.lexemes.clear();
        self.lexemes.resize(lexemes.div_ceil(64) + 1, 0);
        self.flags = Flags::default();
        for token in tokens {
            self.flags.0 |= token.flags.0;
            if let Some(word) = self.lexemes.get_mut(usize::from(token.lexeme) / 64) {
                *word |= 1 << (token.lexeme % 64);
            }
        }
    }
}

#[derive(Debug)]
enum Element {
    One(Accept),
    Optional(Accept),
    Not(Accept),
    Gap { most: u32, across: bool },
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    elements: Vec<Element>,
}

impl Pattern {
    /// What the first token of a match is.
    pub(super) fn first(&self) -> Option<&Accept> {
        match self.elements.first() {
            Some(Element::One(accept)) => Some(accept),
            _ => None,
        }
    }

    /// True where every element that must take a token may find one.
    pub(super) fn possible(&self, seen: &Seen) -> bool {
        self.elements.iter().all(|element| match element {
            Element::One(accept) => accept.possible(seen),
            Element::Optional(_) | Element::Not(_) | Element::Gap { .. } => true,
        })
    }

    /// Returns how many tokens the shortest match from the start of `tokens` takes.
    pub(super) fn matches(&self, tokens: &[Token]) -> Option<usize> {
        let window = tokens.get(..tokens.len().min(WIDEST))?;
        let inside: u128 = if window.len() == 128 { u128::MAX } else { (1 << window.len()) - 1 };
        let mut starts: u128 = 0;
        for (index, token) in window.iter().enumerate().skip(1) {
            starts |= u128::from(token.flags.has(Flags::START)) << index;
        }
        let mut reach: u128 = 1;
        let mut across = false;
        for element in &self.elements {
            let open = inside & if across { u128::MAX } else { !starts };
            let step = |accept: &Accept, from: u128| {
                let mut left = from & open;
                let mut taken: u128 = 0;
                while left != 0 {
                    let index = left.trailing_zeros();
                    left &= left - 1;
                    if window.get(index as usize).is_some_and(|token| accept.takes(*token)) {
                        taken |= 1 << index;
                    }
                }
                taken
            };
            match element {
                Element::One(accept) => reach = step(accept, reach) << 1,
                Element::Optional(accept) => reach |= step(accept, reach) << 1,
                Element::Not(accept) => reach &= !step(accept, reach),
                Element::Gap { most, across: wide } => {
                    let passable = inside & if *wide { u128::MAX } else { !starts };
                    let mut frontier = reach;
                    for _ in 0..*most {
                        frontier = (frontier & passable) << 1;
                        reach |= frontier;
                    }
                }
            }
            across = matches!(element, Element::Gap { across: true, .. })
                || across && matches!(element, Element::Not(_) | Element::Optional(_));
            if reach == 0 {
                return None;
            }
        }
        Some(reach.trailing_zeros() as usize)
    }
}

/// A pattern before its words are numbered.
#[derive(Debug)]
pub(super) struct Draft {
    source: String,
    elements: Vec<(Shape, Choice)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    One,
    Optional,
    Not,
    Gap { most: u32, across: bool },
}

impl Shape {
    /// Returns how many tokens it looks at, at most.
    const fn width(self) -> u32 {
        match self {
            Self::One | Self::Optional | Self::Not => 1,
            Self::Gap { most, .. } => most,
        }
    }
}

#[derive(Debug, Default)]
struct Choice {
    entries: BTreeSet<Entry>,
    any: Flags,
    needed: Flags,
}

/// Reads the words of a set or of a pattern atom.
pub(super) fn entry(word: &str) -> Entry {
    let folded = crate::normal::Normal::new(word).text().to_lowercase();
    match folded.strip_suffix('*') {
        Some(stem) => Entry { word: stem.to_owned(), prefix: true },
        None => Entry { word: folded, prefix: false },
    }
}

impl Draft {
    /// Reads a pattern. `sets` holds the entries of each named set.
    pub(super) fn parse(source: &str, sets: &BTreeMap<&str, BTreeSet<Entry>>) -> Result<Self, PatternError> {
        let fault = |problem| PatternError { pattern: source.to_owned(), problem };
        let mut elements = Vec::new();
        let mut width = 0_usize;
        for atom in source.split_whitespace() {
            if let Some(count) = atom.strip_prefix("..") {
                let (across, count) = count.strip_prefix('.').map_or((false, count), |count| (true, count));
                let most: u32 = count.parse().map_err(|_| fault("a gap needs a number"))?;
                width += most as usize;
                elements.push((Shape::Gap { most, across }, Choice::default()));
                continue;
            }
            let (shape, atom) = match (atom.strip_prefix('!'), atom.strip_suffix('?')) {
                (Some(rest), _) => (Shape::Not, rest),
                (None, Some(rest)) => (Shape::Optional, rest),
                (None, None) => (Shape::One, atom),
            };
            width += usize::from(shape != Shape::Not);
            let mut parts = atom.split('&');
            let body = parts.next().unwrap_or_default();
            let mut choice = Choice::default();
            for flag in parts {
                choice.needed.0 |= Flags::named(flag).ok_or_else(|| fault("unknown flag behind `&`"))?.0;
            }
            let body = body.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(body);
            if body.contains(['(', ')']) {
                return Err(fault("brackets hold alternatives of one word each"));
            }
            for part in body.split('|') {
                if let Some(name) = part.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
                    choice.entries.extend(sets.get(name).ok_or_else(|| fault("unknown set"))?.iter().cloned());
                } else if let Some(name) = part.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
                    choice.any.0 |= Flags::named(name).ok_or_else(|| fault("unknown flag"))?.0;
                } else if part.is_empty() {
                    return Err(fault("an empty alternative"));
                } else {
                    choice.entries.insert(entry(part));
                }
            }
            elements.push((shape, choice));
        }
        if width > WIDEST {
            return Err(fault("wider than 120 tokens"));
        }
        if elements.first().is_none_or(|(shape, _)| *shape != Shape::One) {
            return Err(fault("the first element must take a token"));
        }
        Ok(Self { source: source.to_owned(), elements })
    }

    /// The words that the pattern needs numbered.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.elements.iter().flat_map(|(_, choice)| &choice.entries)
    }

    /// The words of which a match must have one, of the element where they are rarest, and how many tokens a match may have
    /// around it; nothing where every element may be a common word or a mere shape.
    pub(super) fn anchor(&self) -> Option<(&BTreeSet<Entry>, Reach)> {
        let elements = self.elements.iter().enumerate();
        let elements = elements.filter(|(_, (shape, choice))| *shape == Shape::One && choice.any == Flags::default());
        let rarest = elements
            .filter_map(|(index, (_, choice))| Some((anchor::rarity(&choice.entries)?, index, &choice.entries)))
            .min_by_key(|(rarity, ..)| *rarity);
        let width = |elements: Option<&[(Shape, Choice)]>| {
            elements.unwrap_or_default().iter().map(|(shape, _)| shape.width()).sum()
        };
        rarest.map(|(_, index, entries)| {
            let reach =
                Reach { before: width(self.elements.get(..index)), after: width(self.elements.get(index + 1..)) };
            (entries, reach)
        })
    }

    /// Compiles the pattern against the numbered words.
    pub(super) fn compile(self, covered: &BTreeMap<Entry, Vec<Lexeme>>) -> Result<Pattern, PatternError> {
        let mut elements = Vec::new();
        for (shape, choice) in self.elements {
            let mut lexemes: Vec<u64> = Vec::new();
            for lexeme in choice.entries.iter().filter_map(|entry| covered.get(entry)).flatten() {
                let word = usize::from(*lexeme) / 64;
                if lexemes.len() <= word {
                    lexemes.resize(word + 1, 0);
                }
                if let Some(bits) = lexemes.get_mut(word) {
                    *bits |= 1 << (lexeme % 64);
                }
            }
            let accept = Accept { lexemes, any: choice.any, needed: choice.needed };
            elements.push(match shape {
                Shape::One => Element::One(accept),
                Shape::Optional => Element::Optional(accept),
                Shape::Not => Element::Not(accept),
                Shape::Gap { most, across } => Element::Gap { most, across },
            });
        }
        if elements.is_empty() {
            return Err(PatternError { pattern: self.source, problem: "an empty pattern" });
        }
        Ok(Pattern { elements })
    }
}
