//! Runs fixtures.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::cases::{self, Case, Expectations, File, GateName};
use super::contract::breaches;
use super::show::{show, show_selection};
use crate::export::Exported;
use crate::{ConfigureError, Decision, Description, Facts, Pack, Packs, Policy, Segment, Verdict};

/// Configures a policy as the host does, from settings as JSON.
///
/// # Errors
///
/// What the policy says of settings or packs.
pub fn configure<P: Policy>(settings: &Value, packs: &Packs) -> Result<P, ConfigureError> {
    let packs = packs
        .iter()
        .map(|pack| crate::bindings::base::exports::portcullis::policy::lifecycle::Pack {
            name: pack.name().to_owned(),
            version: pack.version().to_owned(),
            data: pack.data().to_owned(),
        })
        .collect();
    crate::configure::build(&settings.to_string(), packs)
}

/// Runs every `*.yaml` of a folder, with the packs of `../packs` beside it unless a file states its own.
///
/// # Panics
///
/// With all mismatches at once: of expectations, of the contract, of the format. A folder without a case panics too.
pub fn fixtures<P: Exported>(folder: impl AsRef<Path>) {
    let outcomes = run::<P>(folder.as_ref());
    assert!(!outcomes.is_empty(), "no fixture in {}", folder.as_ref().display());
    let failed: Vec<String> =
        outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).map(Outcome::problem).collect();
    assert!(failed.is_empty(), "{} of {} cases failed\n\n{}", failed.len(), outcomes.len(), failed.join("\n"));
}

/// Writes the verdict of every case of a folder as text, for a snapshot.
///
/// # Panics
///
/// If the folder cannot be read.
pub fn report<P: Exported>(folder: impl AsRef<Path>) -> String {
    let mut text = String::new();
    for outcome in run::<P>(folder.as_ref()) {
        let _infallible = writeln!(text, "## {}: {}", outcome.file, outcome.case);
        text.push_str(&outcome.shown);
        text.push('\n');
    }
    text
}

struct Outcome {
    file: String,
    case: String,
    problems: Vec<String>,
    shown: String,
}

impl Outcome {
    fn problem(&self) -> String {
        let mut text = format!("{}: {}\n", self.file, self.case);
        for problem in &self.problems {
            let _infallible = writeln!(text, "  - {problem}");
        }
        self.shown.lines().for_each(|line| {
            let _infallible = writeln!(text, "    {line}");
        });
        text
    }
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_yaml<Read: for<'de> serde::Deserialize<'de>>(path: &Path) -> Result<Read, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_yaml::from_str(&text).map_err(|error| error.to_string())
}

fn run<P: Exported>(folder: &Path) -> Vec<Outcome> {
    let description = P::describe();
    let beside: Vec<(String, Value)> = yaml_files(&folder.join("../packs"))
        .iter()
        .map(|path| (stem(path), read_yaml(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))))
        .collect();
    let mut outcomes = Vec::new();
    for path in yaml_files(folder) {
        let name = stem(&path);
        match read_yaml::<File>(&path) {
            Ok(file) => outcomes.extend(file.cases.iter().map(|case| {
                let mut outcome =
                    Outcome { file: name.clone(), case: case.name.clone(), problems: Vec::new(), shown: String::new() };
                if let Err(problem) = judge::<P>(&description, &file, case, &beside, &mut outcome) {
                    outcome.problems.push(problem);
                }
                outcome
            })),
            Err(problem) => outcomes.push(Outcome {
                file: name,
                case: "the file".to_owned(),
                problems: vec![problem],
                shown: String::new(),
            }),
        }
    }
    outcomes
}

/// A pack file has `name`, `version` and `data`; data alone is taken as it is.
fn pack(name: &str, value: &Value) -> Pack {
    match (value.get("data"), value.get("version")) {
        (Some(data), Some(version)) => {
            let name = value.get("name").and_then(Value::as_str).unwrap_or(name);
            let version = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
            Pack::new(name, version, data.to_string())
        }
        _ => Pack::new(name, "0", value.to_string()),
    }
}

