//! Counts of one file, and how they are printed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use portcullis_model::json::{Number, Object, Value};
use portcullis_model::object;

use super::case::Case;
use super::goals::Goals;
use super::level::{Level, Outcome};
use crate::arguments::By;
use crate::failure::one_line;
use crate::report::Report;

/// So many reasons of one group are printed on a terminal; scripts get all.
const MOST_REASONS: usize = 6;

/// Cases of one label and group.
#[derive(Debug, Default)]
struct Tally {
    /// How many reached at least each level, by its place: note, flag, ask, block.
    reached: [u64; 4],
    cases: u64,
    changed: u64,
    broken: u64,
    /// Cases besides `cases` that reached no gate, since they are no document that the gate is for.
    unreadable: u64,
    times: Vec<Duration>,
    /// How many cases each reason stands in.
    reasons: BTreeMap<String, u64>,
}

/// Counts of one file, by label and group.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) file: String,
    groups: BTreeMap<(String, String), Tally>,
}

const LEVELS: [Level; 4] = [Level::Note, Level::Flag, Level::Ask, Level::Block];

impl Table {
    pub(super) fn new(path: &Path) -> Self {
        let file = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self { file, groups: BTreeMap::new() }
    }

    /// Returns true where a policy broke.
    pub(super) fn broke(&self) -> bool {
        self.groups.values().any(|tally| tally.broken > 0)
    }

    /// Counts a case, in its group and in the whole of its label.
    pub(super) fn add(&mut self, case: &Case, by: By, outcome: &Outcome) {
        let group = match by {
            By::Group => &case.group,
            By::Kind => &case.kind,
        };
        self.groups.entry((case.label.clone(), group.clone())).or_default().add(outcome);
    }

    /// Returns the sum over the groups of each label.
    fn wholes(&self) -> BTreeMap<&str, Tally> {
        let mut wholes: BTreeMap<&str, Tally> = BTreeMap::new();
        for ((label, _), tally) in &self.groups {
            wholes.entry(label).or_default().join(tally);
        }
        wholes
    }
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        if outcome.is_unreadable() {
            self.unreadable += 1;
            return;
        }
        self.cases += 1;
        for (count, level) in self.reached.iter_mut().zip(LEVELS) {
            *count += u64::from(outcome.level >= level);
        }
        self.changed += u64::from(outcome.changed);
        self.broken += u64::from(outcome.broken);
        self.times.push(outcome.took);
        for reason in outcome.reasons() {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    fn join(&mut self, other: &Self) {
        self.cases += other.cases;
        for (sum, count) in self.reached.iter_mut().zip(other.reached) {
            *sum += count;
        }
        self.changed += other.changed;
        self.broken += other.broken;
        self.unreadable += other.unreadable;
        self.times.extend(&other.times);
        for (reason, count) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
    }

    fn share(&self, count: u64) -> f64 {
        hundredths(count, self.cases)
    }

    fn microseconds(&self, part: usize) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let index = sorted.len().saturating_sub(1) * part / 100;
        sorted.get(index).copied().unwrap_or_default().as_secs_f64() * 1e6
    }

    fn to_object(&self) -> Object {
        let number = |value: f64| Number::from_f64((value * 100.0).round() / 100.0).map_or(Value::Null, Value::Number);
        let mut object = object! { "cases" => self.cases };
        for (level, count) in LEVELS.into_iter().zip(self.reached) {
            object.insert(level.as_str(), object! { "count" => count, "percent" => number(self.share(count)) });
        }
        object.insert("changed", object! { "count" => self.changed, "percent" => number(self.share(self.changed)) });
        object.insert("broken", self.broken);
        object.insert("unreadable", self.unreadable);
        object.insert("p50_us", number(self.microseconds(50)));
        object.insert("p99_us", number(self.microseconds(99)));
        let reasons: Object = self.reasons.iter().fold(Object::new(), |mut all, (reason, count)| {
            all.insert(reason.as_str(), *count);
            all
        });
        object.insert("reasons", reasons);
        object
    }

    fn write_line(&self, label: &str, group: &str, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "  {:<10} {:<34} {:>6}", one_line(label), one_line(group), self.cases)?;
        for count in self.reached.into_iter().chain([self.changed]) {
            write!(out, " {:>7.2}", self.share(count))?;
        }
        write!(out, " {:>9.0} {:>9.0}", self.microseconds(50), self.microseconds(99))?;
        if self.broken > 0 {
            write!(out, "  broken {}", self.broken)?;
        }
        if self.unreadable > 0 {
            write!(out, "  unreadable {}", self.unreadable)?;
        }
        writeln!(out)
    }

    fn write_reasons(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shown: Vec<_> =
            reasons.iter().take(MOST_REASONS).map(|(reason, count)| format!("{} {count}", one_line(reason))).collect();
        if shown.is_empty() { Ok(()) } else { writeln!(out, "             {}", shown.join(", ")) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people; counts of lines are far from 2^52")]
pub(super) fn hundredths(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 }
}

/// What came of all files.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) tables: Vec<Table>,
    pub(super) goals: Goals,
}

impl Report for Evaluation {
    fn to_value(&self) -> Value {
        let tables: Vec<Value> = self
            .tables
            .iter()
            .map(|table| {
                let named = |label: &str, group: Option<&str>, tally: &Tally| {
                    let mut object = object! { "label" => label };
                    if let Some(group) = group {
                        object.insert("group", group);
                    }
                    for (key, value) in tally.to_object().iter() {
                        object.insert(key, value.clone());
                    }
                    Value::from(object)
                };
                let groups: Vec<_> =
                    table.groups.iter().map(|((label, group), tally)| named(label, Some(group), tally)).collect();
                let wholes: Vec<_> = table.wholes().iter().map(|(label, tally)| named(label, None, tally)).collect();
                object! { "file" => table.file.as_str(), "labels" => wholes, "groups" => groups }.into()
            })
            .collect();
        let mut report = object! { "files" => tables };
        if !self.goals.is_empty() {
            report.insert("goals", self.goals.to_value());
        }
        report.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for table in &self.tables {
            writeln!(
                out,
                "{}\n  {:<10} {:<34} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9}",
                one_line(&table.file),
                "label",
                "group",
                "cases",
                "note %",
                "flag %",
                "ask %",
                "block %",
                "edit %",
                "p50 µs",
                "p99 µs"
            )?;
            for ((label, group), tally) in &table.groups {
                tally.write_line(label, group, out)?;
            }
            for (label, whole) in table.wholes() {
                whole.write_line(label, "= all", out)?;
                whole.write_reasons(out)?;
            }
        }
        self.goals.write_text(out)
    }
}
