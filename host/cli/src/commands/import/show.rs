//! What is shown of an import.

use std::io::{self, Write};
use std::path::PathBuf;

use portcullis_model::json::Value;
use portcullis_model::object;

use super::Read;
use super::candidate::{Candidate, Kind};
use crate::backup::Restored;
use crate::failure::one_line;
use crate::report::{Report, count};
use crate::{Exit, passages};

/// How far it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Nothing was written yet, or nothing will be.
    Shown {
        /// False where a yes is there or is asked for.
        ends_here: bool,
    },
    /// The answer was no.
    Declined,
    /// What is allowed was written.
    Written,
}

/// What was found, what was said of it, and what became of it.
pub(crate) struct Imported<'a> {
    pub(crate) files: &'a [Read],
    pub(crate) candidates: &'a [Candidate],
    pub(crate) path: PathBuf,
    pub(crate) done: Done,
}

impl Imported<'_> {
    fn count(&self, kind: Kind) -> usize {
        self.candidates.iter().filter(|candidate| candidate.kind == kind).count()
    }
}

fn strings(texts: &[String]) -> Value {
    texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>().into()
}

fn to_value(candidate: &Candidate) -> Value {
    let secrets = candidate
        .secrets
        .iter()
        .map(|secret| object! { "place" => secret.place.as_str(), "variable" => secret.variable.as_str() }.into());
    let mut object = object! {
        "client" => candidate.place.client.as_str(),
        "file" => candidate.place.path.display().to_string(),
        "found_as" => candidate.found_as.as_str(),
        "name" => candidate.name.as_str(),
        "kind" => candidate.kind.as_str(),
        "secrets" => secrets.collect::<Vec<Value>>(),
        "needs" => strings(&candidate.needs),
        "notes" => strings(&candidate.notes),
    };
    if let Some(scope) = &candidate.scope {
        object.insert("scope", scope.as_str());
    }
    // Secrets are taken out of those alone that could run.
    if matches!(candidate.kind, Kind::Allowed | Kind::Asks | Kind::Refused | Kind::Present) {
        object.insert("entry", candidate.entry.clone());
    }
    if let Some(screened) = &candidate.screened {
        object.insert("screening", screened.to_value());
    }
    object.into()
}

impl Report for Imported<'_> {
    fn to_value(&self) -> Value {
        let files = self.files.iter().map(|file| {
            let mut object = object! {
                "client" => file.place.client.as_str(),
                "file" => file.place.path.display().to_string(),
                "of_project" => file.place.of_project,
            };
            match &file.entries {
                Ok(entries) => object.insert("entries", entries.len() as u64),
                Err(reason) => object.insert("broken", reason.as_str()),
            };
            object.into()
        });
        object! {
            "files" => files.collect::<Vec<Value>>(),
            "servers" => self.candidates.iter().map(to_value).collect::<Vec<_>>(),
            "config" => self.path.display().to_string(),
            "written" => self.done == Done::Written,
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.done {
            Done::Declined => return writeln!(out, "nothing is written"),
            Done::Written => {
                let allowed = self.count(Kind::Allowed);
                writeln!(out, "{} written to {}", count(allowed, "server"), self.path.display())?;
                return writeln!(out, "hint: `portcullis list` starts them; `portcullis import --undo` takes it back");
            }
            Done::Shown { .. } => {}
        }
        for file in self.files {
            let project = if file.place.of_project { ", of this project" } else { "" };
            write!(out, "{} ({}{project})", file.place.path.display(), file.place.client.as_str())?;
            match &file.entries {
                Ok(entries) => writeln!(out, ": {}", count(entries.len(), "server"))?,
                Err(reason) => writeln!(out, ": {}", one_line(reason))?,
            }
            let of_file = |candidate: &&Candidate| candidate.place == file.place;
            for candidate in self.candidates.iter().filter(of_file) {
                write_candidate(candidate, out)?;
            }
        }
        if self.files.is_empty() {
            writeln!(out, "no client keeps a config in the usual places; `--from FILE` names one")?;
        }
        let kinds = [Kind::Allowed, Kind::Asks, Kind::Refused, Kind::Broken, Kind::Present];
        let counts = kinds.map(|kind| format!("{} {}", self.count(kind), kind.as_str()));
        writeln!(
            out,
            "{} would be written to {}: {}",
            self.count(Kind::Allowed),
            self.path.display(),
            counts.join(", ")
        )?;
        if self.done == (Done::Shown { ends_here: true }) && self.count(Kind::Allowed) > 0 {
            writeln!(out, "hint: `portcullis import --yes` writes what is allowed")?;
        }
        Ok(())
    }
}

fn write_candidate(candidate: &Candidate, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  {}: {}", one_line(&candidate.found_as), candidate.kind.as_str())?;
    if candidate.name != candidate.found_as {
        write!(out, ", as {}", one_line(&candidate.name))?;
    }
    if let Some(scope) = &candidate.scope {
        write!(out, ", of {}", one_line(scope))?;
    }
    writeln!(out)?;
    if candidate.kind == Kind::Allowed {
        writeln!(out, "    {}", one_line(&candidate.entry.to_json()))?;
    }
    if let Some(screened) = candidate.screened.as_ref().filter(|screened| screened.refusal.is_some()) {
        passages::write_text(&screened.passages, out)?;
    }
    for secret in &candidate.secrets {
        writeln!(out, "    {} goes to secrets.yaml as {}", one_line(&secret.place), secret.variable)?;
    }
    for name in &candidate.needs {
        writeln!(out, "    needs the variable {}: set it, or add it to secrets.yaml", one_line(name))?;
    }
    candidate.notes.iter().try_for_each(|note| writeln!(out, "    {}", one_line(note)))
}

/// What an undo brought back.
pub(crate) struct Undone {
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<(PathBuf, Restored)>,
    pub(crate) note: Option<String>,
}

impl Undone {
    pub(crate) fn exit(&self) -> Exit {
        let is_left = self.files.iter().any(|(_, restored)| *restored == Restored::Changed);
        if is_left { Exit::Failed } else { Exit::Success }
    }
}

impl Report for Undone {
    fn to_value(&self) -> Value {
        let files = self.files.iter().map(|(path, restored)| {
            object! { "file" => path.display().to_string(), "outcome" => restored.as_str() }.into()
        });
        let mut object = object! { "files" => files.collect::<Vec<Value>>(), "undone" => self.exit() == Exit::Success };
        if let Some(note) = &self.note {
            object.insert("note", note.as_str());
        }
        object.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (path, restored) in &self.files {
            writeln!(out, "{}: {}", path.display(), restored.as_str())?;
        }
        if let Some(note) = &self.note {
            writeln!(out, "{}", one_line(note))?;
        }
        if self.exit() != Exit::Success {
            writeln!(out, "hint: {} has the files as they were", self.folder.display())?;
        }
        Ok(())
    }
}
