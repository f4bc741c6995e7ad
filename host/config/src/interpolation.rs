//! Putting variables into values.
//!
//! `${NAME}` and `${env:NAME}` stand for a variable of the environment, `${NAME:-text}` for the text where it is not
//! set. `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${pathSeparator}` and `${/}` stand for places.
//! Values only, never keys; what was put in is not read again.

use portcullis_model::json::Value;

use crate::diagnostic::DiagnosticKind;
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::surroundings::Surroundings;
use crate::tree::{Kind, Node};

/// Most bytes that variables may add to one config: without a bound, a file of references to one long variable would grow
/// a thousandfold.
const MOST_ADDED: usize = 4 * 1024 * 1024;

/// Puts variables into all values of a server or section.
#[derive(Debug)]
pub(crate) struct Interpolation<'a> {
    surroundings: &'a Surroundings,
    added: usize,
}

/// Returns the variables that the texts of a value name and that are not set, without those that have a default.
pub(crate) fn unset(value: &Value, surroundings: &Surroundings) -> Vec<String> {
    let mut names = Vec::new();
    collect_unset(value, &Interpolation::new(surroundings), &mut names);
    names
}

fn collect_unset(value: &Value, interpolation: &Interpolation<'_>, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for piece in text.split("${").skip(1) {
                let Some((placeholder, _)) = piece.split_once('}') else {
                    continue;
                };
                if let Err(Missing::Variable(name)) = interpolation.lookup(placeholder)
                    && !names.contains(&name)
                {
                    names.push(name);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_unset(item, interpolation, names)),
        Value::Object(object) => object.iter().for_each(|(_, member)| collect_unset(member, interpolation, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Why a placeholder has no value.
enum Missing {
    Variable(String),
    Place(&'static str),
    Prompt,
    Budget,
}

impl<'a> Interpolation<'a> {
    pub(crate) fn new(surroundings: &'a Surroundings) -> Self {
        Self { surroundings, added: 0 }
    }

    /// Puts variables into a value and all below it. A placeholder without value is an error that names it.
    pub(crate) fn apply(&mut self, node: &mut Node, path: &KeyPath, sink: &mut Sink) {
        let place = node.place;
        match &mut node.kind {
            Kind::Text { text, interpolated } if text.contains("${") => {
                let (replaced, missing) = self.replace(text);
                for one in missing {
                    sink.push(path, place, mistake(one));
                }
                if replaced != *text {
                    *text = replaced;
                    *interpolated = true;
                }
            }
            Kind::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.apply(item, &path.index(index), sink);
                }
            }
            Kind::Map(members) => {
                for member in members {
                    self.apply(&mut member.value, &path.key(&member.key), sink);
                }
            }
            Kind::Null | Kind::Plain(..) | Kind::Text { .. } => {}
        }
    }

    fn replace(&mut self, text: &str) -> (String, Vec<Missing>) {
        let (mut output, mut missing) = (String::with_capacity(text.len()), Vec::new());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            output.push_str(before);
            let inner = from.get(2..).unwrap_or_default();
            let Some(end) = inner.find('}').filter(|end| *end > 0) else {
                output.push_str("${");
                rest = inner;
                continue;
            };
            let (name, behind) = inner.split_at(end);
            rest = behind.get(1..).unwrap_or_default();
            match self.lookup(name).and_then(|value| self.charge(value)) {
                Ok(value) => output.push_str(&value),
                Err(reason) => {
                    missing.push(reason);
                    output.extend(["${", name, "}"]);
                }
            }
        }
        output.push_str(rest);
        (output, missing)
    }

    fn charge(&mut self, value: String) -> Result<String, Missing> {
        self.added = self.added.saturating_add(value.len());
        if self.added > MOST_ADDED { Err(Missing::Budget) } else { Ok(value) }
    }

    fn lookup(&self, placeholder: &str) -> Result<String, Missing> {
        let place = |path: Option<&std::path::Path>, what| {
            path.map(|path| path.display().to_string()).ok_or(Missing::Place(what))
        };
        let workspace = self.surroundings.workspace();
        match placeholder {
            "userHome" => place(self.surroundings.home(), "the home folder"),
            "workspaceFolder" => place(workspace, "the workspace folder"),
            "workspaceFolderBasename" => {
                place(workspace.and_then(|path| path.file_name()).map(AsRef::as_ref), "the workspace folder")
            }
            "pathSeparator" | "/" => Ok(std::path::MAIN_SEPARATOR.to_string()),
            other if other.starts_with("input:") => Err(Missing::Prompt),
            other => self.variable(other),
        }
    }

    fn variable(&self, placeholder: &str) -> Result<String, Missing> {
        let trimmed = placeholder.trim();
        let trimmed = trimmed.strip_prefix("env:").map_or(trimmed, str::trim);
        let (name, default) = match trimmed.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (trimmed, None),
        };
        let value = self.surroundings.variable(name);
        match (value, default) {
            (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
            (Some(value), _) => Ok(value),
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(Missing::Variable(name.to_owned())),
        }
    }
}

fn mistake(missing: Missing) -> Mistake {
    match missing {
        Missing::Variable(name) => {
            Mistake::error(DiagnosticKind::UnsetVariable, format!("the variable `{name}` is not set"))
                .hint(format!("set `{name}` where the gateway is started, or write `${{{name}:-}}` for an empty text"))
        }
        Missing::Place(what) => Mistake::error(DiagnosticKind::UnsetVariable, format!("{what} is not known here")),
        Missing::Prompt => {
            Mistake::error(DiagnosticKind::UnsetVariable, "values that an editor prompts for can't be asked here")
                .hint("put the value into a variable of the environment and write `${NAME}`")
        }
        Missing::Budget => Mistake::error(
            DiagnosticKind::TooLarge,
            format!("variables add more than {MOST_ADDED} bytes to the config"),
        ),
    }
}

#[cfg(test)]
mod tests;