fn judge<P: Exported>(
    description: &Description,
    file: &File,
    case: &Case,
    beside: &[(String, Value)],
    outcome: &mut Outcome,
) -> Result<(), String> {
    let packs: Packs = match case.packs.as_ref().or(file.packs.as_ref()) {
        Some(stated) => stated.iter().map(|(name, data)| Pack::new(name, "0", data.to_string())).collect(),
        None => beside.iter().map(|(name, value)| pack(name, value)).collect(),
    };
    let settings = case.settings.as_ref().unwrap_or(&file.settings);
    let policy: P = configure(settings, &packs)
        .map_err(|error| format!("configure refused `{}`: {}", error.place, error.message))?;
    let facts = case.facts.as_ref().unwrap_or(&file.facts).build();
    let missing = || format!("{} does not judge at this gate", description.name);
    let mut single =
        |segments: &[Segment], verdict: Verdict| verdicts(description, case, &[segments], &[verdict], outcome);
    match file.gate {
        GateName::Config => {
            let subject = cases::entry(&case.subject)?;
            single(&subject.segments, P::GATES.config.ok_or_else(missing)?(&policy, &facts, &subject));
        }
        GateName::Call => {
            let subject = cases::call(&case.subject)?;
            let verdict = P::GATES.call.ok_or_else(missing)?(&policy, &facts, &subject);
            single(&subject.segments, verdict);
        }
        GateName::Result => {
            let subject = cases::result(&case.subject)?;
            single(&subject.segments, P::GATES.result.ok_or_else(missing)?(&policy, &facts, &subject));
        }
        GateName::Request => {
            let subject = cases::request(&case.subject)?;
            single(&subject.segments, P::GATES.request.ok_or_else(missing)?(&policy, &facts, &subject));
        }
        GateName::Listing => {
            let subject = cases::batch(&case.subject)?;
            let answers = P::GATES.listing.ok_or_else(missing)?(&policy, &facts, &subject);
            let segments: Vec<&[Segment]> = subject.items.iter().map(|item| item.segments.as_slice()).collect();
            verdicts(description, case, &segments, &answers, outcome);
        }
        GateName::Environment => environment::<P>(&policy, &facts, case, outcome)?,
    }
    Ok(())
}

fn environment<P: Exported>(policy: &P, facts: &Facts, case: &Case, outcome: &mut Outcome) -> Result<(), String> {
    let subject = cases::environment(&case.subject)?;
    let select = P::GATES.environment.ok_or("the policy does not judge at this gate")?;
    let selection = select(policy, facts, &subject);
    let offered: Vec<String> = subject.offered.into_iter().map(|offered| offered.name).collect();
    match &case.expect {
        Expectations::One(expectation) => outcome.problems = expectation.selection_differences(&offered, &selection),
        Expectations::Each(_) => return Err("the environment gate answers once".to_owned()),
    }
    outcome.shown = show_selection(&selection);
    Ok(())
}

fn verdicts(
    description: &Description,
    case: &Case,
    segments: &[&[Segment]],
    verdicts: &[Verdict],
    outcome: &mut Outcome,
) {
    if segments.len() != verdicts.len() {
        outcome.problems.push(format!("{} verdicts for {} items", verdicts.len(), segments.len()));
    }
    let expectations = match &case.expect {
        Expectations::One(expectation) => std::slice::from_ref(expectation.as_ref()),
        Expectations::Each(expectations) => expectations.as_slice(),
    };
    if expectations.len() != verdicts.len() {
        outcome.problems.push(format!("{} expectations for {} verdicts", expectations.len(), verdicts.len()));
    }
    for ((segments, verdict), expectation) in segments.iter().zip(verdicts).zip(expectations) {
        outcome.problems.extend(expectation.differences(segments, verdict));
        outcome.problems.extend(breaches(description, segments, verdict));
        if matches!(verdict.decision, Decision::Allow) && verdict.extensions.is_empty() {
            outcome.problems.push("extensions are empty text; `{}` is none".to_owned());
        }
        outcome.shown.push_str(&show(segments, verdict));
    }
}
