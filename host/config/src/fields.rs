//! Reading the members of one map: each key once, each bad value one diagnostic.

use std::time::Duration;

use crate::diagnostic::DiagnosticKind;
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::tree::{Kind, Member, Node, Place, Plain};

/// Longest duration of a setting: a year. Timers overflow far beyond it, and no honest setting comes near.
const LONGEST_SECONDS: f64 = 365.0 * 86_400.0;

/// The members of one map while they are read.
pub(crate) struct Fields<'n, 's> {
    members: &'n [Member],
    pub(crate) place: Place,
    pub(crate) path: KeyPath,
    known: Vec<&'static str>,
    pub(crate) sink: &'s mut Sink,
}

impl<'n, 's> Fields<'n, 's> {
    /// Starts on a map. Null counts as an empty map; anything else is a mistake and reads as an empty map.
    pub(crate) fn new(node: &'n Node, path: KeyPath, sink: &'s mut Sink) -> Self {
        let members = node.members().unwrap_or_default();
        if node.members().is_none() && !node.is_null() {
            sink.push(&path, node.place, wrong_type("a map", node));
        }
        Self { members, place: node.place, path, known: Vec::new(), sink }
    }

    /// Returns the value of a key as it stands. Null counts as absent: an empty block means its defaults.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.raw(key).filter(|node| !node.is_null())
    }

    /// Returns the value of a key, null included.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        self.members.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns where a key stands.
    pub(crate) fn key_place(&self, key: &str) -> Place {
        self.members.iter().find(|member| member.key == key).map_or(self.place, |member| member.place)
    }

    /// Takes a mistake about a key.
    pub(crate) fn report(&mut self, key: &str, place: Place, mistake: Mistake) {
        self.sink.push(&self.path.key(key), place, mistake);
    }

    /// Reads a text; numbers and booleans count as the text they are written in.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<String> {
        let node = self.get(key)?;
        let text = node.scalar_text().map(str::to_owned);
        if text.is_none() {
            self.report(key, node.place, wrong_type("a text", node));
        }
        text
    }

    /// Reads a boolean: `true`, `yes`, `on`, `1` and their opposites in any case.
    pub(crate) fn boolish(&mut self, key: &'static str) -> Option<bool> {
        let node = self.get(key)?;
        let value = boolish(node);
        if value.is_none() {
            self.report(key, node.place, wrong_type("true or false", node).hint("write `true` or `false`"));
        }
        value
    }

    /// Reads a number, from a number or from a text that is one.
    pub(crate) fn number(&mut self, key: &'static str) -> Option<f64> {
        let node = self.get(key)?;
        let value = match &node.kind {
            Kind::Plain(Plain::Number(value), _) => Some(*value),
            Kind::Text { text, .. } => finite(text),
            Kind::Plain(Plain::Bool(_) | Plain::NotFinite, _) | Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        };
        if value.is_none() {
            self.report(key, node.place, wrong_type("a number", node));
        }
        value
    }

    /// Reads a whole number from `least` on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole, not negative and below 2^53"
    )]
    pub(crate) fn count(&mut self, key: &'static str, least: u64) -> Option<u64> {
        const MOST: f64 = 9_007_199_254_740_992.0;
        let value = self.number(key)?;
        if value.fract() == 0.0 && (0.0..=MOST).contains(&value) && value as u64 >= least {
            return Some(value as u64);
        }
        let place = self.place_of(key);
        let message = format!("expected a whole number of {least} or more, found `{value}`");
        self.report(key, place, Mistake::error(DiagnosticKind::BadValue, message));
        None
    }

    /// Reads a number of seconds above zero.
    pub(crate) fn seconds(&mut self, key: &'static str) -> Option<Duration> {
        let seconds = self.seconds_or_off(key)?;
        if seconds.is_none() {
            let place = self.place_of(key);
            self.report(
                key,
                place,
                Mistake::error(DiagnosticKind::BadValue, "expected more than 0 seconds, found `0`"),
            );
        }
        seconds
    }

    /// Reads a number of seconds where 0 means off.
    #[expect(clippy::option_option, reason = "absent or bad, off, and a duration are three different answers")]
    pub(crate) fn seconds_or_off(&mut self, key: &'static str) -> Option<Option<Duration>> {
        let value = self.number(key)?;
        if (0.0..=LONGEST_SECONDS).contains(&value) {
            return Some(Duration::try_from_secs_f64(value).ok().filter(|duration| !duration.is_zero()));
        }
        let place = self.place_of(key);
        let message = format!("expected seconds from 0 to {LONGEST_SECONDS}, found `{value}`");
        self.report(key, place, Mistake::error(DiagnosticKind::BadValue, message));
        None
    }

    /// Reads one of several words, in any case and with spaces around it. An unknown word is an error with a suggestion.
    pub(crate) fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let node = self.get(key)?;
        let word = node.scalar_text().map(|text| text.trim().to_ascii_lowercase());
        let found = word.as_deref().and_then(|word| choices.iter().find(|(name, _)| *name == word));
        if found.is_none() {
            let mistake = not_a_choice(node, choices.iter().map(|(name, _)| *name));
            self.report(key, node.place, mistake);
        }
        found.map(|(_, value)| *value)
    }

    /// Reads a list of texts; a single text counts as a list of one.
    pub(crate) fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        let node = self.get(key)?;
        let Kind::List(items) = &node.kind else {
            if let Some(text) = node.scalar_text() {
                return Some(vec![text.to_owned()]);
            }
            self.report(key, node.place, wrong_type("a list of texts", node));
            return None;
        };
        let path = self.path.key(key);
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item.scalar_text() {
                Some(text) => texts.push(text.to_owned()),
                None => self.sink.push(&path.index(index), item.place, wrong_type("a text", item)),
            }
        }
        Some(texts)
    }

    /// Returns where the value of a key stands.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.members.iter().find(|member| member.key == key).map_or(self.place, |member| member.value.place)
    }

    /// Returns the members that were not asked for.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &'n Member> {
        self.members.iter().filter(|member| !self.known.contains(&member.key.as_str()))
    }

    /// Warns of each member that nobody asked for.
    pub(crate) fn finish(self) {
        let unknown: Vec<&Member> = self.rest().collect();
        for member in unknown {
            let near = nearest(&member.key, self.known.iter().copied());
            let mistake = Mistake::warning(DiagnosticKind::UnknownKey, "this key is not known and has no effect")
                .maybe_hint(near.map(|near| format!("did you mean `{near}`?")));
            self.sink.push(&self.path.key(&member.key), member.place, mistake);
        }
    }
}

