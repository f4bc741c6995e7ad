//! What a run of the suite found, check by check.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use portcullis_model::json::{Limits, Value, parse_with};

/// Which check: the same id occurs several times in a scenario, so that its turn counts too.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Check {
    /// The scenario.
    pub scenario: String,
    /// The id of the check.
    pub id: String,
    /// The how-manieth of that id in the scenario, from 0.
    pub turn: usize,
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({})", self.scenario, self.id, self.turn)
    }
}

/// What came of a check.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Status {
    /// It holds.
    Passed,
    /// It does not, with the suite's words.
    Failed(String),
    /// It was not judged: the suite could not try it, or only noted something.
    Open(String),
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    checks: BTreeMap<Check, Status>,
    /// What the suite said meanwhile.
    pub log: String,
}

/// A result file with every message of a scenario is far below this.
const LIMITS: Limits = Limits { bytes: 64 * 1024 * 1024, depth: 64 };

impl Report {
    /// Reads the folder that the suite wrote: one folder a scenario, named after it and the time.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut report = Self::default();
        report.take(folder, "")?;
        Ok(report)
    }

    /// Takes in a folder of results. Names of scenarios may have a slash, and so a folder of their own.
    fn take(&mut self, folder: &Path, before: &str) -> Result<(), String> {
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            let Ok(text) = std::fs::read(entry.path().join("checks.json")) else {
                self.take(&entry.path(), &format!("{name}/"))?;
                continue;
            };
            let checks = parse_with(&text, LIMITS).map_err(|error| format!("{name}: {error}"))?;
            self.add(scenario_of(&name), checks.as_array().unwrap_or_default());
        }
        Ok(())
    }

    fn add(&mut self, scenario: &str, checks: &[Value]) {
        let text = |check: &Value, key: &str| check.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut turns: BTreeMap<String, usize> = BTreeMap::new();
        for check in checks {
            let id = text(check, "id");
            let turn = turns.entry(id.clone()).or_default();
            let status = match text(check, "status").as_str() {
                "SUCCESS" => Status::Passed,
                "FAILURE" | "WARNING" => Status::Failed(text(check, "errorMessage")),
                other => Status::Open(other.to_owned()),
            };
            self.checks.insert(Check { scenario: scenario.to_owned(), id, turn: *turn }, status);
            *turn += 1;
        }
    }

    /// Takes in the checks of another run.
    pub fn extend(&mut self, other: Self) {
        self.checks.extend(other.checks);
    }

    /// Returns how many checks passed.
    pub fn passed(&self) -> usize {
        self.checks.values().filter(|status| **status == Status::Passed).count()
    }

    /// Returns the failed checks with the suite's words.
    pub fn failures(&self) -> Vec<String> {
        let failed = |(check, status): (&Check, &Status)| match status {
            Status::Failed(message) => Some(format!("{check}: {message}")),
            Status::Passed | Status::Open(_) => None,
        };
        self.checks.iter().filter_map(failed).collect()
    }

    /// Returns the checks that passed here and not in `other`, with what came there. `excused` names those that may be
    /// left open there.
    pub fn lost_in(&self, other: &Self, excused: &[&str]) -> Vec<String> {
        let passed = self.checks.iter().filter(|(_, status)| **status == Status::Passed);
        let lost = |check: &Check| match other.checks.get(check) {
            Some(Status::Passed) => None,
            Some(Status::Failed(message)) => Some(format!("{check}: {message}")),
            Some(Status::Open(_)) | None if excused.contains(&check.id.as_str()) => None,
            Some(Status::Open(status)) => Some(format!("{check}: {status}")),
            None => Some(format!("{check}: not reached")),
        };
        passed.filter_map(|(check, _)| lost(check)).collect()
    }
}

/// Takes the side in front and the time behind from the name of a result folder: `server-ping-2026-11-30T18-36-33-997Z`.
fn scenario_of(folder: &str) -> &str {
    const TIME: usize = "-2026-11-30T18-36-33-997Z".len();
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    name.len().checked_sub(TIME).and_then(|end| name.get(..end)).unwrap_or(name)
}
