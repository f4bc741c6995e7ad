//! `portcullis policy check`: what a component imports, says of itself and costs, before it is shipped.

mod metadata;

use std::io::{self, Write};
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_runtime::{Budget, Inspection};

use super::{project, test};
use crate::arguments::PolicyCheck;
use crate::failure::{OrExit as _, one_line};
use crate::policy_report::names;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure, policies};

/// A module above this takes noticeably long to compile where it is new: those with an interpreter in them.
const LARGE: usize = 8 * 1024 * 1024;

/// Evaluations that take longer do not run in place, but on the pool of the policy.
const INLINE: Duration = Duration::from_millis(1);

/// Checks a component. Fails where something is wrong, or (if asked for) doubtful.
pub(crate) fn run(settings: &Settings, arguments: &PolicyCheck) -> Result<Exit, Failure> {
    let module = project::module(&arguments.folder, arguments.policy.as_deref())?;
    // First, because nothing of the module runs for it.
    let inspection = Inspection::of(&module.wasm).or_exit(Exit::Failed, "inspecting the module")?;
    let loader = policies::loader(&settings.open_home()?)?;
    let progress = Progress::start("compiling (a first time takes longest)", arguments.format);
    let policy = loader
        .load(&module.wasm, &module.settings, &module.packs, &Budget::DEFAULT)
        .or_exit(Exit::Failed, "loading the policy as a gateway does")?;
    let mut runner = test::Runner::new(&loader, &module)?;
    let outcomes = test::outcomes(&arguments.folder, &mut runner)?;
    drop(progress);
    let mut checked = Checked::default();
    checked.imports(&inspection);
    checked.note("gates", names(policy.gates()));
    checked.size(inspection.size);
    checked.note("start", policy.start.to_string());
    checked.cost(&outcomes);
    let wanted = project::Project::read(&arguments.folder).ok().filter(|_| arguments.policy.is_none());
    for (grade, words) in metadata::mistakes(&policy.description, wanted.as_ref().map(|project| &project.name)) {
        checked.add(grade, "metadata", words);
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.holds()).count();
    if failed > 0 {
        checked.add(
            Grade::Wrong,
            "fixtures",
            format!("{failed} of {} cases fail; `portcullis policy test` shows them", outcomes.len()),
        );
    }
    let unseen = runner.unseen(&outcomes);
    if !unseen.is_empty() {
        checked.add(Grade::Doubtful, "fixtures", format!("no case leads to {}", unseen.join(", ")));
    }
    report::print(&checked, arguments.format)?;
    let worst = checked.worst();
    let holds = worst < Grade::Wrong && (worst < Grade::Doubtful || !arguments.strict);
    Ok(if holds { Exit::Success } else { Exit::Failed })
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Fine,
    Doubtful,
    Wrong,
}

impl Grade {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Doubtful => "warning",
            Self::Wrong => "error",
        }
    }
}

#[derive(Debug, Default)]
struct Checked {
    lines: Vec<(Grade, &'static str, String)>,
}

impl Checked {
    fn add(&mut self, grade: Grade, what: &'static str, words: String) {
        self.lines.push((grade, what, words));
    }

    fn note(&mut self, what: &'static str, words: String) {
        self.add(Grade::Fine, what, words);
    }

    fn worst(&self) -> Grade {
        self.lines.iter().map(|(grade, ..)| *grade).max().unwrap_or(Grade::Fine)
    }

    fn imports(&mut self, inspection: &Inspection) {
        let imports = one_line(&inspection.imports.join(", "));
        if inspection.capabilities.is_empty() {
            return self.note("imports", format!("{imports}: no capability"));
        }
        let capabilities: Vec<_> = inspection.capabilities.iter().map(ToString::to_string).collect();
        self.note("imports", format!("{} imports, as {}", inspection.imports.len(), capabilities.join(", ")));
    }

    fn size(&mut self, bytes: usize) {
        let words = format!("{} KiB", bytes.div_ceil(1_024));
        if bytes > LARGE {
            let slow = format!(
                "{words}: a gateway that sees it for the first time compiles for many seconds; `warm` does it ahead"
            );
            return self.add(Grade::Doubtful, "size", slow);
        }
        self.note("size", words);
    }

    /// What the fixtures cost, against what an evaluation may.
    fn cost(&mut self, outcomes: &[test::Outcome]) {
        let mut times: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.cpu).collect();
        times.sort_unstable();
        let memory = outcomes.iter().map(|outcome| outcome.memory).max().unwrap_or_default();
        let (Some(half), Some(most)) = (times.get(times.len() / 2), times.last()) else {
            return self.add(Grade::Doubtful, "budget", "there is no case to measure by".to_owned());
        };
        let budget = Budget::DEFAULT.cpu;
        let words = format!(
            "p50 {:.1} µs, at most {:.1} µs of {} ms; memory at most {} of {} KiB",
            half.as_secs_f64() * 1e6,
            most.as_secs_f64() * 1e6,
            budget.as_millis(),
            memory / 1_024,
            Budget::DEFAULT.memory / 1_024,
        );
        if *most > budget / 2 {
            return self.add(Grade::Wrong, "budget", format!("{words}: a busy machine would make faults of it"));
        }
        if *half > INLINE {
            return self.add(Grade::Doubtful, "budget", format!("{words}: too slow to run in place"));
        }
        self.note("budget", words);
    }
}

impl Report for Checked {
    fn to_value(&self) -> Value {
        let lines = self.lines.iter().map(|(grade, what, words)| {
            Value::from(object! { "grade" => grade.as_str(), "what" => *what, "words" => words.as_str() })
        });
        object! { "grade" => self.worst().as_str(), "checks" => lines.collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (grade, what, words) in &self.lines {
            writeln!(out, "{:<8} {what:<9} {}", grade.as_str(), one_line(words))?;
        }
        Ok(())
    }
}
