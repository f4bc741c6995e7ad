//! `portcullis import`: servers of other clients, screened, shown, and taken over on a yes.

mod candidate;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_config::{Client, ClientText, Place, Places, System};
use portcullis_model::json::Value;
use portcullis_model::{Occasion, Secret};

use crate::arguments::Import;
use crate::backup::{self, Backup};
use crate::config_file::ConfigEdit;
use crate::failure::OrExit as _;
use crate::files::FileText;
use crate::report;
use crate::screening::Screening;
use crate::settings::Settings;
use crate::{Exit, Failure, secrets_file, terminal};

pub(crate) use candidate::is_ourselves;
use candidate::{Candidate, Kind};
pub(crate) use show::Undone;
use show::{Done, Imported};

/// The name of the backups of imports.
const BACKUP: &str = "import";

/// Reads configs of clients and takes over what the gate allows.
pub(crate) fn run(settings: &Settings, import: &Import) -> Result<Exit, Failure> {
    if import.undo {
        return undo(settings, import);
    }
    let files = read_files(&places(import)?);
    let mut edit = ConfigEdit::open(settings, &import.config)?;
    let mut candidates: Vec<Candidate> = Vec::new();
    for file in &files {
        candidates.extend(file.candidates());
    }
    candidate::name(&mut candidates, &edit.text);
    let home = settings.open_home()?;
    screen(settings, &mut candidates, &edit, &home, import)?;
    let count = candidates.iter().filter(|candidate| candidate.kind == Kind::Allowed).count();
    let asks = count > 0 && !import.dry_run && !import.yes && !import.format.json && terminal::is_there();
    let ends_here = !asks && !import.yes;
    let mut imported =
        Imported { files: &files, candidates: &candidates, path: edit.path(), done: Done::Shown { ends_here } };
    if !import.format.json {
        report::print(&imported, import.format)?;
    }
    let is_yes = import.yes || asks && terminal::confirm(&format!("Write {}?", report::count(count, "server")))?;
    if is_yes && count > 0 {
        write(&mut edit, &candidates, &home)?;
        imported.done = Done::Written;
    } else if asks {
        imported.done = Done::Declined;
    }
    if import.format.json || imported.done != (Done::Shown { ends_here }) {
        report::print(&imported, import.format)?;
    }
    let is_whole = files.iter().all(|file| file.entries.is_ok());
    let is_clear = candidates.iter().all(|candidate| candidate.kind.is_settled());
    Ok(if is_whole && is_clear { Exit::Success } else { Exit::Failed })
}

/// Returns the files that are to be read.
fn places(import: &Import) -> Result<Vec<Place>, Failure> {
    let places = here()?;
    if import.from.is_empty() {
        return Ok(places.all().into_iter().filter(|place| place.path.exists()).collect());
    }
    let mut wanted = Vec::new();
    for from in &import.from {
        if let Some(client) = Client::parse(from) {
            let of_client = places.of(client);
            let there: Vec<Place> = of_client.iter().filter(|place| place.path.exists()).cloned().collect();
            if there.is_empty() {
                let looked: Vec<_> = of_client.iter().map(|place| place.path.display().to_string()).collect();
                return Err(Failure::new(Exit::Usage, format!("there is no config of {from}"))
                    .hint(format!("looked for {}; `--from FILE` names another", looked.join(", "))));
            }
            wanted.extend(there);
        } else if Path::new(from).exists() {
            wanted.push(Places::named(Path::new(from), None));
        } else if let Some((client, file)) = of_client(from) {
            wanted.push(Places::named(file, Some(client)));
        } else {
            let names = Client::ALL.map(Client::as_str).join(", ");
            return Err(Failure::new(Exit::Usage, format!("`{from}` is no client and no file"))
                .hint(format!("clients: {names}")));
        }
    }
    Ok(wanted)
}

/// Takes `CLIENT=FILE` apart, where the file is there.
fn of_client(text: &str) -> Option<(Client, &Path)> {
    let (client, file) = text.split_once('=')?;
    Some((Client::parse(client)?, Path::new(file))).filter(|(_, file)| file.exists())
}

