//! The verdicts of before: a text that is reviewed once and shows later what a change of the policy changed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::runner::Outcome;

/// What begins the verdict of a case.
const HEAD: &str = "## ";

/// The verdicts, against those that were kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Snapshot {
    /// None were kept.
    Absent,
    /// They are the same.
    Same,
    /// They were written just now.
    Written,
    /// These are not the same.
    Differs(Vec<Change>),
}

/// A case whose verdict is another now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) title: String,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

impl Snapshot {
    /// Compares, or writes where asked to.
    pub(super) fn compare(path: &Path, outcomes: &[Outcome], update: bool) -> io::Result<Self> {
        let text = write(outcomes);
        let before = match std::fs::read_to_string(path) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if before.as_ref() == Some(&text) {
            return Ok(Self::Same);
        }
        if update {
            std::fs::write(path, text)?;
            return Ok(Self::Written);
        }
        Ok(before.map_or(Self::Absent, |before| Self::Differs(changes(&before, &text))))
    }

    pub(super) fn differs(&self) -> bool {
        matches!(self, Self::Differs(_))
    }

    pub(super) fn changes(&self) -> &[Change] {
        match self {
            Self::Differs(changes) => changes,
            Self::Absent | Self::Same | Self::Written => &[],
        }
    }

    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Same => "same",
            Self::Written => "written",
            Self::Differs(_) => "differs",
        }
    }
}

fn write(outcomes: &[Outcome]) -> String {
    let parts: Vec<_> =
        outcomes.iter().map(|outcome| format!("{HEAD}{}\n{}\n", outcome.title(), outcome.shown)).collect();
    parts.concat()
}

/// Lines by case, in the order of their names.
fn parts(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut title = "";
    for line in text.lines() {
        if let Some(next) = line.strip_prefix(HEAD) {
            title = next;
            parts.entry(title).or_default();
        } else if !line.is_empty() {
            parts.entry(title).or_default().push(line);
        }
    }
    parts
}

fn changes(before: &str, after: &str) -> Vec<Change> {
    let (before, after) = (parts(before), parts(after));
    let mut titles: Vec<_> = before.keys().chain(after.keys()).copied().collect();
    titles.sort_unstable();
    titles.dedup();
    let change =
        |title: &str| Change { title: title.to_owned(), before: lines(&before, title), after: lines(&after, title) };
    titles.into_iter().filter(|title| before.get(title) != after.get(title)).map(change).collect()
}

fn lines(parts: &BTreeMap<&str, Vec<&str>>, title: &str) -> Vec<String> {
    parts.get(title).into_iter().flatten().map(|line| (*line).to_owned()).collect()
}