/// Returns what a value means as a boolean.
pub(crate) fn boolish(node: &Node) -> Option<bool> {
    match &node.kind {
        Kind::Plain(Plain::Bool(value), _) => Some(*value),
        Kind::Plain(Plain::Number(_), text) | Kind::Text { text, .. } => {
            match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(true),
                "false" | "0" | "no" | "off" => Some(false),
                _ => None,
            }
        }
        Kind::Plain(..) | Kind::Null | Kind::List(_) | Kind::Map(_) => None,
    }
}

fn finite(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.'));
    plain.then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite())
}

/// Returns the mistake of a value of the wrong type.
pub(crate) fn wrong_type(expected: &str, node: &Node) -> Mistake {
    Mistake::error(DiagnosticKind::WrongType, format!("expected {expected}, found {}", node.shown()))
}

/// Returns the mistake of a word that is none of the choices.
pub(crate) fn not_a_choice<'a>(node: &Node, choices: impl Iterator<Item = &'a str> + Clone) -> Mistake {
    let list: Vec<String> = choices.clone().map(|choice| format!("`{choice}`")).collect();
    let near = node.scalar_text().and_then(|text| nearest(text, choices)).map(|near| format!("did you mean `{near}`?"));
    Mistake::error(DiagnosticKind::BadValue, format!("expected one of {}, found {}", list.join(", "), node.shown()))
        .maybe_hint(near)
}

/// Returns the candidate that a word was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Texts longer than any key of ours are no misspelling of one, and the measure is quadratic.
    const LONGEST: usize = 64;
    const SIMILAR: f64 = 0.8;
    if word.len() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.chars().filter(|one| one.is_alphanumeric()).collect::<String>().to_lowercase();
    let word = plain(word);
    candidates
        .map(|candidate| (strsim::jaro_winkler(&word, &plain(candidate)), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}