/// Returns the places of this user, on this system, in this folder.
pub(crate) fn here() -> Result<Places, Failure> {
    let home = ["HOME", "USERPROFILE"].iter().find_map(std::env::var_os).filter(|home| !home.is_empty());
    let home = home.ok_or_else(|| {
        Failure::new(Exit::Usage, "it is not known where clients keep their configs")
            .hint("set `HOME`, or use `--from FILE`")
    })?;
    let project = std::env::current_dir().or_exit(Exit::Usage, "finding the current folder")?;
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Ok(Places::new(System::current(), home, project, variable))
}

/// A file of a client, with what was found in it or why nothing was.
pub(crate) struct Read {
    place: Place,
    entries: Result<Vec<portcullis_config::FoundEntry>, String>,
}

fn read_files(places: &[Place]) -> Vec<Read> {
    places
        .iter()
        .map(|place| {
            let entries = FileText::read(&place.path).map_err(|error| chain(&error)).and_then(|file| {
                let text = String::from_utf8(file.bytes.unwrap_or_default());
                let text = text.map_err(|_| "it can't be read: it is not UTF-8".to_owned())?;
                let text = ClientText::parse(place.client.format(), text).map_err(|error| error.to_string())?;
                let config = text.to_value();
                let section = place.client.servers_key();
                let servers = config.get(section);
                if servers.is_some_and(|servers| !servers.is_null() && servers.as_object().is_none()) {
                    return Err(format!("`{section}` is no map of servers"));
                }
                Ok(place.client.entries(&config))
            });
            Read { place: place.clone(), entries }
        })
        .collect()
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", chain(cause)))
}

impl Read {
    fn candidates(&self) -> Vec<Candidate> {
        let entries = self.entries.as_deref().unwrap_or_default();
        entries.iter().map(|entry| Candidate::of(&self.place, entry)).collect()
    }
}

/// Lets the gate judge every candidate that could run. Nothing of it runs.
fn screen(
    settings: &Settings,
    candidates: &mut [Candidate],
    edit: &ConfigEdit,
    home: &portcullis_store::Home,
    import: &Import,
) -> Result<(), Failure> {
    if !candidates.iter().any(|candidate| candidate.kind == Kind::Open) {
        return Ok(());
    }
    let screening = Screening::open(home, &edit.config(settings, BTreeMap::new())?, import.format)?;
    for candidate in candidates.iter_mut().filter(|candidate| candidate.kind == Kind::Open) {
        let surroundings = settings.surroundings()?.with_variables(variables(candidate));
        candidate.needs = surroundings.unset_in(&candidate.entry);
        // What is not known yet is judged when it is: the gate screens again when the server starts.
        let stand_ins = candidate.needs.iter().map(|name| (name.clone(), Secret::new("unset"))).collect();
        if let Some(server) = candidate.read(&surroundings.with_variables(stand_ins)) {
            let screened = screening.screen(Arc::clone(&server.entry), Occasion::Import)?;
            candidate.kind = match screened.outcome() {
                "allowed" => Kind::Allowed,
                "asks" => Kind::Asks,
                _ => Kind::Refused,
            };
            candidate.screened = Some(screened);
        }
    }
    Ok(())
}

fn variables(candidate: &Candidate) -> BTreeMap<String, Secret> {
    candidate.secrets.iter().map(|secret| (secret.variable.clone(), secret.value.clone())).collect()
}

/// Writes what is allowed, config and secrets, and keeps both as they were.
fn write(edit: &mut ConfigEdit, candidates: &[Candidate], home: &portcullis_store::Home) -> Result<(), Failure> {
    let mut secrets = Vec::new();
    for candidate in candidates.iter().filter(|candidate| candidate.kind == Kind::Allowed) {
        let doing = || format!("adding `{}`", candidate.name);
        edit.text.add_server(&candidate.name, &candidate.entry, false).or_exit(Exit::Config, doing())?;
        secrets.extend(candidate.secrets.iter().cloned());
    }
    let mut changes = Vec::new();
    if !secrets.is_empty() {
        changes.push(secrets_file::change(home.path(), &secrets)?);
    }
    changes.push(edit.change());
    backup::replace(home, BACKUP, &changes, &Value::Null)
}

/// Brings the config back as it was before the last import.
fn undo(settings: &Settings, import: &Import) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let backup = Backup::latest(&home, BACKUP)?
        .ok_or_else(|| Failure::new(Exit::Failed, "nothing was imported, or it was undone already"))?;
    let undone = Undone { folder: backup.folder().to_owned(), files: backup.restore()?, note: None };
    report::print(&undone, import.format)?;
    Ok(undone.exit())
}
