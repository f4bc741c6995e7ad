//! `portcullis export`: points a client at this gateway instead of at the servers.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use portcullis_config::{Client, ClientText, Place, Places};
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use crate::arguments::Export;
use crate::backup::{self, Backup, Change, Restored};
use crate::commands::import::{Undone, here};
use crate::config_file::ConfigEdit;
use crate::failure::{OrExit as _, one_line};
use crate::files::FileText;
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// The name that the client knows the gateway by.
const NAME: &str = "portcullis";

/// Points a client at this gateway.
pub(crate) fn run(settings: &Settings, export: &Export) -> Result<Exit, Failure> {
    let client = export.client;
    let place = place(export)?;
    let backups = format!("export-{}", client.as_str());
    if export.undo {
        return undo(settings, export, &place, &backups);
    }
    let edit = ConfigEdit::open(settings, &export.config)?;
    let doing = || format!("reading {}", place.path.display());
    let before = FileText::read(&place.path).or_exit(Exit::Usage, doing())?;
    let text = String::from_utf8(before.bytes.clone().unwrap_or_default()).or_exit(Exit::Usage, doing())?;
    let mut text = ClientText::parse(client.format(), text).or_exit(Exit::Usage, doing())?;
    let section = client.servers_key();
    let had = text.to_value().get(section).cloned().unwrap_or_else(|| Object::new().into());
    let entry = client.entry(&program()?, &arguments(settings, export)?);
    // What goes through the gateway from now on must not go past it as well.
    let known = edit.text.server_names();
    let (mut removed, mut past) = (Object::new(), Vec::new());
    for found in client.entries(&text.to_value()).into_iter().filter(|found| found.scope.is_none()) {
        if found.name == NAME || found.entry.is_err() {
            continue;
        }
        if known.contains(&found.name) {
            let doing = || format!("changing {}", place.path.display());
            text.put(section, &found.name, None).or_exit(Exit::Usage, doing())?;
            removed.insert(found.name, found.original);
        } else {
            past.push(found.name);
        }
    }
    let mut note = object! { "client" => client.as_str(), "removed" => removed.clone() };
    if let Some(own) = had.get(NAME) {
        note.insert("own", own.clone());
    }
    text.put(section, NAME, Some(&entry)).or_exit(Exit::Usage, format!("changing {}", place.path.display()))?;
    let is_new = before.bytes.as_deref() != Some(text.as_str().as_bytes());
    let written = is_new && !export.dry_run;
    if written {
        let change = Change { before, after: text.as_str().as_bytes().to_vec(), private: false };
        backup::replace(&settings.open_home()?, &backups, &[change], &note.into())?;
    }
    let removed = removed.iter().map(|(name, _)| name.to_owned()).collect();
    let servers = known.len();
    report::print(
        &Exported { client, path: &place.path, entry, removed, past, servers, is_new, written },
        export.format,
    )?;
    Ok(Exit::Success)
}

fn place(export: &Export) -> Result<Place, Failure> {
    if let Some(file) = &export.file {
        return Ok(Places::named(file, Some(export.client)));
    }
    let place = here()?.of(export.client).into_iter().next();
    place.ok_or_else(|| Failure::new(Exit::Internal, "the client has no place for its config"))
}

/// Returns the program as the client has to name it: clients with windows often know another `PATH` than a shell.
fn program() -> Result<String, Failure> {
    let program = std::env::current_exe().or_exit(Exit::State, "finding this program")?;
    Ok(program.display().to_string())
}

fn arguments(settings: &Settings, export: &Export) -> Result<Vec<String>, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path).map(|path| path.display().to_string()).or_exit(Exit::Usage, "naming the files")
    };
    let mut arguments = vec!["run".to_owned()];
    if !settings.is_usual_home() {
        arguments.extend(["--home".to_owned(), absolute(settings.home_path())?]);
    }
    if let Some(config) = &export.config.config {
        arguments.extend(["--config".to_owned(), absolute(config)?]);
    }
    Ok(arguments)
}

/// Brings the client's config back: byte for byte, or where the client wrote to it since, its servers alone.
fn undo(settings: &Settings, export: &Export, place: &Place, backups: &str) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let backup = Backup::latest(&home, backups)?.ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            format!("nothing was exported to {}, or it was undone already", export.client.as_str()),
        )
    })?;
    let mut undone = Undone { folder: backup.folder().to_owned(), files: backup.restore()?, note: None };
    if undone.exit() == Exit::Success {
        report::print(&undone, export.format)?;
        return Ok(Exit::Success);
    }
    let doing = || format!("changing {}", place.path.display());
    let now = FileText::read(&place.path).or_exit(Exit::Usage, doing())?;
    let text = String::from_utf8(now.bytes.clone().unwrap_or_default()).or_exit(Exit::Usage, doing())?;
    let mut text = ClientText::parse(export.client.format(), text).or_exit(Exit::Usage, doing())?;
    let section = export.client.servers_key();
    text.put(section, NAME, backup.note.get("own")).or_exit(Exit::Usage, doing())?;
    let removed = backup.note.get("removed").and_then(Value::as_object);
    for (name, entry) in removed.into_iter().flat_map(Object::iter) {
        let has = text.to_value().get(section).is_some_and(|servers| servers.get(name).is_some());
        if !has {
            text.put(section, name, Some(entry)).or_exit(Exit::Usage, doing())?;
        }
    }
    now.replace(text.as_str().as_bytes()).or_exit(Exit::State, doing())?;
    backup.forget()?;
    undone.files = vec![(place.path.clone(), Restored::Whole)];
    undone.note =
        Some("the client changed its config since: its servers are as they were, and the rest as it is now".to_owned());
    report::print(&undone, export.format)?;
    Ok(Exit::Success)
}

/// What was written, or would be.
struct Exported<'a> {
    client: Client,
    path: &'a Path,
    entry: Value,
    removed: Vec<String>,
    past: Vec<String>,
    servers: usize,
    is_new: bool,
    written: bool,
}

impl Report for Exported<'_> {
    fn to_value(&self) -> Value {
        let strings = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        object! {
            "client" => self.client.as_str(),
            "file" => self.path.display().to_string(),
            "entry" => self.entry.clone(),
            "removed" => strings(&self.removed),
            "past_the_gates" => strings(&self.past),
            "servers" => self.servers as u64,
            "changed" => self.is_new,
            "written" => self.written,
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let path: PathBuf = self.path.to_owned();
        let what = match (self.is_new, self.written) {
            (false, _) => "points at this gateway already",
            (true, true) => "now points at this gateway",
            (true, false) => "would point at this gateway",
        };
        writeln!(out, "{} {what}: {}", self.client.as_str(), path.display())?;
        writeln!(out, "  {NAME}: {}", one_line(&self.entry.to_json()))?;
        if !self.removed.is_empty() {
            let names = one_line(&self.removed.join(", "));
            writeln!(out, "  reached through the gateway from now on, and removed there: {names}")?;
        }
        if !self.past.is_empty() {
            writeln!(out, "  still past the gates: {}", one_line(&self.past.join(", ")))?;
            writeln!(out, "hint: `portcullis import --from {}` takes them over", self.client.as_str())?;
        }
        if self.servers == 0 {
            writeln!(out, "hint: the gateway has no server yet: `portcullis add` or `portcullis import`")?;
        }
        if self.written {
            let name = self.client.as_str();
            writeln!(
                out,
                "{} behind the gates; restart the client. `portcullis export --client {name} --undo` brings its config back",
                count(self.servers, "server")
            )?;
        }
        Ok(())
    }
}
