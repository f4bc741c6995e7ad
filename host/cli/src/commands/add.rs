//! `portcullis add`: a server of one's own choice, screened before it is written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use portcullis_config::{Concealed, Diagnostic, EditError, conceal};
use portcullis_model::json::{Object, Value};
use portcullis_model::{Occasion, ServerEntry, ServerName, object};

use crate::arguments::{Add, Transport};
use crate::config_file::ConfigEdit;
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report};
use crate::screening::{Screened, Screening};
use crate::settings::Settings;
use crate::{Exit, Failure, passages, secrets_file};

/// Adds a server to the config, unless a gate refuses it.
pub(crate) fn run(settings: &Settings, add: &Add) -> Result<Exit, Failure> {
    let mut edit = ConfigEdit::open(settings, &add.config)?;
    ServerName::parse(&add.name).or_exit(Exit::Usage, format!("the name `{}`", one_line(&add.name)))?;
    let mut entry: Value = entry(add)?.into();
    let secrets = conceal(&add.name, &mut entry);
    edit.text.add_server(&add.name, &entry, add.replace).map_err(|error| not_added(&add.name, error))?;
    let server = read(settings, &edit, &add.name, &secrets)?;
    let home = settings.open_home()?;
    let screening = Screening::open(&home, &edit.config(settings, BTreeMap::new())?, add.format)?;
    let screened = screening.screen(server, Occasion::Save)?;
    let is_allowed = screened.refusal.is_none();
    if is_allowed {
        // First, so that no gateway that sees the entry lacks what it names.
        secrets_file::add(home.path(), &secrets)?;
        edit.save()?;
    }
    report::print(
        &Added { name: &add.name, path: edit.path(), secrets: &secrets, screened: &screened, entry: &entry },
        add.format,
    )?;
    Ok(if is_allowed { Exit::Success } else { Exit::Refused })
}

/// Returns the failure of an entry that could not be put into the text.
pub(crate) fn not_added(name: &str, error: EditError) -> Failure {
    let is_present = matches!(error, EditError::Present(_));
    let failure = Failure::caused(Exit::Config, format!("adding `{}`", one_line(name)), error);
    if is_present { failure.hint("`--replace` takes its place") } else { failure }
}

/// Reads what is about to be written, as it would be read when it is used.
pub(crate) fn read(
    settings: &Settings,
    edit: &ConfigEdit,
    name: &str,
    secrets: &[Concealed],
) -> Result<Arc<ServerEntry>, Failure> {
    let new = secrets.iter().map(|secret| (secret.variable.clone(), secret.value.clone())).collect();
    let config = edit.config(settings, new)?;
    if let Some(server) = config.server(name) {
        return Ok(Arc::clone(&server.entry));
    }
    let about = config.diagnostics.iter().filter(|diagnostic| diagnostic.server.as_deref() == Some(name));
    let about: Vec<&Diagnostic> = about.collect();
    let messages: Vec<String> =
        about.iter().map(|diagnostic| format!("{}: {}", diagnostic.key_path, diagnostic.message)).collect();
    let failure = Failure::new(Exit::Config, format!("`{}` could not run: {}", one_line(name), messages.join("; ")));
    Err(match about.iter().find_map(|diagnostic| diagnostic.hint.clone()) {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

/// Returns the entry as it is written on the command line.
fn entry(add: &Add) -> Result<Object, Failure> {
    let mut entry = Object::new();
    if let Some(url) = &add.url {
        entry.insert("url", url.as_str());
        if add.transport == Some(Transport::Sse) {
            entry.insert("transport", "sse");
        }
        let headers = add.header.iter().map(|text| header(text)).collect::<Result<Vec<_>, _>>()?;
        insert_pairs(&mut entry, "headers", headers);
    } else {
        let (command, arguments) = add
            .command
            .split_first()
            .ok_or_else(|| Failure::new(Exit::Usage, "neither a command nor `--url` is given"))?;
        entry.insert("command", command.as_str());
        if !arguments.is_empty() {
            entry.insert("args", arguments.iter().map(|one| Value::from(one.as_str())).collect::<Vec<_>>());
        }
        let variables = add.env.iter().map(|text| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (text.clone(), format!("${{{text}}}")),
        });
        insert_pairs(&mut entry, "env", variables.collect());
        if let Some(folder) = &add.cwd {
            entry.insert("cwd", folder.display().to_string());
        }
    }
    if add.disabled {
        entry.insert("enabled", false);
    }
    Ok(entry)
}

fn insert_pairs(entry: &mut Object, key: &str, pairs: Vec<(String, String)>) {
    if !pairs.is_empty() {
        let mut object = Object::new();
        for (name, value) in pairs {
            object.insert(name, value);
        }
        entry.insert(key, object);
    }
}

fn header(text: &str) -> Result<(String, String), Failure> {
    // A name has neither of the two (RFC 9110 §5.6.2).
    let end = text.find([':', '=']).ok_or_else(|| {
        Failure::new(Exit::Usage, "a header has a name and a value").hint("write `--header 'Authorization: Bearer …'`")
    })?;
    let (name, value) = text.split_at(end);
    Ok((name.trim().to_owned(), value.get(1..).unwrap_or_default().trim().to_owned()))
}

/// What became of the entry.
struct Added<'a> {
    name: &'a str,
    path: PathBuf,
    secrets: &'a [Concealed],
    screened: &'a Screened,
    entry: &'a Value,
}

impl Report for Added<'_> {
    fn to_value(&self) -> Value {
        let secrets = self
            .secrets
            .iter()
            .map(|secret| object! { "place" => secret.place.as_str(), "variable" => secret.variable.as_str() }.into());
        object! {
            "server" => self.name,
            "saved" => self.screened.refusal.is_none(),
            "file" => self.path.display().to_string(),
            "entry" => self.entry.clone(),
            "secrets" => secrets.collect::<Vec<Value>>(),
            "screening" => self.screened.to_value(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_saved = self.screened.refusal.is_none();
        let what = if is_saved { "added to" } else { "not added to" };
        writeln!(out, "{}: {what} {}", one_line(self.name), self.path.display())?;
        passages::write_text(&self.screened.passages, out)?;
        for secret in self.secrets.iter().filter(|_| is_saved) {
            writeln!(out, "    {} is kept in secrets.yaml as {}", one_line(&secret.place), secret.variable)?;
        }
        match self.screened.hint() {
            Some(hint) => writeln!(out, "hint: {hint}"),
            None => writeln!(out, "hint: `portcullis test {}` starts it and shows its tools", one_line(self.name)),
        }
    }
}
