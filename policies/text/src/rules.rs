//! Rules as data over a small engine.
//!
//! A pack is compiled once. A scan then costs: one pass of an automaton over the bytes (literals), one pass for tags,
//! one for words; patterns are tried only where their first word stands and all their words occur in the text.

mod anchor;
mod lexicon;
mod literal;
mod names;
mod pack;
mod pattern;
#[cfg(test)]
mod tests;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use lexicon::LexiconError;
pub use literal::LiteralsError;
pub use names::Names;
pub use pack::{Level, Pack, Rule, Severity};
pub use pattern::PatternError;

use crate::layer::{self, Encoding};
use crate::normal::Normal;
use anchor::Reach;
use lexicon::{Entry, Lexicon};
use literal::{Literals, Meaning, Tags};
use pattern::{Draft, Pattern, Seen};
use token::{Flags, Token};

/// How much text is read at once. Bounds the memory of the token list; matches across a cut are not found, and no
/// phrase comes near this length.
const CHUNK: usize = 64 * 1024;

/// How deep texts in texts are unwrapped: base64 inside base64 and no further.
const DEPTH: usize = 2;

/// A pack that cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A pattern of the named rule cannot be read.
    #[error("rule `{rule}`")]
    Pattern {
        /// The rule.
        rule: String,
        /// What is wrong.
        #[source]
        source: PatternError,
    },
    /// A rule refers to another that does not exist or comes later.
    #[error("rule `{rule}` refers to `{missing}`, which no earlier rule is called")]
    Reference {
        /// The rule.
        rule: String,
        /// What it refers to.
        missing: String,
    },
    /// The words do not fit.
    #[error("the words of the pack")]
    Lexicon(#[from] LexiconError),
    /// The literals do not fit.
    #[error("the literals of the pack")]
    Literals(#[from] LiteralsError),
}

/// What a caller needs to know of a compiled rule.
#[derive(Clone, Debug)]
pub struct Info {
    /// Lowercase words joined by hyphens.
    pub id: String,
    /// The rule by which a policy reports it.
    pub family: String,
    /// How bad a match is.
    pub severity: Severity,
    /// What a match leads to.
    pub level: Level,
    /// One sentence: what the rule looks for.
    pub summary: String,
    all: Vec<usize>,
    any: Vec<usize>,
    unless: Vec<usize>,
}

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

/// A compiled pack.
#[derive(Debug)]
pub struct Rules {
    infos: Vec<Info>,
    lexicon: Lexicon,
    lexemes: usize,
    patterns: Vec<(usize, Pattern)>,
    /// Patterns that a lexeme may begin.
    by_lexeme: Vec<Vec<u16>>,
    /// Patterns that a flag may begin, with the flags.
    by_flag: Vec<(Flags, u16)>,
    literals: Literals,
    /// True where some pattern has no anchor: then every text is read whole.
    unanchored: bool,
    tags: Tags,
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

/// Data of a policy's pack that holds no usable rules, and where in it.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RulesError {
    /// JSON pointer into the data.
    pub pointer: String,
    /// What is wrong, causes included.
    pub reason: String,
}

impl Rules {
    /// Compiles a pack of a policy that reports by families: `declares` knows them.
    ///
    /// # Errors
    /// A rule that is more than a note belongs to no declared family, or the pack cannot be compiled.
    pub fn of_policy(pack: &Pack, declares: impl Fn(&str) -> bool) -> Result<Self, RulesError> {
        for (index, rule) in pack.rules.iter().enumerate() {
            let family = if rule.family.is_empty() { &rule.id } else { &rule.family };
            if rule.level > Level::Note && !declares(family) {
                let reason = format!("the policy declares no rule `{family}`");
                return Err(RulesError { pointer: format!("/rules/{index}/family"), reason });
            }
        }
        Self::compile(pack).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let reason = [Some(error.to_string()), cause].into_iter().flatten().collect::<Vec<_>>().join(": ");
            RulesError { pointer: "/rules".to_owned(), reason }
        })
    }

    /// Compiles a pack. Rules at level `off` are left out of matching but keep their place.
    pub fn compile(pack: &Pack) -> Result<Self, CompileError> {
        let sets: BTreeMap<&str, BTreeSet<_>> = pack
            .sets
            .iter()
            .map(|(name, words)| (name.as_str(), words.split_whitespace().map(pattern::entry).collect()))
            .collect();
        let mut drafts = Vec::new();
        let mut literals = Vec::new();
        let mut tags = Tags::default();
        let mut infos: Vec<Info> = Vec::new();
        for (index, rule) in pack.rules.iter().enumerate() {
            let find = |ids: &[String]| {
                ids.iter()
                    .map(|id| {
                        infos
                            .iter()
                            .position(|info| info.id == *id)
                            .ok_or_else(|| CompileError::Reference { rule: rule.id.clone(), missing: id.clone() })
                    })
                    .collect::<Result<Vec<_>, _>>()
            };
            let info = Info {
                id: rule.id.clone(),
                family: if rule.family.is_empty() { rule.id.clone() } else { rule.family.clone() },
                severity: rule.severity,
                level: rule.level,
                summary: rule.summary.clone(),
                all: find(&rule.all)?,
                any: find(&rule.any)?,
                unless: find(&rule.unless)?,
            };
            infos.push(info);
            if rule.level == Level::Off {
                continue;
            }
            for phrase in &rule.phrases {
                let draft = Draft::parse(phrase, &sets)
                    .map_err(|source| CompileError::Pattern { rule: rule.id.clone(), source })?;
                drafts.push((index, draft));
            }
            literals.extend(rule.literals.iter().map(|literal| (index, literal.as_str())));
            rule.tags.iter().for_each(|tag| tags.insert(tag, index));
        }
        let unanchored = drafts.iter().any(|(_, draft)| draft.anchor().is_none());
        let mut anchors: BTreeMap<Entry, Reach> = BTreeMap::new();
        if !unanchored {
            for (entries, reach) in drafts.iter().filter_map(|(_, draft)| draft.anchor()) {
                for entry in entries {
                    anchors.entry(entry.clone()).or_default().widen(reach);
                }
            }
        }
        let entries = drafts.iter().flat_map(|(_, draft)| draft.entries()).cloned().collect();
        let (lexicon, covered) = Lexicon::build(&entries)?;
        let lexemes = covered.values().flatten().copied().max().map_or(0, usize::from) + 1;
        let mut rules = Self {
            infos,
            lexicon,
            lexemes,
            patterns: Vec::new(),
            by_lexeme: vec![Vec::new(); lexemes],
            by_flag: Vec::new(),
            literals: Literals::build(&literals, &anchors)?,
            unanchored,
            tags,
        };
        for (rule, draft) in drafts {
            let pattern = draft.compile(&covered).map_err(|source| {
                let rule = rules.infos.get(rule).map(|info| info.id.clone()).unwrap_or_default();
                CompileError::Pattern { rule, source }
            })?;
            rules.index(rule, pattern);
        }
        Ok(rules)
    }

    fn index(&mut self, rule: usize, pattern: Pattern) {
        let Ok(number) = u16::try_from(self.patterns.len()) else { return };
        if let Some(first) = pattern.first() {
            for lexeme in first.lexemes() {
                if let Some(starts) = self.by_lexeme.get_mut(usize::from(lexeme)) {
                    starts.push(number);
                }
            }
            if first.any() != Flags::default() {
                self.by_flag.push((first.any(), number));
            }
        }
        self.patterns.push((rule, pattern));
    }

    /// Returns what is known of the rule with that index.
    pub fn info(&self, rule: usize) -> Option<&Info> {
        self.infos.get(rule)
    }

    /// Every rule, in the order of the pack.
    pub fn infos(&self) -> impl Iterator<Item = &Info> {
        self.infos.iter()
    }

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
