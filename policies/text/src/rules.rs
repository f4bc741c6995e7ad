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
mod scan;
#[cfg(test)]
mod tests;
mod token;

use std::collections::{BTreeMap, BTreeSet};

pub use lexicon::LexiconError;
pub use literal::LiteralsError;
pub use names::Names;
pub use pack::{Level, Pack, Rule, Severity};
pub use pattern::PatternError;
pub use scan::{Hit, Scanner};

use anchor::Reach;
use lexicon::{Entry, Lexicon};
use literal::{Literals, Tags};
use pattern::{Draft, Pattern};
use token::Flags;

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
}
