//! `portcullis policy test`: a component against its fixtures, the verdicts of before, and the rules that it declares.

mod expectation;
mod facts;
mod fields;
mod fixtures;
mod runner;
mod show;
mod snapshot;
mod subject;

use std::io::{self, Write};

use portcullis_model::json::Value;
use portcullis_model::object;

use super::project;
use crate::arguments::PolicyTest;
use crate::failure::{OrExit as _, one_line};
use crate::progress::Progress;
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, policies};
pub(super) use runner::{Outcome, Runner};
use snapshot::Snapshot;

/// Judges every case and compares. Fails where a case, a verdict of before, or (if asked for) the coverage does not hold.
pub(crate) fn run(settings: &Settings, arguments: &PolicyTest) -> Result<Exit, Failure> {
    let module = project::module(&arguments.folder, arguments.policy.as_deref())?;
    let cases = fixtures::read(&arguments.folder)?;
    let loader = policies::loader(&settings.open_home()?)?;
    let progress = Progress::start("compiling and judging (a first time compiles)", arguments.format);
    let mut runner = Runner::new(&loader, &module)?;
    let outcomes: Vec<Outcome> = cases.iter().map(|case| runner.judge(case)).collect();
    drop(progress);
    let snapshot = Snapshot::compare(&arguments.folder.join("verdicts.txt"), &outcomes, arguments.update)
        .or_exit(Exit::Usage, "reading or writing the verdicts of before")?;
    let tested = Tested { unseen: runner.unseen(&outcomes), declared: runner.declared(), outcomes, snapshot };
    report::print(&tested, arguments.format)?;
    let holds = tested.failed().next().is_none()
        && !tested.snapshot.differs()
        && (tested.unseen.is_empty() || !arguments.all_rules);
    Ok(if holds { Exit::Success } else { Exit::Failed })
}

/// Judges every case of a folder, where it has any: what `policy check` measures by.
pub(super) fn outcomes(folder: &std::path::Path, runner: &mut Runner<'_>) -> Result<Vec<Outcome>, Failure> {
    if project::yaml_files(&folder.join("fixtures")).is_empty() {
        return Ok(Vec::new());
    }
    Ok(fixtures::read(folder)?.iter().map(|case| runner.judge(case)).collect())
}

struct Tested {
    outcomes: Vec<Outcome>,
    /// Rules that no case led to.
    unseen: Vec<String>,
    declared: usize,
    snapshot: Snapshot,
}

impl Tested {
    fn failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| !outcome.problems.is_empty())
    }
}

impl Report for Tested {
    fn to_value(&self) -> Value {
        let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        let failed = self.failed().map(|outcome| {
            Value::from(object! {
                "case" => outcome.title(),
                "problems" => texts(&outcome.problems),
                "verdict" => outcome.shown.as_str(),
            })
        });
        object! {
            "cases" => self.outcomes.len() as u64,
            "failed" => failed.collect::<Vec<_>>(),
            "rules" => self.declared as u64,
            "unseen_rules" => texts(&self.unseen),
            "verdicts" => self.snapshot.as_str(),
            "changed" => self.snapshot.changes().iter().map(|change| Value::from(change.title.as_str())).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for outcome in self.failed() {
            writeln!(out, "FAILED   {}", one_line(&outcome.title()))?;
            for problem in &outcome.problems {
                writeln!(out, "  {}", one_line(problem))?;
            }
            outcome.shown.lines().try_for_each(|line| writeln!(out, "  | {line}"))?;
        }
        for change in self.snapshot.changes() {
            writeln!(out, "CHANGED  {}", one_line(&change.title))?;
            change.before.iter().try_for_each(|line| writeln!(out, "  - {}", one_line(line)))?;
            change.after.iter().try_for_each(|line| writeln!(out, "  + {}", one_line(line)))?;
        }
        let failed = self.failed().count();
        writeln!(out, "cases    {} judged, {failed} failed", self.outcomes.len())?;
        let seen = self.declared - self.unseen.len();
        let unseen =
            if self.unseen.is_empty() { String::new() } else { format!("; never seen: {}", self.unseen.join(", ")) };
        writeln!(out, "rules    {seen} of {} seen{unseen}", self.declared)?;
        match &self.snapshot {
            Snapshot::Absent => writeln!(out, "verdicts not kept yet; --update writes them to verdicts.txt"),
            Snapshot::Same => writeln!(out, "verdicts as before"),
            Snapshot::Written => writeln!(out, "verdicts written to verdicts.txt"),
            Snapshot::Differs(changes) => {
                let number = count(changes.len(), "verdict");
                writeln!(out, "verdicts {number} changed; --update takes them over")
            }
        }
    }
}

#[cfg(test)]
mod tests;
